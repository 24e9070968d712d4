import { createBreather, inSlices } from '../../async/slices';
import { rowKeys } from '../../feeds/row-keys';
import { sourceFromNow, sourceHeard } from '../../source/source';
import type { FeedState, Records } from '../../state/feed-state';
import type { ScanEnd } from '../../types';
import { type MissedRow, MOST_MISSED, PageChanges } from '../changes/page-changes';
import { noteCommitted, type PollDeps, poll } from '../poll';
import { learnedPaging, pagingFields, shownRecords } from '../position';
import type { Round } from '../round';
import { scan } from '../scan/scan';
import type { BatchPage } from '../transaction/batch';
import { movePosition, transact } from '../transaction/transact';
import { testFilter } from './missed-rows';
import { absenceProbe } from './prove-absent';
import { rowsWithoutTime } from './rows-without-time';

export interface ReconcileOptions {
  /** Says what would be published, and publishes nothing. */
  readonly dryRun: boolean;
  /** An operator's limit of deletes, for any share of the feed; null: the share decides. */
  readonly allowDeletes: number | null;
  /** After each page: others have their turn, the feed's own polls above all. */
  readonly between: () => Promise<void>;
  /** Polls the feed now. */
  readonly poll: () => Promise<void>;
  /** Lets so many ms pass, with the same turns in it. */
  readonly rest: (ms: number) => Promise<void>;
  /** Called after each page. */
  readonly onProgress?: (progress: ReconcileProgress) => void;
}

export interface ReconcileProgress {
  /** 1 or 2: the second scan is read only when the first did not show every record. */
  readonly scan: number;
  /** `pause`: until the second scan. `probe`: records are asked for that neither scan showed. */
  readonly phase: 'scan' | 'pause' | 'probe';
  readonly pages: number;
  readonly rows: number;
  /** Rows of this scan only. */
  readonly scanRows: number;
  /** Late rows and silent changes that were found by now. */
  readonly created: number;
  readonly updated: number;
  /** Records that were not shown; 0 while a scan runs. */
  readonly missing: number;
  /** Missing records that were probed. */
  readonly probed: number;
  /** Length of the pause; 0 without one. */
  readonly pauseMs: number;
}

export interface ReconcileResult {
  readonly pages: number;
  readonly rows: number;
  /** Records that polls have missed (late rows), and changes that moved no `updated`, or moved it to a time that polls had read. */
  readonly created: number;
  readonly updated: number;
  /** Changes that the next poll would have found too. */
  readonly ordinary: number;
  readonly deleted: number;
  /** Records that no answer showed and that were not deleted; `why` has the reason. */
  readonly missing: number;
  /** Ids of the first missing records, at most 5. */
  readonly withheldIds: readonly string[];
  readonly why:
    | 'too-many'
    | 'nothing-shown'
    | 'rows-without-id'
    | 'not-proved'
    | 'round-number'
    | 'too-large'
    | 'scan-not-complete'
    | 'old-answers'
    | null;
}

/**
 * Reads everything without trusting the mark, and compares it with the images: silent changes come as updates, late rows as
 * creates. A record that neither of two scans shows, nor any poll from the beginning of the first to the end of the
 * second, is deleted when a probe proves it gone (I7).
 *
 * It keeps its progress only in memory: after a crash nothing is half-done, and it begins again.
 *
 * @throws HighwaterError as `poll`
 */
export async function reconcile(
  given: PollDeps,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { records } = given.state;
  const keys = rowKeys(given.feed);
  const seen: Seen = { withoutId: 0, latest: undefined, isOld: false };
  const see = ({ rows }: { readonly rows: readonly unknown[] }): void => {
    for (const row of rows) {
      const id = keys.id(row);
      if (id === null) seen.withoutId++;
      else records.witness(id);
    }
  };
  /** A poll, which has a source of its own, calls it too. */
  const witness = (rows: readonly unknown[], end?: ScanEnd): void => {
    seen.latest = end;
    see({ rows });
  };
  const found: Found = { pages: 0, rows: 0, created: 0, updated: 0, ordinary: 0 };
  // A page that only tests the others may be the only one that shows a record: copies of a server differ.
  const deps = { ...given, source: sourceHeard(given.source, see) };
  const work: Work = { deps, options, found, tell: teller(found, options), signal };

  records.forgetWitnessed();
  deps.witnesses.add(witness);
  try {
    const isComplete = await scanTwice(work, seen);
    signal.throwIfAborted();
    const missing = await countMissing(records);
    const withheld = (why: ReconcileResult['why']) => ({
      ...found,
      deleted: 0,
      missing: missing.count,
      withheldIds: missing.first,
      why,
    });
    // It counts as no reconcile, but `status` tells of the records that were not shown.
    const stopped = async (why: ReconcileResult['why']) => {
      if (!options.dryRun) await movePosition(deps, { withheld_deletes: missing.count });
      return withheld(why);
    };
    if (!isComplete) return await stopped('scan-not-complete');
    if (missing.count === 0) return await ended(deps, options, withheld(null));
    if (seen.isOld) return await stopped('old-answers');
    // The missing records may have moved into the seconds that were left out.
    if (seen.latest?.leavesOut)
      return await ended(deps, options, withheld(unproved(typeof seen.latest.hiddenThrough === 'number')));
    const { allowDeletes } = options;
    // One of them may be a record that came without its id.
    if (allowDeletes === null && seen.withoutId > 0) return await stopped('rows-without-id');
    if (missing.count > (allowDeletes ?? (await deletedUnasked(deps)))) {
      // The probe needs a known record among the answers, so that no number would help.
      const isNothingShown = found.created === 0 && missing.count === (await inScope(deps.state));
      return await stopped(isNothingShown ? 'nothing-shown' : 'too-many');
    }
    return await ended(deps, options, await deleteAbsent(work, missing.count));
  } finally {
    deps.witnesses.delete(witness);
  }
}

interface Work {
  readonly deps: PollDeps;
  readonly options: ReconcileOptions;
  readonly found: Found;
  readonly tell: Tell;
  readonly signal: AbortSignal;
}

/** What the answers have shown beside the records, for which `witness` notes it. */
interface Seen {
  withoutId: number;
  /** The end of the latest poll. */
  latest: ScanEnd | undefined;
  /** The second scan was given answers of the first one. */
  isOld: boolean;
}

const missingIn = (records: Records) => (number: number) =>
  !records.isWitnessed(number) && !records.isOutOfScope(number);

const countMissing = (records: Records) => count(records, missingIn(records));

/** The second scan is read only when the first has not shown every record. @returns whether the last scan saw everything that the server showed */
async function scanTwice(work: Work, seen: Seen): Promise<boolean> {
  const { deps, options, tell, signal } = work;
  const { feed, state, firstSights } = deps;
  const missed: MissedRow[] = [];
  const isComplete = await readAll(work, 1, missed);
  if (!options.dryRun) await testFilter(deps, missed.slice(0, MOST_MISSED), signal);
  const unseen = isComplete ? (await countMissing(state.records)).count : 0;
  if (unseen === 0) return isComplete;
  // Answers of the first scan that a cache gives again do not count a second time.
  const source = sourceFromNow(deps.source, () => {
    seen.isOld = true;
  });
  // Polls go on meanwhile, and may show that it has to be longer.
  for (let restedMs = 0, pauseMs: number; ; restedMs = pauseMs) {
    pauseMs = firstSights.pauseMs(feed.pollIntervalMs, state.offset.least_change_age_ms);
    if (pauseMs <= restedMs) break;
    tell(1, { phase: 'pause', missing: unseen, pauseMs });
    await options.rest(pauseMs - restedMs);
  }
  const isSeenAgain = await readAll({ ...work, deps: { ...deps, source } }, 2);
  // The second scan may have skipped rows that moved during it, and so may a poll whose rows move as fast as it reads.
  for (let polls = 0; polls === 0 || (seen.latest?.leavesOut && polls < MOST_POLLS); polls++) {
    seen.latest = undefined;
    await options.poll();
  }
  return isSeenAgain;
}

/** Deletes the missing records that a probe proves gone. */
async function deleteAbsent(work: Work, missing: number): Promise<ReconcileResult> {
  const { deps, options, found, tell, signal } = work;
  const { records } = deps.state;
  const isMissing = missingIn(records);
  const probe = await absenceProbe(deps, isMissing, signal);
  let probed = 0;
  let deleted = 0;
  let tooLarge = 0;
  let kept: string[] = [];
  const isKept = (id: string) => {
    const number = records.find(id);
    return number !== -1 && isMissing(number);
  };
  for await (const some of pieces(records, isMissing)) {
    tell(2, { phase: 'probe', missing, probed });
    // Nothing comes between the probe and the deletes that it proves.
    const gone = new Set((await probe.gone(some)).filter(isKept));
    const published = gone.size === 0 ? 0 : await publishDeletes(deps, [...gone], options);
    probed += some.length;
    deleted += published;
    tooLarge += gone.size - published;
    kept = [...kept, ...some.filter((id) => !gone.has(id))].filter(isKept).slice(0, IDS_NAMED);
    await options.between();
  }
  // Some of them may have been shown since.
  const left = (await countMissing(records)).count - (options.dryRun ? deleted : 0);
  const why = left === 0 ? null : left === tooLarge ? 'too-large' : unproved(probe.mayBeHidden);
  return { ...found, deleted, missing: left, withheldIds: kept, why };
}

/** @param mayBeHidden by a limit of paging */
const unproved = (mayBeHidden: boolean) => (mayBeHidden ? 'round-number' : 'not-proved');

/** After this many last polls that have left out the latest seconds, nothing is proved. */
const MOST_POLLS = 3;

/** An operator asks the API for a few records. */
const IDS_NAMED = 5;

/** How many records are such, and the ids of the first. */
async function count(records: Records, isSuch: (number: number) => boolean) {
  const found = { count: 0, first: [] as string[] };
  await inSlices(records.numbers(), (number) => {
    if (!isSuch(number)) return;
    if (found.count++ < IDS_NAMED) found.first.push(records.idOf(number));
  });
  return found;
}

/** Ids of such records, as many at a time as are deleted together. Records may come and go meanwhile. */
async function* pieces(records: Records, isSuch: (number: number) => boolean): AsyncGenerator<string[]> {
  const breather = createBreather();
  let some: string[] = [];
  for (const number of records.numbers()) {
    if (isSuch(number)) some.push(records.idOf(number));
    if (some.length === DELETES) {
      yield some;
      some = [];
    }
    if (breather.isDue()) await breather.breathe();
  }
  if (some.length > 0) yield some;
}

/** How many records may be deleted unasked: a share of the feed, and one of a small feed, for which a share of a record is none. */
async function deletedUnasked({ feed, state }: PollDeps): Promise<number> {
  return feed.deleteShare === 0 ? 0 : Math.max(1, feed.deleteShare * (await inScope(state)));
}

/** Records that the feed would show, as far as is known: records that a changed filter leaves out do not count. */
async function inScope({ offset, recordCount, records }: FeedState): Promise<number> {
  if (offset.scope_seq === 0) return recordCount;
  return (await count(records, (number) => !records.isOutOfScope(number))).count;
}

type Found = { -readonly [key in 'pages' | 'rows' | 'created' | 'updated' | 'ordinary']: number };

type Tell = (scan: number, now?: Partial<ReconcileProgress>) => void;

function teller(found: Found, { onProgress }: ReconcileOptions): Tell {
  const began = new Map<number, number>();
  const resting = { phase: 'scan', missing: 0, probed: 0, pauseMs: 0 } as const;
  return (scan, now = {}) => {
    if (!began.has(scan)) began.set(scan, scan === 1 ? 0 : found.rows);
    onProgress?.({ ...resting, scan, ...found, scanRows: found.rows - began.get(scan)!, ...now });
  };
}

/** One scan over everything. @returns whether it saw everything that the server showed */
async function readAll(work: Work, number: number, missed?: MissedRow[]): Promise<boolean> {
  const { deps, options, found, tell, signal } = work;
  const { feed, state } = deps;
  tell(number);
  const paging = learnedPaging(state.offset, feed);
  const isKnown = (id: string) => {
    state.records.witness(id);
    return state.records.find(id) !== -1;
  };
  // Two scans over the same pages would make the same mistake. Polls read the usual pages, so the first scan reads others.
  const otherBorders = number === 1;
  // Polls rely on the filter. If it goes by another time, or never shows some rows, they all leave them out.
  const whole = { highWaterMark: 0, snapshot: false, wide: true, whole: true, withoutFilter: true };
  const start = { ...whole, paging, otherBorders, shownRecords: shownRecords(state.offset) };
  const note = (page: BatchPage) => {
    found.pages++;
    found.rows += page.rows;
    // The second scan of a dry run finds the same differences as the first one.
    if (!options.dryRun || number === 1) {
      const { ops, ordinary } = page.changes;
      found.created += ops.c - ordinary.c;
      found.updated += ops.u - ordinary.u;
      found.ordinary += ordinary.c + ordinary.u;
      if (missed !== undefined && missed.length < MOST_MISSED) missed.push(...page.changes.missed);
    }
    tell(number);
  };
  let isComplete = false;
  let isScanned = false;
  const round: Round = {
    async *pages(stop) {
      yield* scan(feed, start, deps, stop);
      isScanned = true;
      // Behind the scan, which meets an API that does not answer.
      if (number === 1) yield* rowsWithoutTime(feed, learnedPaging(state.offset, feed), isKnown, deps, stop);
    },
    readsAhead: false,
    origin: () => 'reconcile',
    position: (_offset, { progress }) => {
      if (!isScanned) isComplete = progress.complete && progress.settled;
      return pagingFields(progress.paging);
    },
    between: options.between,
    onRehearsed: options.dryRun ? note : undefined,
  };
  const onPage: PollDeps['onPage'] = (page) => {
    note(page);
    deps.onPage?.(page);
  };
  await poll({ ...deps, onPage }, round, signal);
  return isComplete && !signal.aborted;
}

/** So many are asked for, one by one at worst, before others have their turn. */
const DELETES = 50;

/**
 * Publishes the deletes of these records in one transaction, or nothing in a dry run. A delete that the log would refuse is kept as
 * a dead letter.
 * @returns how many deletes are published, or would be
 */
async function publishDeletes(
  deps: PollDeps,
  ids: readonly string[],
  { dryRun }: ReconcileOptions,
): Promise<number> {
  const pending = deps.state.begin();
  const observedAtMs = Date.now();
  const changes = new PageChanges(deps, pending, observedAtMs, 'reconcile');
  for (const id of ids) changes.remove(id);
  const news = changes.news({ records: [], rows: [], rejected: [] });
  const { events, letters } = news;
  if (!dryRun && events.length + letters.length > 0) {
    await transact(deps, pending, [deps.encoder.encode(events, letters, observedAtMs)], observedAtMs);
    noteCommitted(news, deps);
    deps.onOtherChanges?.(news.changes, observedAtMs);
  }
  return events.length;
}

/** The whole of it was done: when that was is kept in the log. */
async function ended(
  deps: PollDeps,
  { dryRun }: ReconcileOptions,
  result: ReconcileResult,
): Promise<ReconcileResult> {
  if (!dryRun) await movePosition(deps, { last_reconcile_ms: Date.now(), withheld_deletes: result.missing });
  return result;
}
