import { createRandom, type Random } from '../../../src/simulator/random';
import type { ApiVersion } from '../judge/history';
import type { ApiTruth } from '../judge/judge';
import type { Hostility } from './hostility';

export type Row = Readonly<Record<string, unknown>>;

/** How a vendor writes its rows. */
export interface RowShape {
  /** Coarseness of its time stamps, ms. */
  readonly precisionMs: number;
  /** One or more fields with values; together the fields of a new row are its whole content. */
  content(random: Random): Row;
  /** @param number counts the rows from 1, in the order of their making */
  row(number: number, stampMs: number, content: Row): Row;
  keyOf(row: Row): string;
}

export interface StoredRow {
  readonly key: string;
  readonly number: number;
  readonly stampMs: number;
  readonly content: Row;
  /** As it is shown. */
  readonly row: Row;
}

/** The rows of an API, and everything that it ever showed of them. */
export interface ApiStore {
  /** The present rows, in the order of their creation. */
  shown(): readonly StoredRow[];
  create(): StoredRow;
  update(key: string): void;
  changeSilently(key: string): void;
  remove(key: string): void;
  /** One drawn write. @returns its kind */
  write(): 'create' | 'update' | 'silent' | 'remove';
  truth(): ApiTruth;
}

/** @param rows made at once, with time stamps in the past: two on each second */
export function apiStore(
  shape: RowShape,
  { seed, rows }: { readonly seed: number; readonly rows: number },
  hostility: () => Hostility,
): ApiStore {
  const random = createRandom(seed);
  const shown = new Map<string, StoredRow>();
  const history: ApiVersion[] = [];
  let waiting: { readonly stored: StoredRow; readonly isNew: boolean; readonly fromMs: number }[] = [];
  let made = 0;

  function note(id: string, record: Row | null, shownFromMs: number): void {
    history.push({ id, record, shownFromMs, serverSecond: Math.floor(shownFromMs / 1000) });
  }

  function show(stored: StoredRow, fromMs: number): void {
    shown.set(stored.key, stored);
    note(stored.key, stored.row, fromMs);
  }

  function settle(): void {
    const nowMs = Date.now();
    const due = waiting.filter(({ fromMs }) => fromMs <= nowMs);
    waiting = waiting.filter(({ fromMs }) => fromMs > nowMs);
    // An update does not bring back a removed row.
    for (const { stored, isNew, fromMs } of due) if (isNew || shown.has(stored.key)) show(stored, fromMs);
  }

  function put(number: number, stampMs: number, content: Row, isNew: boolean, lateMs: number): StoredRow {
    const row = shape.row(number, stampMs, content);
    const stored = { key: shape.keyOf(row), number, stampMs, content, row };
    const nowMs = Date.now();
    if (lateMs === 0) show(stored, nowMs);
    else waiting.push({ stored, isNew, fromMs: nowMs + lateMs });
    return stored;
  }

  const stampNow = (nowMs = Date.now()): number => nowMs - (nowMs % shape.precisionMs);
  /** With what waits to be shown. */
  const newest = (key: string): StoredRow =>
    waiting.findLast(({ stored }) => stored.key === key)?.stored ?? shown.get(key)!;
  const edited = ({ content }: StoredRow): Row => {
    const [name, value] = random.pick(Object.entries(shape.content(random)));
    return { ...content, [name]: value };
  };

  const store: ApiStore = {
    shown() {
      settle();
      return [...shown.values()].sort((a, b) => a.number - b.number);
    },
    create: () => put(++made, stampNow(), shape.content(random), true, hostility().lateMs),
    update(key) {
      const old = newest(key);
      put(old.number, stampNow(), edited(old), false, hostility().lateMs);
    },
    changeSilently(key) {
      const old = newest(key);
      put(old.number, old.stampMs, edited(old), false, hostility().lateMs);
    },
    remove(key) {
      shown.delete(key);
      waiting = waiting.filter(({ stored }) => stored.key !== key);
      note(key, null, Date.now());
    },
    write() {
      const { removals, silentChanges } = hostility();
      const drawn = random.next();
      const keys = [...shown.keys()];
      const key = random.pick(keys);
      if (drawn < removals && keys.length > 10) {
        store.remove(key);
        return 'remove';
      }
      if (drawn < removals + silentChanges && keys.length > 0) {
        store.changeSilently(key);
        return 'silent';
      }
      if (random.chance(0.3) || keys.length === 0) {
        store.create();
        return 'create';
      }
      store.update(key);
      return 'update';
    },
    truth() {
      settle();
      const records = new Map([...shown].map(([key, { row }]) => [key, row]));
      return { history: [...history], records, unusable: [] };
    },
  };

  const firstMs = stampNow() - 60_000 - rows * 500;
  for (let i = 0; i < rows; i++) {
    const stampMs = firstMs + Math.floor(i / 2) * 1000;
    put(++made, stampMs - (stampMs % shape.precisionMs), shape.content(random), true, 0);
  }
  return store;
}
