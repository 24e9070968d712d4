import type { Feed } from '../../feeds/feed';
import type { SourceOffset } from '../../state/source-offset';
import type { ScanPage } from '../../types';
import { pageReader } from './page-reader';
import { type ScanDeps, type ScanStart, scan } from './scan';

/** The feed is to begin without a snapshot, and no answer has come since. */
export function isYetToBegin(offset: SourceOffset): boolean {
  return offset.begins_at > 0 && offset.high_water_mark === 0 && offset.snapshot === 'complete';
}

/** Clocks differ by less, also where somebody mistook a time zone. */
const MOST_SKEW_SECONDS = 86_400;

/**
 * The first scan of a feed that begins without a snapshot. What was the present when the feed began is known by the own
 * clock alone, and rows are dated by the server's: where the own one is ahead, rows that are written from then on would lie
 * before the mark and be missed. So the first answer, be it an hour late, tells by how much they differ. It comes later than
 * its `Date`, so the mark may be that much too early, never too late.
 *
 * @param beginsAt when the feed began, Unix seconds by the own clock
 */
export async function* scanFromNow(
  feed: Feed,
  beginsAt: number,
  start: ScanStart,
  deps: ScanDeps,
  signal: AbortSignal,
): AsyncGenerator<ScanPage> {
  const reader = pageReader(feed, deps.source, start.paging, signal);
  const page = await reader.readFirst(beginsAt);
  let skew = Math.floor(page.observedAtMs / 1000) - page.serverSecond;
  if (Math.abs(skew) > MOST_SKEW_SECONDS) {
    deps.logger.warn(
      `Feed ${feed.name}: the clock of the API is ${Math.abs(skew)} s ${skew > 0 ? 'behind' : 'ahead'} and is not believed. ` +
        'The feed begins by the own clock, without a snapshot; rows that the API dates otherwise are missed.',
      { feed: feed.name },
    );
    skew = 0;
  }
  const highWaterMark = Math.max(1, beginsAt - skew);
  const { paging } = start;
  yield {
    rows: [],
    observedAtMs: page.observedAtMs,
    progress: {
      highWaterMark,
      shownBelow: highWaterMark,
      duringSnapshot: false,
      complete: false,
      settled: true,
      paging,
    },
    reread: async () => [],
  };
  yield* scan(feed, { ...start, highWaterMark }, deps, signal);
}
