import type { Feed } from '../../src/feeds/feed';
import { type PollResult, poll } from '../../src/pipeline/poll';
import { type BackfillRequest, backfillRound } from '../../src/pipeline/rounds/backfill';
import type { FeedName } from '../../src/simulator/endpoints';
import type { Simulator } from '../../src/simulator/simulator';
import type { Source } from '../../src/source/source';
import type { Published } from './published';
import type { TestPublisher } from './test-publisher';

/** Runs a backfill as the owner of the feed does. `between` is called after each of its pages. */
export async function backfill(
  publisher: TestPublisher,
  feed: Feed,
  request: BackfillRequest,
  options: {
    readonly between?: () => Promise<unknown>;
    readonly source?: Source;
    readonly signal?: AbortSignal;
  } = {},
): Promise<PollResult> {
  const deps = { ...publisher.owned().deps, feed };
  const round = backfillRound({ ...deps, source: options.source ?? deps.source }, request);
  const between = async () => {
    await options.between?.();
  };
  return poll(deps, { ...round, between }, options.signal ?? new AbortController().signal);
}

/** Ids that the API shows with a member from one value to another, both included, sorted. */
export function shownBetween<Value extends string | number>(
  api: Simulator,
  feed: FeedName,
  member: 'date' | 'updated',
  from: Value,
  to: Value,
): string[] {
  return [...api.truth(feed).values()]
    .filter((record) => (record[member] as Value) >= from && (record[member] as Value) <= to)
    .map(({ id }) => String(id))
    .sort();
}

/** Ids of the records of one operation, sorted. An id that came twice is there twice. */
export function published(events: readonly Published[], op: string, origin: string): string[] {
  return events
    .filter(({ decoded }) => decoded!.op === op && decoded!.source.origin === origin)
    .map(({ key }) => key)
    .sort();
}

/** Calendar date of so many days before now, in UTC. */
export function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}
