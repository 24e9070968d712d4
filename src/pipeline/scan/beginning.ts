import type { Feed } from '../../feeds/feed';
import type { SourceOffset } from '../../state/source-offset';
import type { ScanPage } from '../../types';
import { PageReader } from './pages/page-reader';
import { scan } from './scan';
import type { ScanDeps, ScanStart } from './scan-position';

/** Whether the feed begins without a snapshot and has had no answer yet. */
export function isYetToBegin(offset: SourceOffset): boolean {
  return offset.begins_at > 0 && offset.high_water_mark === 0 && offset.snapshot === 'complete';
}

/** Clocks differ by less, even if somebody mistook a time zone. */
const MOST_SKEW_SECONDS = 86_400;

/**
 * The first scan of a feed that begins without a snapshot. Only the own clock knows when the feed began, but the server's clock dates
 * the rows. If the own clock were ahead, new rows would lie before the mark and be missed. So the first answer tells by how much the
 * clocks differ, even if it comes an hour late. It arrives later than its `Date`, so the mark may be a little too early, but never
 * too late.
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
  const reader = new PageReader(feed, deps.source, start.paging, signal);
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
