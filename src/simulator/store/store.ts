import { DEEP_MEMBER, rescale } from '../drift';
import type { FeedName, JsonRecord } from '../endpoints';
import { createVersionWriter, knownRecord, parseVersion, type VersionDeps } from './versions';
import { compareByUpdated, createView, lowerBound, type Version, type View } from './view';

interface WriteOptions {
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
   * Writes a version. A record without the member `updated` gets the server's now; a record whose `updated` is not a
   * number is shown as it is and ordered by the server's now.
   * @returns its key
   */
  upsert(record: JsonRecord, options?: WriteOptions): string;
  /** @returns false when there is no such record */
  remove(key: string): boolean;
  /** Moves only `updated`, to the server's now unless given. @returns false when there is no such record */
  touch(key: string, updated?: number): boolean;
  /** Writes decimals with other trailing zeros, and moves `updated`. @returns false when there is no such record */
  rescale(key: string): boolean;
  /** Writes every record again under the present drift without moving `updated`: a silent change. */
  rewrite(): void;
  /** The newest version, also while it is not visible yet; with `id` and `updated` in seconds even where not shown. */
  get(key: string): JsonRecord | undefined;
  /** Keys of all records shown now, in order of `updated`. */
  keys(): string[];
  /** The present view, after writes whose delay is over. */
  view(): View;
  /** The records as shown this many writes ago, at least the loaded ones. */
  viewBehind(writes: number): View;
  /** Records shown now that have a usable `id` and `updated`, and are not too deep, by id. */
  truth(): Map<string, JsonRecord>;
  /** All other records shown now. */
  unusable(): JsonRecord[];
  /** Every version written, oldest first, from the given position on. */
  history(from?: number): HistoryEntry[];
}

export interface StoreDeps extends VersionDeps {
  /** False: a long demo does not collect its history. */
  readonly keepHistory: boolean;
}

export function createStore(deps: StoreDeps): FeedStore {
  const { feed, clock, random } = deps;
  const writer = createVersionWriter(deps);
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

  function create(record: JsonRecord, options: WriteOptions, visibleFromMs: number): Version {
    return writer.create({ ...options, record, visibleFromMs, insertedOf: (key) => newest(key)?.inserted });
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
    if (deps.keepHistory) written.push(version);
    if (version.visibleFromMs <= clock()) show(version);
    else waiting.add(version);
  }

  function settle(): void {
    for (const version of waiting.takeDue(clock())) show(version);
  }

  function visibleFrom(): number {
    const { visibilityDelay, visibilityDelayShare } = deps.behaviour();
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

  const store: FeedStore = {
    feed,
    get size() {
      settle();
      return shown.length;
    },
    load(records) {
      const now = clock();
      for (const record of records) {
        const version = create(record, {}, now);
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
      const version = create(record, options, visibleFrom());
      add(version);
      return version.key;
    },
    remove(key) {
      settle();
      const version = newest(key);
      if (version === undefined) return false;
      waiting.drop(key);
      add(writer.remove(version));
      return true;
    },
    touch(key, updated) {
      const version = newest(key);
      if (version === undefined) return false;
      write(knownRecord(version), key, updated);
      return true;
    },
    rescale(key) {
      const version = newest(key);
      if (version === undefined) return false;
      const record = knownRecord(version);
      rescale(record, random);
      write(record, key, undefined);
      return true;
    },
    rewrite() {
      settle();
      const now = clock();
      for (const version of [...shown]) add(create(knownRecord(version), { key: version.key }, now));
    },
    get(key) {
      settle();
      const version = newest(key);
      return version && knownRecord(version);
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
        const record = parseVersion(version);
        if (usable(record)) records.set(record.id as string, record);
      }
      return records;
    },
    unusable() {
      settle();
      return shown.map(parseVersion).filter((record) => !usable(record));
    },
    history(from = 0) {
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
interface WaitingVersions {
  add(version: Version): void;
  /** Removes and returns versions that are visible by now, in the order of writing. */
  takeDue(nowMs: number): Version[];
  newest(key: string): Version | undefined;
  drop(key: string): void;
}

function createWaitingVersions(): WaitingVersions {
  let waiting: Version[] = [];
  // Asked at every request: without it each would pass over the whole list.
  let earliest = Number.POSITIVE_INFINITY;
  return {
    add(version) {
      waiting.push(version);
      earliest = Math.min(earliest, version.visibleFromMs);
    },
    takeDue(nowMs) {
      if (earliest > nowMs) return [];
      const due = waiting.filter((version) => version.visibleFromMs <= nowMs);
      waiting = waiting.filter((version) => version.visibleFromMs > nowMs);
      earliest = waiting.reduce(
        (least, version) => Math.min(least, version.visibleFromMs),
        Number.POSITIVE_INFINITY,
      );
      return due;
    },
    newest: (key) => waiting.findLast((version) => version.key === key),
    drop(key) {
      waiting = waiting.filter((version) => version.key !== key);
    },
  };
}
