import type { Feed } from '../feeds/feed';
import type { SourceOffset } from '../state/source-offset';
import type { Origin, ScanPage } from '../types';
import { advance, learnedPaging } from './position';
import type { Decoded } from './records/decode';
import { isYetToBegin, scanFromNow } from './scan/beginning';
import { type ScanDeps, scan } from './scan/scan';
import { snapshotCheck } from './snapshot-check';
import type { BatchPage } from './transaction/batch';

/**
 * One round over a feed's records: what is read, and what it means. The regular poll is one; a reconcile and a backfill
 * are others, which go through the same steps.
 */
export interface Round {
  /** The pages, in the order of their requests. */
  pages(stop: AbortSignal): AsyncGenerator<ScanPage>;
  /**
   * Whether the next page may be asked for while this one is worked on. Not where other rounds may come in between: pages
   * of one feed are compared in the order of their requests, whoever asked.
   */
  readonly readsAhead: boolean;
  /** What the changes of a page are published as. */
  origin(page: ScanPage): Origin;
  /** What a page makes of the feed's position. */
  position(offset: SourceOffset, page: ScanPage, decoded: Decoded): Partial<SourceOffset>;
  /** After each page, when all that was read is committed: a long round lets others have their turn. */
  between?(): Promise<void>;
  /** For a dry run: nothing is published or kept, and this is called for each page with what would be. */
  readonly onRehearsed?: ((page: BatchPage) => void) | undefined;
  /** When all that was read is committed. @throws HighwaterError if it is not worth anything */
  end?(): void;
}

/** From the high-water mark, less an overlap, to what the server showed when it began. */
export function pollRound(feed: Feed, offset: SourceOffset, wide: boolean, deps: ScanDeps): Round {
  const start = {
    highWaterMark: offset.high_water_mark,
    snapshot: offset.snapshot !== 'complete',
    wide,
    paging: learnedPaging(offset, feed),
  };
  const check = snapshotCheck(feed, offset);
  return {
    pages: (stop) =>
      isYetToBegin(offset)
        ? scanFromNow(feed, offset.begins_at, start, deps, stop)
        : scan(feed, start, deps, stop),
    readsAhead: true,
    origin: ({ progress }) => (progress.duringSnapshot ? 'snapshot' : 'poll'),
    position: (before, { progress, observedAtMs }, decoded) => ({
      ...advance(before, check.progressOf(progress, decoded), observedAtMs),
      ...(isYetToBegin(before) && { begins_at: progress.highWaterMark }),
    }),
    end: check.end,
  };
}
