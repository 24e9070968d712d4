import type { Behaviour } from '../behaviour';
import { applyDrift, DEEP_MEMBER, rescale } from '../drift';
import { endpoints, type FeedName, type JsonRecord } from '../endpoints';
import type { Random } from '../random';
import { compareByUpdated, createSlabs, createView, lowerBound, type Version, type View } from './view';

/** One written version, as the truth that a judge compares with. */
export interface HistoryEntry {
  readonly atMs: number;
  readonly id: string;
  /** As shown, with drift; null when it was removed. */
  readonly record: JsonRecord | null;
  readonly visibleFromMs: number;
}

export type FeedStore = ReturnType<typeof createStore>;

/**
 * The records of one feed, of which answers are made.
 * @param clock ms, without skew
 * @param keepHistory false: a long demo does not collect its history
 */
export function createStore(
  feed: FeedName,
  seed: number,
  random: Random,
  clock: () => number,
  behaviour: () => Behaviour,
  keepHistory: boolean,
) {
  const writeJson = createSlabs();
  let order = 0;
  const waiting = createWaitingVersions();
  /** Shown versions in order of `updated`, and by key. */
  const shown: Version[] = [];
  const shownByKey = new Map<string, Version>();
  const written: Version[] = [];
  let loaded = 0;
  let view: View | null = null;

  /** The newest version of a record that is not removed, shown or not. */
  function newest(key: string): Version | undefined {
    const delayed = waiting.newest(key);
    const seen = shownByKey.get(key);
    return delayed && seen && seen.order > delayed.order ? seen : (delayed ?? seen);
  }

  /** A version: numbered, drifted, and rendered once. */
  function versionOf(record: JsonRecord, given: WriteOptions, visibleFromMs: number): Version {
    const { drift, clockSkew } = behaviour();
    const key = given.key ?? (hasText(record.id) ? record.id : `#${order}`);
    const updated = given.updated ?? ownSeconds(record) ?? Math.floor(clock() / 1000 + clockSkew);
    const shown = given.updated ?? ('updated' in record ? record.updated : updated);
    const image = applyDrift(feed, key, { ...copied(record), updated: shown }, drift, seed, random);
    const symbol = endpoints[feed].symbol(record);
    return {
      key,
      updated,
      inserted: newest(key)?.inserted ?? order,
      order: order++,
      atMs: clock(),
      visibleFromMs,
      bytes: writeJson(JSON.stringify(image)),
      date: hasText(record.date) ? record.date : '',
      symbol: hasText(symbol) ? symbol : '',
    };
  }

  function show(version: Version): void {
    const former = shownByKey.get(version.key);
    // A later write may have become visible earlier if the delay was shortened in between.
    if (former !== undefined && former.order > version.order) return;
    if (former !== undefined) shown.splice(lowerBound(shown, former.updated, former.order), 1);
    view = null;
    if (version.bytes === null) {
      shownByKey.delete(version.key);
      return;
    }
    shownByKey.set(version.key, version);
    const last = shown[shown.length - 1];
    if (last === undefined || compareByUpdated(last, version) < 0) shown.push(version);
    else shown.splice(lowerBound(shown, version.updated, version.order), 0, version);
  }

  function add(version: Version): void {
    if (keepHistory) written.push(version);
    if (version.visibleFromMs <= clock()) show(version);
    else waiting.add(version);
  }

  function settle(): void {
    for (const version of waiting.takeDue(clock())) show(version);
  }

  function visibleFrom(): number {
    const { visibilityDelay, visibilityDelayShare } = behaviour();
    const delayed =
      visibilityDelay > 0 && (visibilityDelayShare === 1 || random.chance(visibilityDelayShare));
    return clock() + (delayed ? visibilityDelay * 1000 : 0);
  }

  function usable(record: JsonRecord): boolean {
    const isNamed = typeof record.id === 'string' && record.id !== '';
    return isNamed && typeof record.updated === 'number' && !(DEEP_MEMBER in record);
  }

  /** @param updated undefined: the server's now */
  function write({ updated: _, ...record }: JsonRecord, key: string, updated: number | undefined): void {
    store.upsert(record, { key, ...(updated !== undefined && { updated }) });
  }

  const store = {
    feed,
    /** Number of records shown now. */
    get size(): number {
      settle();
      return shown.length;
    },
    /** Adds many at once, all visible from the start of the simulation. */
    load(records: Iterable<JsonRecord>): void {
      const now = clock();
      for (const record of records) {
        const version = versionOf(record, {}, now);
        if (shownByKey.has(version.key)) throw new Error(`${feed} ${version.key} was loaded twice`);
        shownByKey.set(version.key, version);
        shown.push(version);
        if (keepHistory) written.push(version);
      }
      shown.sort(compareByUpdated);
      view = null;
      loaded = written.length;
    },
    /**
     * Writes a version. A record without the member `updated` gets the server's now; a record whose `updated` is not a
     * number is shown as it is and ordered by the server's now.
     * @returns its key
     */
    upsert(record: JsonRecord, options: WriteOptions = {}): string {
      settle();
      const version = versionOf(record, options, visibleFrom());
      add(version);
      return version.key;
    },
    /** @returns false when there is no such record */
    remove(key: string): boolean {
      settle();
      const version = newest(key);
      if (version === undefined) return false;
      waiting.drop(key);
      const now = clock();
      add({ ...version, order: order++, atMs: now, visibleFromMs: now, bytes: null });
      return true;
    },
    /** Moves only `updated`, to the server's now unless given. @returns false when there is no such record */
    touch(key: string, updated?: number): boolean {
      const version = newest(key);
      if (version === undefined) return false;
      write(knownRecord(version), key, updated);
      return true;
    },
    /** Writes decimals with other trailing zeros, and moves `updated`. @returns false when there is no such record */
    rescale(key: string): boolean {
      const version = newest(key);
      if (version === undefined) return false;
      const record = knownRecord(version);
      rescale(record, random);
      write(record, key, undefined);
      return true;
    },
    /** Writes every record again under the present drift without moving `updated`: a silent change. */
    rewrite(): void {
      settle();
      const now = clock();
      for (const version of [...shown]) add(versionOf(knownRecord(version), { key: version.key }, now));
    },
    /** The newest version, also while it is not visible yet; with `id` and `updated` in seconds even where not shown. */
    get(key: string): JsonRecord | undefined {
      settle();
      const version = newest(key);
      return version && knownRecord(version);
    },
    /** Keys of all records shown now, in order of `updated`. */
    keys(): string[] {
      settle();
      return shown.map((version) => version.key);
    },
    /** The present view, after writes whose delay is over. */
    view(): View {
      settle();
      view ??= createView(shown);
      return view;
    },
    /** The records as shown this many writes ago, at least the loaded ones. */
    viewBehind(writes: number): View {
      if (!keepHistory) return store.view();
      const then = new Map<string, Version>();
      const now = clock();
      for (const version of written.slice(0, Math.max(loaded, written.length - writes))) {
        if (version.visibleFromMs > now) continue;
        if (version.bytes === null) then.delete(version.key);
        else then.set(version.key, version);
      }
      return createView([...then.values()].sort(compareByUpdated));
    },
    /** Records shown now that have a usable `id` and `updated`, and are not too deep, by id. */
    truth(): Map<string, JsonRecord> {
      settle();
      const records = new Map<string, JsonRecord>();
      for (const version of shown) {
        const record = parseVersion(version);
        if (usable(record)) records.set(record.id as string, record);
      }
      return records;
    },
    /** All other records shown now. */
    unusable(): JsonRecord[] {
      settle();
      return shown.map(parseVersion).filter((record) => !usable(record));
    },
    /** Every version written, oldest first, from the given position on. */
    history(from = 0): HistoryEntry[] {
      return written.slice(from).map((version) => ({
        atMs: version.atMs,
        id: version.key,
        record: version.bytes === null ? null : parseVersion(version),
        visibleFromMs: version.visibleFromMs,
      }));
    },
  };
  return store;
}

/** Versions that are written but not shown yet. */
function createWaitingVersions() {
  let waiting: Version[] = [];
  // Asked at every request: without it each would pass over the whole list.
  let earliest = Number.POSITIVE_INFINITY;
  return {
    add(version: Version): void {
      waiting.push(version);
      earliest = Math.min(earliest, version.visibleFromMs);
    },
    /** Removes and returns versions that are visible by now, in the order of writing. */
    takeDue(nowMs: number): Version[] {
      if (earliest > nowMs) return [];
      const due = waiting.filter((version) => version.visibleFromMs <= nowMs);
      waiting = waiting.filter((version) => version.visibleFromMs > nowMs);
      earliest = waiting.reduce(
        (least, version) => Math.min(least, version.visibleFromMs),
        Number.POSITIVE_INFINITY,
      );
      return due;
    },
    newest: (key: string): Version | undefined => waiting.findLast((version) => version.key === key),
    drop(key: string): void {
      waiting = waiting.filter((version) => version.key !== key);
    },
  };
}

export interface WriteOptions {
  /** The record's identity when the record itself has no usable `id`. */
  readonly key?: string;
  /** Unix seconds by which the server orders it; else the record's own `updated`, else the server's now. */
  readonly updated?: number;
}

/** The record as it is shown. */
function parseVersion(version: Version): JsonRecord {
  const { slab, start, end } = version.bytes!;
  return JSON.parse(slab.toString('utf8', start, end)) as JsonRecord;
}

/** The record as the server knows it: with `id` and `updated` in seconds, even if it does not show them. */
function knownRecord(version: Version): JsonRecord {
  const known: JsonRecord = version.key.startsWith('#') ? {} : { id: version.key };
  return { ...parseVersion(version), ...known, updated: version.updated };
}

function ownSeconds({ updated }: JsonRecord): number | undefined {
  if (typeof updated !== 'number') return undefined;
  return updated > 1e11 ? Math.floor(updated / 1000) : updated;
}

function hasText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The record and the objects in it that drift changes. structuredClone would take ten times as long. */
function copied(record: JsonRecord): JsonRecord {
  const copy = { ...record };
  for (const name of ['security', 'ratings_accuracy']) {
    const nested = copy[name];
    if (nested !== null && typeof nested === 'object') copy[name] = { ...nested };
  }
  return copy;
}
