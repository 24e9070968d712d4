import type { FeedView } from '../../dashboard/view';

/** The feed that is polled next, and in how many ms; null: none is expected. @param nowMs the publisher's clock */
export function nextPoll(
  feeds: readonly FeedView[],
  nowMs: number,
): { readonly feed: string; readonly inMs: number } | null {
  const due = feeds
    .filter(({ condition }) => condition === 'up-to-date')
    .flatMap(({ feed, lastCompleteScanMs, pollIntervalMs }) =>
      lastCompleteScanMs === null
        ? []
        : [{ feed, inMs: Math.max(0, lastCompleteScanMs + pollIntervalMs - nowMs) }],
    );
  return due.sort((a, b) => a.inMs - b.inMs)[0] ?? null;
}
