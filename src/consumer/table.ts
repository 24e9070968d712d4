import { joinSignals } from '../async/wait';
import type { FeedTopics, LogRecord } from '../log/commit-log';
import type { ConsumerLog } from '../log/consumer-log';
import type { Decoder } from './decoder';
import type { LogEvent } from './event';
import { toEvent } from './events';
import { changePlace, incarnationOf, startTable, type TableStart } from './table-start';

/** A record of a feed with what made it so. */
export type TableChange<Row = Readonly<Record<string, unknown>>> =
  | {
      readonly kind: 'created';
      readonly id: string;
      readonly before: null;
      readonly after: Row;
      readonly event: LogEvent;
    }
  | {
      readonly kind: 'updated';
      readonly id: string;
      readonly before: Row;
      readonly after: Row;
      readonly event: LogEvent;
    }
  | {
      readonly kind: 'deleted';
      readonly id: string;
      readonly before: Row;
      readonly after: null;
      readonly event: LogEvent;
    }
  /** The feed was begun anew: everything that the table held is gone; what comes next is its new life. */
  | {
      readonly kind: 'reset';
      readonly id: null;
      readonly before: null;
      readonly after: null;
      readonly event: LogEvent;
    };

/** A feed as it stands, kept up to date. Reading it is free: it lies in memory. */
export interface Table<Row = Readonly<Record<string, unknown>>> extends Iterable<readonly [string, Row]> {
  readonly size: number;
  get(id: string): Row | undefined;
  has(id: string): boolean;
  keys(): IterableIterator<string>;
  values(): IterableIterator<Row>;
  entries(): IterableIterator<[string, Row]>;
  /** Resolves when the table is closed; rejects when it cannot be kept up to date any more. A failure that nobody waits for ends the process. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

export interface TableOptions<Row = Readonly<Record<string, unknown>>> {
  /** After the table has been loaded, for each change, once the table shows it. The next one waits until it returns. */
  readonly onChange?: (change: TableChange<Row>) => unknown;
  /** Closes the table. */
  readonly signal?: AbortSignal;
}

export interface TableDeps {
  readonly log: ConsumerLog;
  readonly decoder: Decoder;
  readonly topics: Pick<FeedTopics, 'changes' | 'current' | 'sourceOffset'>;
  /** Aborted when the log is closed. */
  readonly closing: AbortSignal;
  /** Is waited for when the log is closed. */
  track(following: Promise<void>): void;
}

interface Envelope {
  readonly op: string;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/**
 * Loads a feed's current images and goes on with its changes, so that none is missed and none counts twice: the place to go
 * on from is taken before the images are read, and of what then comes again, each image tells by `seq` whether it has it.
 * @throws HighwaterError KAFKA_*, LOG_*, SCHEMA_UNKNOWN; the signal's reason
 */
export async function openTable(
  { onChange, signal }: TableOptions,
  { log, decoder, topics, closing, track }: TableDeps,
): Promise<Table> {
  const ownEnd = new AbortController();
  const over = joinSignals([ownEnd.signal, closing, ...(signal === undefined ? [] : [signal])]);
  const rows = new Map<string, Readonly<Record<string, unknown>>>();
  /** Of rows, and of those whose deletion the images showed. Needed until the changes have passed what the images had. */
  const seqs = new Map<string, number>();
  const start = await loaded().catch((error: unknown) => {
    over.leave();
    throw error;
  });
  let incarnation = start.incarnation;
  /** Lives of the feed that are over. A partition that lags may still show something of them. */
  const retired = new Set<string>();

  const following = follow(start).finally(over.leave);
  track(following);

  async function loaded(): Promise<TableStart> {
    const found = await startTable(log, topics, over.signal);
    for (const [id, { record, seq }] of found.images) {
      seqs.set(id, seq);
      if (record.value !== null)
        rows.set(id, (await toEvent(record, decoder)).value as Envelope['after'] & {});
    }
    // What was closed meanwhile is not followed.
    over.signal.throwIfAborted();
    return found;
  }

  async function follow(place: TableStart): Promise<void> {
    try {
      await followFrom(place);
    } catch (error) {
      if (!over.signal.aborted) throw error;
    }
  }

  async function followFrom({ from, ends }: TableStart): Promise<void> {
    for await (const record of log.follow(topics.changes.name, from, over.signal)) {
      const place = changePlace(record);
      if (place === null) continue;
      if (place.incarnation !== incarnation) {
        // What lies before the end that was asked after the images is of their life, or of an older one. A feed that had none by
        // then may have been in the middle of its first transaction.
        const isOlder = incarnation !== null && record.logOffset < (ends.get(record.partition) ?? 0);
        if (isOlder || retired.has(place.incarnation)) continue;
        if (!(await isLatest(place.incarnation))) {
          retired.add(place.incarnation);
          continue;
        }
        await begin(place.incarnation, record);
      }
      if (place.seq <= (seqs.get(record.key) ?? 0)) continue;
      seqs.set(record.key, place.seq);
      await apply(record);
    }
  }

  /**
   * A life that this table never saw may lie between two that it did, in a partition that lags. The source offset was committed with
   * the change, so that what it says now is this life or a later one.
   */
  async function isLatest(life: string): Promise<boolean> {
    return life === (await incarnationOf(log, topics.sourceOffset.name, over.signal));
  }

  async function begin(next: string, record: LogRecord): Promise<void> {
    const isFirst = incarnation === null;
    if (incarnation !== null) retired.add(incarnation);
    incarnation = next;
    rows.clear();
    seqs.clear();
    if (isFirst) return;
    const event = await toEvent(record, decoder);
    await onChange?.({ kind: 'reset', id: null, before: null, after: null, event });
  }

  async function apply(record: LogRecord): Promise<void> {
    const event = await toEvent(record, decoder);
    const { after } = event.value as Envelope;
    const id = record.key;
    const before = rows.get(id) ?? null;
    if (after === null) {
      rows.delete(id);
      if (before !== null) await onChange?.({ kind: 'deleted', id, before, after, event });
      return;
    }
    rows.set(id, after);
    if (before === null) await onChange?.({ kind: 'created', id, before, after, event });
    else await onChange?.({ kind: 'updated', id, before, after, event });
  }

  return {
    get size() {
      return rows.size;
    },
    get: (id) => rows.get(id),
    has: (id) => rows.has(id),
    keys: () => rows.keys(),
    values: () => rows.values(),
    entries: () => rows.entries(),
    [Symbol.iterator]: () => rows.entries(),
    // One of its own: whoever waits for the log to close must not pass for somebody who listens to what goes wrong here.
    closed: following.then(() => undefined),
    async close() {
      ownEnd.abort();
      await following;
    },
  };
}
