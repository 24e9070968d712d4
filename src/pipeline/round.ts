import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import { idPaths } from '../feeds/row-keys';
import { expectedTime } from '../feeds/time-format';
import { wholeOf } from '../json/unreadable-row';
import type { Logger } from '../logging/logger';
import { remind } from '../logging/remind';
import type { FeedState } from '../state/feed-state';
import type { SourceOffset } from '../state/source-offset';
import { type Origin, type Rejected, type ScanPage, type ScanProgress, WHOLE_FEED } from '../types';
import type { FirstSights } from './changes/first-sights';
import { advance, learnedPaging, shownRecords } from './position';
import type { Decoded } from './records/decode';
import { isYetToBegin, scanFromNow } from './scan/beginning';
import { scan } from './scan/scan';
import type { ScanDeps } from './scan/scan-position';
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
  /**
   * Called when all pages are committed.
   * @returns whether the round counts
   * @throws HighwaterError if no row of the round is a record
   */
  end?(): boolean;
}

/** The owned feed as a round needs it. Its position moves while the round is read. */
export interface RoundDeps extends ScanDeps {
  readonly feed: Feed;
  readonly firstSights: Pick<FirstSights, 'leastAgeMs'>;
  readonly state: Pick<FeedState, 'offset' | 'sampleSeconds' | 'records'>;
}

/** From the high-water mark, less an overlap, to the end of the records that the server showed when the poll began. */
export function pollRound(deps: RoundDeps, wide: boolean): Round {
  const { feed, firstSights } = deps;
  const { offset } = deps.state;
  const start = {
    highWaterMark: offset.high_water_mark,
    snapshot: offset.snapshot !== 'complete',
    wide,
    paging: learnedPaging(offset, feed),
    shownRecords: shownRecords(offset),
    stepSeconds: stepOf(deps.state.sampleSeconds(STEP_SAMPLE), feed),
    sampleSeconds: deps.state.sampleSeconds,
    isKnown: (id: string) => deps.state.records.find(id) !== -1,
  };
  const check = new ReadableCheck(feed, offset.high_water_mark, start.snapshot, deps.logger);
  return {
    pages: (stop) =>
      isYetToBegin(offset)
        ? scanFromNow(feed, offset.begins_at, start, deps, stop)
        : scan(feed, start, deps, stop),
    readsAhead: true,
    origin: ({ progress }) => (progress.duringSnapshot ? 'snapshot' : 'poll'),
    position: (before, { progress, observedAtMs, isVague = false }, decoded) => ({
      ...advance(before, check.progressOf(progress, decoded, before, observedAtMs, isVague), observedAtMs),
      least_change_age_ms: firstSights.leastAgeMs(feed.pollIntervalMs, before.least_change_age_ms),
      ...(isYetToBegin(before) && { begins_at: progress.highWaterMark }),
      ...(decoded.records.length > 0 && { empty_since_ms: null }),
    }),
    end: () => check.end(),
  };
}

const STEP_SAMPLE = 100;
const LEAST_STEPS = 10;

/** The step of times that are all rounded to minutes, hours or days; 1: they are not, or nothing shows it. */
function stepOf(
  seconds: Iterable<number>,
  { updatedField, windowSeconds = Number.POSITIVE_INFINITY }: Feed,
): number {
  if (updatedField === null) return 1;
  const found = new Set<number>();
  const steps = [86_400, 3_600, 60].filter((step) => step <= windowSeconds);
  for (const second of seconds) {
    while (steps.length > 0 && second % steps[0]! !== 0) steps.shift();
    if (steps.length === 0) return 1;
    found.add(second);
  }
  return found.size < LEAST_STEPS ? 1 : steps[0]!;
}

/**
 * An answer without a list of rows (`{}`), or without the rows that were seen before, may be that of an API that is not ready. Two of
 * them agree if they are so far apart.
 */
const VAGUE_AGREES_MS = 300_000;

/** In a smaller feed, half of the records may well be gone. */
const LEAST_KNOWN = 20;

/** Watches whether any row is a record, and keeps the mark at the records: rows that cannot be read may be records later. */
class ReadableCheck {
  private hasRecords: boolean;
  private isUnreadable = false;
  private rows = 0;
  /** Most rows of one page that became dead letters. */
  private most = 0;
  private first: Rejected | null = null;
  /** The last rows became dead letters: the mark does not pass the records before them. */
  private cap = Number.POSITIVE_INFINITY;
  private showsRows = false;
  private tooFew: string | null = null;
  /** Ids (or hashes) of the rows that a poll of everything has seen: walks show rows again. No more than half of the known records. */
  private readonly shown = new Set<string>();
  /** Records of the feed when the round began. */
  private known: number | null = null;

  /** @param begin where the mark was when the round began; above 0 if there has been a record */
  constructor(
    private readonly feed: Feed,
    private readonly begin: number,
    private readonly isSnapshot: boolean,
    private readonly logger: Logger,
  ) {
    this.hasRecords = isSnapshot && begin > 0;
  }

  /**
   * The progress that a page may make. None while there were rows but no record, so that another try reads all rows again. A snapshot
   * without rows ends when a later one agrees: an API that is not ready answers with an empty list, too.
   */
  progressOf(
    progress: ScanProgress,
    decoded: Decoded,
    before: SourceOffset,
    observedAtMs: number,
    isVague: boolean,
  ): ScanProgress {
    const { records, rejected } = decoded;
    const { empty_since_ms, high_water_mark, record_count } = before;
    this.hasRecords ||= records.length > 0;
    this.rows += rejected.length;
    this.most = Math.max(this.most, rejected.length);
    this.first ??= rejected[0] ?? null;
    if (rejected.length > 0)
      this.cap = records.reduce((last, { updated }) => Math.max(last, Math.floor(updated)), high_water_mark);
    else if (records.length > 0) this.cap = Number.POSITIVE_INFINITY;
    this.showsRows ||= records.length + rejected.length > 0;
    this.known ??= shownRecords(before);
    this.tooFew = this.showsTooFew(progress, decoded, this.known);
    const settled = progress.settled && this.tooFew === null;
    const { shortfall = this.tooFew } = progress;
    const highWaterMark = Math.min(progress.highWaterMark, this.cap);
    const held = { ...progress, settled, highWaterMark, ...(shortfall !== null && { shortfall }) };
    const { duringSnapshot, complete } = progress;
    const showsNothing = !this.showsRows && this.isOfEverything(progress);
    if (this.hasRecords && !(duringSnapshot && complete && showsNothing)) return held;
    if (this.first === null) {
      if (!duringSnapshot) return held;
      const agreesAfterMs = isVague || record_count > 0 ? VAGUE_AGREES_MS : 0;
      const isAgreed = empty_since_ms !== null && observedAtMs - empty_since_ms >= agreesAfterMs;
      return complete && !isAgreed ? { ...held, isPending: true } : held;
    }
    // A poll reads the record that has set the mark, unless it is gone. One row alone may be a fault of that row.
    if (!duringSnapshot && (this.begin === 0 || this.most < 2)) return held;
    this.isUnreadable = complete;
    return { ...held, highWaterMark: this.begin, complete: false };
  }

  /** Whether the round has asked for everything, or been shown it unasked. */
  private isOfEverything({ isFeedEmpty, isUnfiltered, paging }: ScanProgress): boolean {
    const { updatedSince } = this.feed.parameters;
    return (
      updatedSince === null || paging.lag === WHOLE_FEED || isFeedEmpty === true || isUnfiltered === true
    );
  }

  /** Why a poll does not count that has asked for everything: it was shown less than half of the records. Null: it counts, or goes on. */
  private showsTooFew(progress: ScanProgress, { records, rejected }: Decoded, known: number): string | null {
    const { feed, shown, logger } = this;
    if (!this.isOfEverything(progress) || progress.duringSnapshot || known < LEAST_KNOWN) return null;
    for (const { id } of records) if (shown.size < known / 2) shown.add(id);
    for (const { whole, raw } of rejected)
      if (shown.size < known / 2) shown.add((whole ?? wholeOf(raw)).sha256);
    if (!progress.complete || shown.size >= known / 2) return null;
    const proof =
      shown.size > 0
        ? `\`highwater reconcile ${feed.name}\` proves it`
        : 'a reconcile proves it once the API shows a record again';
    const isOfRanges = feed.windowSeconds !== undefined && shown.size === 0;
    const what = isOfRanges
      ? 'shows no row where records are known'
      : `shows ${shown.size} of ${known} records`;
    const message =
      `the API ${what}. The poll does not count as complete, and nothing is deleted. If they are gone, ${proof}. ` +
      'Otherwise look at what the token may see.';
    remind(feed, 'too few', () => logger.warn(`Feed ${feed.name}: ${message}`, { feed: feed.name }));
    return message;
  }

  /**
   * @returns whether the API showed enough records
   * @throws HighwaterError SNAPSHOT_UNREADABLE, POLL_UNREADABLE if the round has ended and every row of it is a dead letter
   */
  end(): boolean {
    const { isSnapshot } = this;
    if (!this.isUnreadable) return this.tooFew === null;
    const { name, updatedField: field, updatedFormat } = this.feed;
    const round = isSnapshot ? 'snapshot' : 'poll';
    const what = `Feed ${name}: none of the ${this.rows} rows of the ${round} is a record. The first one: ${this.first!.reason}. `;
    const needed = `A record needs ${idPaths(this.feed).join(' and ')} as text or a whole number${field === null ? '' : `, and ${field} as ${expectedTime[updatedFormat]}`}.`;
    throw new HighwaterError(isSnapshot ? 'SNAPSHOT_UNREADABLE' : 'POLL_UNREADABLE', what + needed);
  }
}
