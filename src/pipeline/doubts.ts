import { pause } from '../async/wait';
import type { FeedCodec } from '../avro/codec/feed-codec';
import { rowKeys } from '../feeds/row-keys';
import { remind } from '../logging/remind';
import type { FeedState, PendingState } from '../state/feed-state';
import type { ScanPage, VendorRecord } from '../types';
import type { EarlierContents } from './changes/earlier-contents';
import type { Images } from './changes/images';
import { type LookDeps, type LookRange, lookAt, type Sight } from './look';
import type { Decoder } from './records/decode';
import { EXPIRED, unlessRefused } from './scan/pages/refusals';
import { LONGEST_LAG } from './scan/seam';

/** A feed of so many pages is read as a whole, by the first look. */
const SMALL_PAGES = 50;
const ALL = Number.POSITIVE_INFINITY;
/** Before each look: a server that lags may answer for seconds until another one does. A large feed is looked at less often. */
const PAUSES_MS = [0, 1_000, 2_000, 3_000, 4_000];
const FEW_PAUSES_MS = [0, 10_000];
const FEW_PAGES = 10;
/** How often a page in doubt is asked for again: each answer may come from another server, and one of them may lag. */
const REREADS = 5;

export interface DoubtDeps extends LookDeps {
  readonly state: Pick<FeedState, 'offset' | 'records' | 'recordCount'>;
  readonly decode: Decoder;
  readonly images: Images;
  readonly earlier: EarlierContents;
  readonly codec: Pick<FeedCodec, 'image'>;
  /** Default: waits. */
  readonly pause?: typeof pause;
}

/**
 * Decides about records that would go back to earlier contents, or come back after their delete. The vendor may have taken a change
 * back. Or a server lags, a list shows earlier versions beside the latest, or two records have the same id. Make one for each round.
 */
export class Doubts {
  /** Pages of the round, and of its looks. A look may read about as many as the round. */
  private pages = 0;
  private looked = 0;
  /** A look has found other contents than those in doubt: a server lags, or two records have one id. */
  private hasFoundBoth = false;
  /** Id → `updated` of the latest version that looks have found, if it is later than the one in doubt and not as published. */
  private readonly latest = new Map<string, number>();

  constructor(
    private readonly deps: DoubtDeps,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * The page is asked for again several times. Records on which all answers agree are published if no answer shows what was published, or
   * a later version, or lacks the record. The others are left to a later poll.
   * @param pending the state that the records were compared with
   */
  async confirmed(
    doubtful: readonly VendorRecord[],
    page: ScanPage,
    pending: Pick<PendingState, 'image' | 'seenAt'>,
  ): Promise<readonly VendorRecord[]> {
    const agreed = await this.agreed(doubtful, page);
    if (agreed.length === 0) return agreed;
    if (this.looked > this.pages) {
      const isLatest = ({ id, updated }: VendorRecord) => updated >= (this.latest.get(id) ?? ALL);
      return this.hasFoundBoth ? agreed.filter(isLatest) : agreed;
    }
    const shown = await this.shownBeside(agreed, pending);
    if (shown === null) return [];
    const { beside, passed } = shown;
    this.hasFoundBoth ||= beside.size + passed.size > 0;
    for (const [id, updated] of passed) if (!beside.has(id)) this.latest.set(id, updated);
    for (const id of beside) this.deps.earlier.keep(id, page.observedAtMs);
    this.warnOf(
      agreed.filter(({ id }) => beside.has(id)),
      'in turn',
    );
    return agreed.filter(({ id }) => !beside.has(id) && !passed.has(id));
  }

  /** @param outdated rows that stand beside newer rows of the same records */
  endPage(outdated: readonly VendorRecord[]): void {
    this.pages++;
    this.warnOf(outdated, 'in one answer');
  }

  private async agreed(doubtful: readonly VendorRecord[], page: ScanPage): Promise<readonly VendorRecord[]> {
    const { decode, images, codec } = this.deps;
    let agreed = doubtful;
    for (let i = 0; i < REREADS && agreed.length > 0 && !this.signal.aborted; i++) {
      const ids = new Set(agreed.map(({ id }) => id));
      const rows = await unlessRefused(page.reread(), EXPIRED);
      // The API has dropped the place of the page. Only a look, which begins at the first page, can tell now.
      if (rows === null) return i > 0 || this.looked <= this.pages ? agreed : [];
      const found = decode(rows).records.filter(({ id }) => ids.has(id));
      const again = new Map(found.map((record) => [record.id, record]));
      agreed = agreed.filter((record) => {
        const other = again.get(record.id);
        return other?.updated === record.updated && images.isShownBy(codec.image.encode(record), other);
      });
    }
    return this.signal.aborted ? [] : agreed;
  }

  /**
   * Ids of records that the API also shows as they were published. And ids of records that it also shows later than in doubt, with the
   * latest time, or does not show (Infinity). Null if a cache answered, or the signal came.
   */
  private async shownBeside(
    records: readonly VendorRecord[],
    pending: Pick<PendingState, 'image' | 'seenAt'>,
  ): Promise<{ readonly beside: ReadonlySet<string>; readonly passed: ReadonlyMap<string, number> } | null> {
    const { deps, signal } = this;
    const { feed, images, decode, witnesses } = deps;
    const wanted = new Map(records.map(({ id, updated }) => [id, { image: pending.image(id), updated }]));
    const publishedAt = (id: string) => {
      const { image, updated } = wanted.get(id)!;
      return image === undefined ? updated : images.decode(image).updated;
    };
    const keys = rowKeys(feed);
    const beside = new Set<string>();
    const passed = new Map<string, number>();
    const areAllFound = () => [...wanted.keys()].every((id) => beside.has(id) || passed.has(id));
    const witness = (rows: readonly unknown[]): void => {
      this.looked++;
      const found = rows.filter((row) => wanted.has(keys.id(row) ?? ''));
      for (const record of decode(found).records) {
        const { image, updated } = wanted.get(record.id)!;
        if (image !== undefined && images.isShownBy(image, record)) beside.add(record.id);
        else if (record.updated > Math.max(updated, passed.get(record.id) ?? 0))
          passed.set(record.id, record.updated);
      }
    };
    /** Answers without a record show it as published if it was deleted, and as gone since if it was not. */
    const noteSight = ({ rows, through: shown }: Sight, begin: number): boolean => {
      for (const [id, { image, updated }] of wanted)
        if (!rows.has(id) && begin <= updated && shown >= publishedAt(id))
          image === undefined ? beside.add(id) : passed.set(id, ALL);
      return areAllFound();
    };
    witnesses.add(witness);
    try {
      const from = Math.min(...[...wanted.keys()].map(publishedAt));
      const through = Math.max(
        ...[...wanted.keys()].map((id) => Math.max(publishedAt(id), pending.seenAt(id) ?? 0)),
      );
      for (const [i, ms] of this.pauses().entries()) {
        if (ms > 0) await (deps.pause ?? pause)(ms, signal);
        const range = { from, through, isEnough: () => beside.size === wanted.size };
        if (signal.aborted || !(await this.lookThrough(range, wanted, noteSight, i === 0))) return null;
        if (areAllFound()) break;
      }
      return { beside, passed };
    } finally {
      witnesses.delete(witness);
    }
  }

  /** Only the first look of a round is patient, unless contents have come in turn. */
  private pauses(): readonly number[] {
    if (this.looked > 0 && !this.hasFoundBoth) return [0];
    return this.isOfPages(FEW_PAGES) ? PAUSES_MS : FEW_PAUSES_MS;
  }

  private isOfPages(most: number): boolean {
    const { feed, state } = this.deps;
    return state.recordCount <= most * feed.pageSize;
  }

  /** @param noteSight called for each range and its first second; true: all are found @returns false if a cache answered */
  private async lookThrough(
    asked: LookRange,
    wanted: ReadonlyMap<string, unknown>,
    noteSight: (sight: Sight, begin: number) => boolean,
    isFirst: boolean,
  ): Promise<boolean> {
    const { deps, signal } = this;
    const { feed } = deps;
    const isWhole = isFirst && this.isOfPages(SMALL_PAGES);
    // Without a known record in front of them, the filter may leave out the seconds that it is asked for.
    for (const before of isWhole ? [ALL] : [feed.wideOverlapSeconds, LONGEST_LAG, ALL]) {
      const range = { ...asked, from: Math.max(0, asked.from - before), withoutFilter: before === ALL };
      const sight = await lookAt(deps, range, (id) => wanted.has(id), signal);
      if (!sight.isPresent) return false;
      if (noteSight(sight, range.from) || range.from === 0 || sight.leastKnown <= asked.from) break;
    }
    return true;
  }

  private warnOf([first]: readonly VendorRecord[], what: keyof typeof WARNINGS): void {
    if (first === undefined) return;
    const { feed, logger } = this.deps;
    const id = first.id.slice(0, 80).toWellFormed();
    const message = `Feed ${feed.name}: ${WARNINGS[what](id)}`;
    remind(feed, what, () => logger.warn(message, { feed: feed.name, id }));
  }
}

const WARNINGS = {
  'in one answer': (id: string) =>
    `the API shows record ${id} more than once in one answer, with different contents. Only the newest row counts, and the last of rows ` +
    'with the same time. If these are different records, name another member in idField, too. If they are versions of one record, ask for the ' +
    'latest only (the query of the feed).',
  'in turn': (id: string) =>
    `some answers show record ${id} as it was before its last change, others as it is. Only the latter count. A server behind the ` +
    'address may lag, or several records have this id (idField).',
};
