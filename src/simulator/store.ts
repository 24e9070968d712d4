import type { Behaviour, Drift } from './behaviour';
import { applyDrift, rescale } from './drift';
import { endpoints, type FeedName, type JsonRecord } from './endpoints';
import type { Random } from './random';
import { createSlabs } from './record-bytes';
import { compareByUpdated, createView, lowerBound, type Version, type View } from './view';

export interface WriteOptions {
  /** The record's identity when the record itself has no usable `id`. */
  readonly key?: string;
  /** Unix seconds by which the server orders it; else the record's own `updated`, else the server's now. */
  readonly updated?: number;
}

/** One written version, as the truth that a judge compares with. */
export interface HistoryEntry {
  readonly atMs: number;
  readonly id: string;
  /** As shown, with drift; null when it was removed. */
  readonly record: JsonRecord | null;
  readonly visibleFromMs: number;
}

/** The records of one feed, of which answers are made. */
export interface FeedStore {
  readonly feed: FeedName;
  /** Number of records shown now. */
  readonly size: number;
  /** Adds many at once, all visible from the start of the simulation. */
  load(records: Iterable<JsonRecord>): void;
  /**
   * Writes a version. A record without the member `updated` gets the server's now; one whose `updated` is no number is
   * shown as it is and ordered by the server's now.
   * @returns its key
   */
  upsert(record: JsonRecord, options?: WriteOptions): string;
  /** @returns false when there is no such record */
  remove(key: string): boolean;
  /** Moves `updated` alone, to the server's now unless given. @returns false when there is no such record */
  touch(key: string, updated?: number): boolean;
  /** Writes decimals with other trailing zeros, and moves `updated`. @returns false when there is no such record */
  rescale(key: string): boolean;
  /** Writes every record again under the present drift without moving `updated`: a silent change. */
  rewrite(): void;
  /** The newest version, also while it is not visible yet; with `id` and `updated` in seconds even where not shown. */
  get(key: string): JsonRecord | undefined;
  /** Keys of all records shown now, in order of `updated`. */
  keys(): string[];
  /** What is shown now, after writes whose delay is over. */
  view(): View;
  /** What was shown so many writes ago; never less than what was loaded. */
  viewBehind(writes: number): View;
  /** Records shown now that have a usable `id` and `updated`, by id. */
  truth(): Map<string, JsonRecord>;
  /** Records shown now that lack one of them. */
  unusable(): JsonRecord[];
  /** Every version written, oldest first, from the given position on. */
  history(from?: number): HistoryEntry[];
}

export interface StoreDeps {
  readonly feed: FeedName;
  readonly seed: number;
  readonly random: Random;
  /** Milliseconds, without skew. */
  readonly clock: () => number;
  readonly behaviour: () => Behaviour;
  /** False: a long demo does not collect what it has been. */
  readonly keepHistory: boolean;
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

export function createStore(deps: StoreDeps): FeedStore {
  const { feed, clock, random, seed } = deps;
  const endpoint = endpoints[feed];
  const write = createSlabs();
  /** Shown versions in order of `updated`, and by key. */
  const shown: Version[] = [];
  const shownByKey = new Map<string, Version>();
  /** Written, but not visible yet. */
  let pending: Version[] = [];
  let earliestPending = Number.POSITIVE_INFINITY;
  const written: Version[] = [];
  let loaded = 0;
  let order = 0;
  let view: View | null = null;

  const serverSeconds = (): number => Math.floor(clock() / 1000 + deps.behaviour().clockSkew);
  const parse = (version: Version): JsonRecord => {
    const { slab, start, end } = version.bytes!;
    return JSON.parse(slab.toString('utf8', start, end)) as JsonRecord;
  };

  function newest(key: string): Version | undefined {
    const waiting = pending.findLast((version) => version.key === key);
    const version = waiting ?? shownByKey.get(key);
    return version?.bytes ? version : undefined;
  }

  function insertedOf(key: string): number {
    return (shownByKey.get(key) ?? pending.find((version) => version.key === key))?.inserted ?? order;
  }

  function createVersion(record: JsonRecord, options: WriteOptions, visibleFromMs: number): Version {
    const key = options.key ?? (typeof record.id === 'string' && record.id !== '' ? record.id : `#${order}`);
    const own = typeof record.updated === 'number' ? record.updated : undefined;
    const updated =
      options.updated ?? (own !== undefined && own > 1e11 ? Math.floor(own / 1000) : own) ?? serverSeconds();
    const image = {
      ...copied(record),
      updated: options.updated ?? ('updated' in record ? record.updated : updated),
    };
    const json = JSON.stringify(applyDrift(feed, key, image, drift(), seed, random));
    const symbol = endpoint.symbol(record);
    return {
      key,
      updated,
      order: order++,
      inserted: insertedOf(key),
      atMs: clock(),
      visibleFromMs,
      bytes: write(json),
      date: typeof record.date === 'string' ? record.date : '',
      symbol: typeof symbol === 'string' ? symbol : '',
    };
  }

  const drift = (): Drift => deps.behaviour().drift;

  function show(version: Version): void {
    const former = shownByKey.get(version.key);
    // A later write may have become visible earlier, when the delay was shortened meanwhile.
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
    if (deps.keepHistory) written.push(version);
    if (version.visibleFromMs <= clock()) {
      show(version);
    } else {
      pending.push(version);
      earliestPending = Math.min(earliestPending, version.visibleFromMs);
    }
  }

  function settle(): void {
    const now = clock();
    if (earliestPending > now) return;
    const due = pending.filter((version) => version.visibleFromMs <= now);
    pending = pending.filter((version) => version.visibleFromMs > now);
    earliestPending = pending.reduce(
      (least, version) => Math.min(least, version.visibleFromMs),
      Number.POSITIVE_INFINITY,
    );
    for (const version of due) show(version);
  }

  function visibleFrom(): number {
    const { visibilityDelay, visibilityDelayShare } = deps.behaviour();
    const delayed =
      visibilityDelay > 0 && (visibilityDelayShare === 1 || random.chance(visibilityDelayShare));
    return clock() + (delayed ? visibilityDelay * 1000 : 0);
  }

  function usable(record: JsonRecord): boolean {
    return typeof record.id === 'string' && record.id !== '' && typeof record.updated === 'number';
  }

  function read(version: Version): JsonRecord {
    const record = parse(version);
    const known: JsonRecord = version.key.startsWith('#') ? {} : { id: version.key };
    return { ...record, ...known, updated: version.updated };
  }

  const store: FeedStore = {
    feed,
    get size() {
      settle();
      return shown.length;
    },
    load(records) {
      const now = clock();
      for (const record of records) {
        const version = createVersion(record, {}, now);
        if (shownByKey.has(version.key)) throw new Error(`${feed} ${version.key} was loaded twice`);
        shownByKey.set(version.key, version);
        shown.push(version);
        if (deps.keepHistory) written.push(version);
      }
      shown.sort(compareByUpdated);
      view = null;
      loaded = written.length;
    },
    upsert(record, options = {}) {
      settle();
      const version = createVersion(record, options, visibleFrom());
      add(version);
      return version.key;
    },
    remove(key) {
      settle();
      const version = newest(key);
      if (version === undefined) return false;
      pending = pending.filter((waiting) => waiting.key !== key);
      const now = clock();
      add({ ...version, order: order++, atMs: now, visibleFromMs: now, bytes: null });
      return true;
    },
    touch(key, updated = serverSeconds()) {
      const version = newest(key);
      if (version === undefined) return false;
      store.upsert(read(version), { key, updated });
      return true;
    },
    rescale(key) {
      const version = newest(key);
      if (version === undefined) return false;
      const record = read(version);
      rescale(record, random);
      store.upsert(record, { key, updated: serverSeconds() });
      return true;
    },
    rewrite() {
      settle();
      const now = clock();
      for (const version of [...shown]) add(createVersion(read(version), { key: version.key }, now));
    },
    get(key) {
      settle();
      const version = newest(key);
      return version && read(version);
    },
    keys() {
      settle();
      return shown.map((version) => version.key);
    },
    view() {
      settle();
      view ??= createView(shown);
      return view;
    },
    viewBehind(writes) {
      if (!deps.keepHistory) return store.view();
      const then = new Map<string, Version>();
      const now = clock();
      for (const version of written.slice(0, Math.max(loaded, written.length - writes))) {
        if (version.visibleFromMs > now) continue;
        if (version.bytes === null) then.delete(version.key);
        else then.set(version.key, version);
      }
      return createView([...then.values()].sort(compareByUpdated));
    },
    truth() {
      settle();
      const records = new Map<string, JsonRecord>();
      for (const version of shown) {
        const record = parse(version);
        if (usable(record)) records.set(record.id as string, record);
      }
      return records;
    },
    unusable() {
      settle();
      return shown.map(parse).filter((record) => !usable(record));
    },
    history(from = 0) {
      return written.slice(from).map((version) => ({
        atMs: version.atMs,
        id: version.key,
        record: version.bytes === null ? null : parse(version),
        visibleFromMs: version.visibleFromMs,
      }));
    },
  };
  return store;
}
