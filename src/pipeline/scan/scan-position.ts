import type { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import type { Logger } from '../../logging/logger';
import { remind } from '../../logging/remind';
import type { Source } from '../../source/source';
import type { Paging, ScanPage } from '../../types';
import { believed } from './order';
import type { HiddenRows } from './pages/announced';
import type { FetchedPage } from './pages/page-facts';
import type { PageReader } from './pages/page-reader';
import { MOST_RESTARTS, MOST_WALKS } from './pages/page-walk';
import { noPage } from './pages/refusals';
import type { WalkEnd } from './pages/window';

/** After so many poll intervals without a complete scan, a feed counts as behind. */
const LATE_INTERVALS = 3;

/** If an API that answers only ranges seems to show nothing, it is asked for the ranges of this many records. */
const ASKED_FOR = 5;
/** The mark waits in front of this many empty ranges. */
const MOST_RANGES = 24;

/** The begin of a scan, and the facts known before it. Times are Unix seconds. */
export interface ScanStart {
  readonly highWaterMark: number;
  /** The first snapshot is not complete yet. */
  readonly snapshot: boolean;
  /** Reads from further back, and only an empty page is the end. */
  readonly wide: boolean;
  /** How far before the mark it begins, if not as the feed says. */
  readonly overlapSeconds?: number;
  /** The API rounds times down to so many seconds. Default: 1. */
  readonly stepSeconds?: number;
  readonly paging: Paging;
  /** Everything is read, though not for a first snapshot. Unknown paging is learned first. */
  readonly whole?: boolean;
  /** Pages begin and end at other rows than usual, so that a row that the usual pages hide is seen. */
  readonly otherBorders?: boolean;
  /** How many records an answer with everything shows, as far as is known. Default: 0. */
  readonly shownRecords?: number;
  /** Whether a record is known. Default: all are. */
  readonly isKnown?: (id: string) => boolean;
  /** `updated` of about this many records, spread over the feed. Unix seconds. */
  readonly sampleSeconds?: (count: number) => Iterable<number>;
  /** All pages are read as well, as far as paging reaches, so that no row is left to the filter. */
  readonly withoutFilter?: boolean;
}

export interface ScanDeps {
  readonly source: Source;
  readonly logger: Logger;
}

/** The position of a scan, which makes the pages that the scan yields. Names as in `ScanProgress`. */
export class ScanPosition {
  /** False once a walk had to be given up: the scan ends, but does not claim to be complete. */
  private settled = true;
  /** A walk was given up because rows came again. */
  private repeats = false;
  leavesOut = false;
  /** Why the feed does not count as read by this scan; null: it does. */
  private shortfall: string | null = null;
  private agedMs = 0;
  private isFeedEmpty = false;
  /** Rows came that are days older than the filter was asked for. */
  isUnfiltered = false;
  private hasShownRows = false;
  /** Why a second could not be read. The scan goes on behind it, fails with this at its end, and does not move the mark past it. */
  blockedBy: HighwaterError | null = null;

  private readonly duringSnapshot: boolean;
  readonly shownRecords: number;
  private readonly sampleSeconds: ScanStart['sampleSeconds'];
  readonly isKnown: ScanStart['isKnown'];
  private mark: number;

  constructor(
    readonly feed: Feed,
    readonly reader: PageReader,
    private readonly logger: Logger,
    start: Pick<ScanStart, 'snapshot' | 'highWaterMark' | 'shownRecords' | 'sampleSeconds' | 'isKnown'>,
    public shownBelow: number,
  ) {
    this.duringSnapshot = start.snapshot;
    this.mark = start.highWaterMark;
    this.shownRecords = start.shownRecords ?? 0;
    this.sampleSeconds = start.sampleSeconds;
    this.isKnown = start.isKnown;
  }

  get highWaterMark(): number {
    return this.mark;
  }

  /** Does not move on from answers that have left out rows of any second. */
  set highWaterMark(second: number) {
    this.mark = hasHoles(this.reader.announced.hidden) ? Math.min(this.mark, second) : second;
  }

  page(page: FetchedPage, complete = false): ScanPage {
    const { highWaterMark, shownBelow, duringSnapshot, settled, repeats, reader } = this;
    const { hidden, cutAt, hiddenThrough } = reader.announced;
    if (hidden !== null) this.warnOfHidden(hidden);
    else if (complete && cutAt !== null) this.warnOfLimit(cutAt);
    this.agedMs = Math.max(this.agedMs, page.agedMs);
    this.hasShownRows ||= page.rows.length > 0;
    this.warnOfAge();
    const { shortfall } = this;
    const progress = {
      highWaterMark,
      shownBelow,
      duringSnapshot,
      complete: complete && this.blockedBy === null && !(duringSnapshot && hasHoles(hidden)),
      settled: settled && hidden === null,
      repeats: repeats || hidden !== null,
      ...(shortfall !== null && { shortfall }),
      leavesOut: this.leavesOut || cutAt !== null,
      hiddenThrough,
      agedMs: this.agedMs,
      paging: reader.learned(),
      ...(this.isFeedEmpty && !this.hasShownRows && { isFeedEmpty: true }),
      ...(this.isUnfiltered && { isUnfiltered: true }),
    };
    const { rows, observedAtMs, isVague, reread } = page;
    return { rows, observedAtMs, progress, reread, ...(isVague && { isVague }) };
  }

  /** The end of the scan, which this page has shown. Its rows were given out before. */
  lastPage(page: FetchedPage): ScanPage {
    this.highWaterMark = Math.min(this.highWaterMark, page.knownSecond);
    return { ...this.page(page, true), rows: [], reread: async () => [] };
  }

  /**
   * The second to read from if the mark lies ahead of the present: as far back as a wide poll. The mark was set while no clock was
   * right. Nobody knows since when, and rows written since then lie behind it.
   */
  rewound(page: FetchedPage): number {
    return Math.max(0, page.knownSecond - this.feed.wideOverlapSeconds);
  }

  /**
   * A filter that shows nothing may be right, so the whole feed is asked for; if the API answers only ranges, the ranges of some records.
   * @returns whether nothing is left of the feed's records
   */
  async showsNothing(): Promise<boolean> {
    const { reader, shownRecords } = this;
    if (shownRecords === 0 || this.isFeedEmpty) return this.isFeedEmpty;
    for (const second of this.seconds()) {
      // Some APIs refuse times ahead of the present.
      if (second > this.mark) continue;
      const { facts } = await believed(reader, second, true);
      this.isFeedEmpty = facts.length === 0;
      if (this.isFeedEmpty) continue;
      this.hasShownRows = true;
      return false;
    }
    if (this.isFeedEmpty) reader.setPaging({ ...reader.paging(), lagTestedAt: 0 }); // the next poll asks again
    return this.isFeedEmpty;
  }

  /**
   * Few rows came, some of which are days older than what was asked for. Either the filter is ignored, or the API always shows some rows,
   * such as open ones. Then it shows other old rows from an earlier second on.
   * @param shown keys of all rows, or of half of the records
   */
  async testUnfiltered(shown: ReadonlySet<string>, from: number): Promise<void> {
    if (!this.isUnfiltered || 2 * shown.size >= this.shownRecords) return;
    for (const second of this.seconds()) {
      // An API may not answer for times that lie far back.
      const page = await this.reader.readFirst(second).catch(noPage);
      const { keys = [], updated = [] } = page?.facts ?? {};
      this.isUnfiltered = !keys.some((key, i) => !shown.has(key) && (updated[i] ?? from) < from);
      if (!this.isUnfiltered) return;
    }
  }

  /** Seconds from which an API shows the whole feed, or, if it answers only ranges, some records. */
  private seconds(): Iterable<number> {
    return this.feed.windowSeconds === undefined ? [0] : (this.sampleSeconds?.(ASKED_FOR) ?? []);
  }

  /**
   * The mark behind a range that the API has answered. While an API shows nothing at all, rows of the range may come later, so the mark
   * waits in front of them, but not for ever: each poll reads these ranges again.
   */
  async markBehind(end: number, { knownSecond }: FetchedPage): Promise<number> {
    if (this.hasShownRows || !(await this.showsNothing())) return end;
    return Math.min(end, Math.max(this.mark, knownSecond - MOST_RANGES * this.feed.windowSeconds!));
  }

  /** The feed's filter does not do what a scan relies on. */
  readonly warnOfFilter = (what: string): void => {
    const { name: feed, parameters } = this.feed;
    this.logger.warn(`Feed ${feed}: the filter ${parameters.updatedSince} ${what}`, { feed });
  };

  /** The filter shows none of the rows that there are. A filter that fails for a while shows them again, so the next poll asks again. */
  distrustFilter(): void {
    const { feed, reader } = this;
    reader.setPaging({ ...reader.paging(), lagTestedAt: 0 });
    this.settled = false;
    this.shortfall =
      `the filter ${feed.parameters.updatedSince} shows no row, not even those that the API shows without it, so changes may be missing. ` +
      `The next poll asks again. If it goes on, \`highwater reconcile ${feed.name}\` finds them; ask the vendor, or set parameters.updatedSince of the feed to null.`;
    remind(feed, 'filter', () =>
      this.logger.warn(`Feed ${feed.name}: ${this.shortfall}`, { feed: feed.name }),
    );
  }

  private warnOfAge(): void {
    const { feed, agedMs } = this;
    if (agedMs <= LATE_INTERVALS * feed.pollIntervalMs) return;
    const what =
      `the answers of the API come from a cache, and are up to ${Math.round(agedMs / 1000)} s old. So are the events. ` +
      'Ask the vendor how to get around the cache, and put that into headers or query of the feed.';
    this.shortfall ??= what;
    remind(feed, 'aged', () => this.logger.warn(`Feed ${feed.name}: ${what}`, { feed: feed.name }));
  }

  private warnOfHidden(hidden: HiddenRows): void {
    const { name: feed } = this.feed;
    const what = `${saidOfHidden(hidden)} The scan does not count as complete, and nothing of it is deleted.`;
    this.shortfall = what;
    remind(this.feed, hidden.by, () => this.logger.warn(`Feed ${feed}: ${what}`, { feed }));
  }

  private warnOfLimit(rows: number): void {
    const { name: feed, parameters } = this.feed;
    const isReachable = this.reader.kind === 'numbered' && parameters.updatedSince !== null;
    const message =
      `Feed ${feed}: the API ended behind exactly ${rows} rows. Many APIs show no more than a round number of rows or pages, and nothing ` +
      'tells whether there are more here. If there are, ask for fewer at once (parameters.updatedSince, or the query of the feed)' +
      `${isReachable ? `, or declare it (pagingLimit: ${rows})` : ''}. If not, this ends when another number of rows comes, or declare a greater pagingLimit.`;
    remind(this.feed, 'limit', () => this.logger.warn(message, { feed }));
  }

  /** Rows from a second on may be missing. Warns of it, and from then on the scan does not count as settled. */
  async giveUpOn(from: number, end: WalkEnd): Promise<void> {
    const { name: feed } = this.feed;
    this.settled = false;
    this.repeats ||= end === 'repeated';
    const what =
      end === 'repeated'
        ? 'come again on other pages in each walk, so they may stand in the place of others: the API ignores paging in part, or its ' +
          'order is not the same on each page. The feed does not count as read, and nothing of it is deleted. Ask for an order that ' +
          'tells all rows apart (the query of the feed), or declare how the page size is asked for (parameters.pageSize).'
        : `kept changing while they were read, over ${MOST_WALKS} walks or ${MOST_RESTARTS} new beginnings. ` +
          'The scan goes on; a later wide poll or reconcile finds the missing rows.';
    this.shortfall = `the rows from ${from} on ${what}`;
    this.logger.warn(`Feed ${feed}: ${this.shortfall}`, { feed });
    // The paging may have been learned wrongly while rows moved. Then each page holds one record too many or too few.
    await this.reader.learnPaging();
  }
}

/** Rows of any second are left out now, and come once the API is well again. */
function hasHoles(hidden: HiddenRows | null): boolean {
  return hidden !== null && ['partial', 'no next', 'itself', 'no list', 'refusal', 'gap'].includes(hidden.by);
}

export function saidOfHidden(hidden: HiddenRows): string {
  const remedy =
    'They may be behind a limit of paging, or not shown to this token. Ask for fewer rows at once (parameters.updatedSince, or the ' +
    'query of the feed), or leave out';
  switch (hidden.by) {
    case 'partial':
      return `the API says by "${hidden.member}" that an answer lacks rows, which have to be asked for again.`;
    case 'more':
      return `the API says that more rows follow, and the next page has none. ${remedy} paging.hasMore.`;
    case 'no list':
      return 'an answer behind a full page has no list of rows, and fewer records came than are known. They have to be asked for again.';
    case 'refusal':
      return (
        `the API refuses the page behind ${hidden.rows} rows, which fill their pages, and fewer records came than are known. A limit of paging ` +
        'may be there. If there is none, ask for pages of another length (pageSize), so that the last one is not full.'
      );
    case 'gap':
      return (
        `page ${hidden.page} (counted from 0) has no rows, and a later one has some: the API cuts pages first, and then leaves out rows, for ` +
        'example those that the token may not see. Ask for longer pages (pageSize), or only for rows that the token may see (query of the feed).'
      );
    case 'no next':
      return (
        `an answer of ${hidden.rows} rows names no next page, and ${hidden.said === null ? 'there must be one' : `says by "${hidden.said}" that there is one`}. Ask the API once, and compare its answer with ` +
        'paging of the feed: the member that names the next page may have another name now. Or the API shows only so many rows: ask for ' +
        'fewer at once (parameters.updatedSince, or the query of the feed).'
      );
    case 'itself':
      return (
        `an answer of ${hidden.rows} rows begins with rows of the page before, and names itself as the next page. If pages are asked for by a ` +
        'time, more rows of that time never come: ask for longer pages (pageSize).'
      );
    case 'total':
      return `the API counts ${hidden.total} rows, and shows ${hidden.shown}. ${remedy} paging.total.`;
  }
}
