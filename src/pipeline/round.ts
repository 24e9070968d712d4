import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import { idPaths } from '../feeds/row-keys';
import { expectedTime } from '../feeds/time-format';
import type { SourceOffset } from '../state/source-offset';
import type { Origin, Rejected, ScanPage, ScanProgress } from '../types';
import { advance, learnedPaging } from './position';
import type { Decoded } from './records/decode';
import { isYetToBegin, scanFromNow } from './scan/beginning';
import { type ScanDeps, scan } from './scan/scan';
import type { BatchPage } from './transaction/batch';

/**
 * One round over a feed's records: which pages are read, and how they count. The regular poll is a round; a reconcile and a
 * backfill are others, which go through the same steps.
 */
export interface Round {
  /** The pages, in the order of their requests. */
  pages(stop: AbortSignal): AsyncGenerator<ScanPage>;
  /**
   * Whether the next page may be asked for while this one is worked on. Not if other rounds may come in between: pages
   * of one feed are compared in the order of their requests, whichever round asked.
   */
  readonly readsAhead: boolean;
  /** The origin that the changes of a page are published with. */
  origin(page: ScanPage): Origin;
  /** How a page moves the feed's position. */
  position(offset: SourceOffset, page: ScanPage, decoded: Decoded): Partial<SourceOffset>;
  /** Called after each page, when everything that was read is committed: a long round lets others have their turn. */
  between?(): Promise<void>;
  /** For a dry run: called for each page with the changes that would be published. Nothing is published or kept. */
  readonly onRehearsed?: ((page: BatchPage) => void) | undefined;
  /** Called when all pages are committed. @throws HighwaterError if the round has read no usable row */
  end?(): void;
}

/** The owned feed as a round needs it. Its position moves while the round is read. */
export interface RoundDeps extends ScanDeps {
  readonly feed: Feed;
  readonly state: { readonly offset: SourceOffset };
}

/** From the high-water mark, less an overlap, to the end of the records that the server showed when the poll began. */
export function pollRound(deps: RoundDeps, wide: boolean): Round {
  const { feed } = deps;
  const { offset } = deps.state;
  const start = {
    highWaterMark: offset.high_water_mark,
    snapshot: offset.snapshot !== 'complete',
    wide,
    paging: learnedPaging(offset, feed),
  };
  const check = new SnapshotCheck(feed, offset.high_water_mark);
  return {
    pages: (stop) =>
      isYetToBegin(offset)
        ? scanFromNow(feed, offset.begins_at, start, deps, stop)
        : scan(feed, start, deps, stop),
    readsAhead: true,
    origin: ({ progress }) => (progress.duringSnapshot ? 'snapshot' : 'poll'),
    position: (before, { progress, observedAtMs, isVague = false }, decoded) => ({
      ...advance(before, check.progressOf(progress, decoded, before, observedAtMs, isVague), observedAtMs),
      ...(isYetToBegin(before) && { begins_at: progress.highWaterMark }),
    }),
    end: () => check.end(),
  };
}

/** An answer without a list of rows (`{}`) may be that of an API that is not ready. Two of them agree if they are so far apart. */
const VAGUE_AGREES_MS = 300_000;

/** Watches whether a snapshot reads any row that is a record. */
class SnapshotCheck {
  private hasRecords: boolean;
  private isUnreadable = false;
  private rows = 0;
  private first: Rejected | null = null;

  /** @param begin above 0 if the snapshot continues and has read a record before */
  constructor(
    private readonly feed: Feed,
    private readonly begin: number,
  ) {
    this.hasRecords = begin > 0;
  }

  /**
   * The progress that a page may make. None while there were rows but no record, so that another try reads all rows again. A snapshot
   * without rows ends when a later one agrees: an API that is not ready answers with an empty list, too.
   */
  progressOf(
    progress: ScanProgress,
    { records, rejected }: Decoded,
    { empty_since_ms }: SourceOffset,
    observedAtMs: number,
    isVague: boolean,
  ): ScanProgress {
    this.hasRecords ||= records.length > 0;
    this.rows += rejected.length;
    this.first ??= rejected[0] ?? null;
    if (!progress.duringSnapshot || this.hasRecords) return progress;
    if (this.first === null) {
      const agreesAfterMs = isVague ? VAGUE_AGREES_MS : 0;
      const isAgreed = empty_since_ms !== null && observedAtMs - empty_since_ms >= agreesAfterMs;
      return progress.complete && !isAgreed ? { ...progress, isPending: true } : progress;
    }
    this.isUnreadable = progress.complete;
    return { ...progress, highWaterMark: this.begin, complete: false };
  }

  /** @throws HighwaterError SNAPSHOT_UNREADABLE if the snapshot has ended and every row of it is a dead letter */
  end(): void {
    if (!this.isUnreadable) return;
    const { name, updatedField: field, updatedFormat } = this.feed;
    const what = `Feed ${name}: none of the ${this.rows} rows of the snapshot is a record. The first one: ${this.first!.reason}. `;
    const needed = `A record needs ${idPaths(this.feed).join(' and ')} as text or a whole number${field === null ? '' : `, and ${field} as ${expectedTime[updatedFormat]}`}.`;
    throw new HighwaterError('SNAPSHOT_UNREADABLE', what + needed);
  }
}
