import type { Feed } from '../feeds/feed';
import type { Change } from '../types';
import { commit } from './commit';
import { diff } from './diff';
import { encode, encodeTransaction } from './encode';
import { buildEvents } from './events';
import { type PollDeps, pageContext, poll } from './poll';
import { learnedPaging, pagingFields } from './position';
import { proveAbsent } from './prove-absent';
import type { Round } from './round';
import { rowId } from './row';
import { scan } from './scan';

export interface ReconcileOptions {
  /** Says what would be published, and publishes nothing. */
  readonly dryRun: boolean;
  /** So many deletes are meant, whatever their share of the feed; null: nobody has said so. */
  readonly allowDeletes: number | null;
  /** After each page: others have their turn, the feed's own polls above all. */
  readonly between: () => Promise<void>;
  /** Lets so many ms pass, with the same turns in it. */
  readonly rest: (ms: number) => Promise<void>;
  /** Called after each page. */
  readonly onProgress?: (progress: ReconcileProgress) => void;
}

export interface ReconcileProgress {
  /** 1 or 2: the second scan is read only when the first did not show every record. */
  readonly scan: number;
  readonly pages: number;
  readonly rows: number;
}

export interface ReconcileResult {
  readonly pages: number;
  readonly rows: number;
  /** Records that polls have missed (late rows), and changes that moved no `updated`. */
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** Records that no answer showed, and of which nothing was deleted: `why` tells. */
  readonly missing: number;
  readonly why: 'too-many' | 'rows-without-id' | 'not-proved' | 'scan-not-complete' | null;
}

/**
 * Reads everything without trusting the mark, and compares it with the images: silent changes come as updates, late rows as
 * creates. A record that neither of two scans shows, nor any poll from the beginning of the first to the end of the
 * second, is deleted when a probe proves it gone (I7).
 *
 * What it knows is in memory alone: after a crash nothing is half-done, and it begins anew.
 *
 * @throws HighwaterError as `poll`
 */
export async function reconcile(
  feed: Feed,
  deps: PollDeps,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { state } = deps;
  const shown = new Set<string>();
  let withoutId = 0;
  const witness = (rows: readonly unknown[]): void => {
    for (const row of rows) {
      const id = rowId(row);
      if (id === null) withoutId++;
      else shown.add(id);
    }
  };
  const found = { pages: 0, rows: 0, created: 0, updated: 0 };
  const missing = (): string[] => [...state.ids()].filter((id) => !shown.has(id) && !state.isOutOfScope(id));

  deps.witnesses.add(witness);
  try {
    let isComplete = await readAll(feed, deps, options, found, 1, signal);
    if (isComplete && missing().length > 0) {
      await options.rest(feed.pollIntervalMs);
      isComplete = await readAll(feed, deps, options, found, 2, signal);
    }
    signal.throwIfAborted();
    const candidates = missing();
    const withheld = (why: ReconcileResult['why']) => ({
      ...found,
      deleted: 0,
      missing: candidates.length,
      why,
    });
    if (!isComplete) return withheld('scan-not-complete');
    if (candidates.length === 0) return await ended(feed, deps, options, withheld(null));
    // One of them may be a record that came without its id.
    if (withoutId > 0) return withheld('rows-without-id');
    const isMeant = options.allowDeletes !== null && candidates.length <= options.allowDeletes;
    if (!isMeant && candidates.length > feed.deleteShare * state.recordCount) return withheld('too-many');

    const gone = await proveAbsent(feed, deps, candidates, signal);
    // The probe was the last thing that was read: nothing comes between it and the deletes.
    const deletes = gone.filter((id) => !shown.has(id));
    if (!options.dryRun) await publishDeletes(feed, deps, deletes);
    const left = candidates.length - deletes.length;
    const why = left > 0 ? 'not-proved' : null;
    return await ended(feed, deps, options, { ...found, deleted: deletes.length, missing: left, why });
  } finally {
    deps.witnesses.delete(witness);
  }
}

type Found = { pages: number; rows: number; created: number; updated: number };

/** One scan over everything. @returns whether it saw everything that the server showed */
async function readAll(
  feed: Feed,
  deps: PollDeps,
  options: ReconcileOptions,
  found: Found,
  number: number,
  signal: AbortSignal,
): Promise<boolean> {
  const paging = learnedPaging(deps.state.offset, feed.pageSize);
  const start = { highWaterMark: 0, snapshot: false, wide: true, paging };
  let isComplete = false;
  const round: Round = {
    pages: (stop) => scan(feed, start, deps, stop),
    readsAhead: false,
    origin: () => 'reconcile',
    position: (_offset, { progress }) => {
      isComplete = progress.complete && progress.settled;
      return pagingFields(progress.paging);
    },
    between: options.between,
  };
  const onPage: PollDeps['onPage'] = (page) => {
    found.pages++;
    found.rows += page.rows;
    for (const { change } of page.events) count(change, found);
    options.onProgress?.({ scan: number, pages: found.pages, rows: found.rows });
    deps.onPage?.(page);
  };
  if (!options.dryRun) await poll(feed, { ...deps, onPage }, round, signal);
  else {
    for await (const page of round.pages(signal)) {
      for (const witness of deps.witnesses) witness(page.rows);
      const decoded = deps.decode(page.rows);
      const context = pageContext(feed, page, 'reconcile', deps);
      // The second scan would find the same again.
      const changes = diff(decoded.records, deps.state.begin(), context);
      if (number === 1) for (const change of changes) count(change, found);
      round.position(deps.state.offset, page);
      found.pages++;
      found.rows += page.rows.length;
      options.onProgress?.({ scan: number, pages: found.pages, rows: found.rows });
      await options.between();
    }
  }
  return isComplete && !signal.aborted;
}

function count({ op }: Change, found: Found): void {
  if (op === 'u') found.updated++;
  else found.created++;
}

/** So many in one transaction. */
const DELETES = 1_000;

async function publishDeletes(feed: Feed, deps: PollDeps, ids: readonly string[]): Promise<void> {
  for (let i = 0; i < ids.length; i += DELETES) {
    const pending = deps.state.begin();
    const context = pageContext(feed, { observedAtMs: Date.now() }, 'reconcile', deps);
    const changes = ids.slice(i, i + DELETES).map((id): Change => {
      const before = pending.image(id)!;
      const beforeRecord = deps.images.decode(before);
      return { op: 'd', id, before, after: null, beforeRecord, afterRecord: null, changedFields: [] };
    });
    const events = buildEvents(changes, pending, context);
    await commit(encodeTransaction([encode(events, [], context)], pending, context), pending, deps.session);
  }
}

/** The whole of it was done: when that was is kept in the log. */
async function ended(
  feed: Feed,
  deps: PollDeps,
  { dryRun }: ReconcileOptions,
  result: ReconcileResult,
): Promise<ReconcileResult> {
  if (dryRun) return result;
  const pending = deps.state.begin();
  const observedAtMs = Date.now();
  pending.moveOffset({ last_reconcile_ms: observedAtMs });
  const context = pageContext(feed, { observedAtMs }, 'reconcile', deps);
  await commit(encodeTransaction([], pending, context), pending, deps.session);
  return result;
}
