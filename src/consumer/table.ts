import { joinSignals } from '../async/wait';
import type { FeedTopics, LogRecord } from '../log/commit-log';
import type { ConsumerLog } from '../log/consumer-log';
import { type LogEvent, toEvent } from './event';
import type { ConsumeDeps } from './handling/consume';
import { warnIfNoTopic } from './missing';

type Row = Readonly<Record<string, unknown>>;

interface ChangeOf<Kind, Id, Before, After> {
  readonly kind: Kind;
  readonly id: Id;
  readonly before: Before;
  readonly after: After;
  readonly event: LogEvent;
}

/** A change of one record of a feed, or `reset`: the feed began again with a new incarnation, and the table is empty. */
export type TableChange<R = Row> =
  | ChangeOf<'created', string, null, R>
  | ChangeOf<'updated', string, R, R>
  | ChangeOf<'deleted', string, R, null>
  | ChangeOf<'reset', null, null, null>;

/** The present records of a feed, by id, in memory and kept up to date. */
export interface Table<R = Row> extends Iterable<readonly [string, R]> {
  readonly size: number;
  get(id: string): R | undefined;
  has(id: string): boolean;
  keys(): IterableIterator<string>;
  values(): IterableIterator<R>;
  entries(): IterableIterator<[string, R]>;
  /**
   * Resolves when the table is closed. Rejects if it can no longer be kept up to date (HighwaterError LOG_POSITION_LOST, KAFKA_*,
   * LOG_*, or the error of `onChange`); an unhandled rejection ends the process.
   */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

export interface TableOptions<R = Row> {
  /** Called for each change after the table was loaded, when the table already shows it. The next change waits for its promise. */
  readonly onChange?: (change: TableChange<R>) => unknown;
  /** Closes the table. */
  readonly signal?: AbortSignal;
}

export interface TableDeps extends Pick<ConsumeDeps, 'log' | 'decoder' | 'logger' | 'closing'> {
  readonly topics: Pick<FeedTopics, 'changes' | 'current' | 'sourceOffset'>;
  /** Is waited for when the log is closed. */
  track(following: Promise<void>): void;
}

/**
 * Loads a feed's current images and continues with its changes, without missing a change or counting it twice. The position of
 * the changes is taken before the images are read. So some changes come again, and the `seq` of each image shows whether it already
 * has them.
 * @throws HighwaterError KAFKA_*, LOG_*, SCHEMA_UNKNOWN; the signal's reason
 */
export async function openTable(
  { onChange, signal }: TableOptions,
  { log, decoder, logger, topics, closing, track }: TableDeps,
): Promise<Table> {
  const ownEnd = new AbortController();
  const over = joinSignals([ownEnd.signal, closing, ...(signal === undefined ? [] : [signal])]);
  /** To which the records belong; null while the feed has none. */
  let incarnation: string | null = null;
  /** Earlier incarnations. A partition that lags may still show some of their changes. */
  const retired = new Set<string>();
  const rows = new Map<string, Row>();
  /** Record id → number of its last change, also for deleted records whose tombstones were read. */
  const seqs = new Map<string, number>();
  const start = await load().catch((error: unknown) => {
    over.leave();
    throw error;
  });
  const following = follow()
    .catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    })
    .finally(over.leave);
  track(following);

  async function load(): Promise<TableStart> {
    const found = await startTable(log, topics, over.signal);
    warnIfNoTopic(topics.changes.name, found, logger);
    incarnation = found.incarnation;
    for (const [id, { record, seq }] of found.images) {
      seqs.set(id, seq);
      if (record.value !== null) rows.set(id, (await toEvent(record, decoder)).value as Row);
    }
    // A table that was closed during the load is not followed.
    over.signal.throwIfAborted();
    return found;
  }

  async function follow(): Promise<void> {
    const { topicId, from, ends } = start;
    for await (const record of log.follow(topics.changes.name, from, over.signal, topicId)) {
      const place = changePlace(record);
      if (place === null) continue;
      if (place.incarnation !== incarnation) {
        // Changes before the end that was read after the images belong to the images' incarnation or to an earlier one. A feed
        // without an incarnation may have been in the middle of its first transaction.
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
   * In a partition that lags, there may be an incarnation that this table never saw, between two that it did. The source offset was
   * committed with the change, so it now names this incarnation or a later one.
   */
  async function isLatest(life: string): Promise<boolean> {
    return life === (await incarnationOf(log, topics.sourceOffset.name, over.signal));
  }

  async function begin(next: string, record: LogRecord): Promise<void> {
    const before = incarnation;
    incarnation = next;
    rows.clear();
    seqs.clear();
    if (before === null) return;
    retired.add(before);
    const event = await toEvent(record, decoder);
    await onChange?.({ kind: 'reset', id: null, before: null, after: null, event });
  }

  async function apply(record: LogRecord): Promise<void> {
    const event = await toEvent(record, decoder);
    const { after } = event.value as { readonly after: Row | null };
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
    // A promise of its own: if the log waits for `following` to end, that must not count as somebody who listens to failures.
    closed: following.then(() => undefined),
    async close() {
      ownEnd.abort();
      await following;
    },
  };
}

/** A feed's images, and from where its changes are to be followed so that nothing lies between. */
type TableStart = Awaited<ReturnType<typeof startTable>>;

/**
 * The order of the questions is what makes it right:
 *
 * 1. Where the committed changes end. All before is committed, so its images were written by then (a transaction's records lie in
 *    their partitions before it is committed), whether or not their partition shows them yet.
 * 2. The images, through all that is written by now, which waits for open transactions: with 1, no change is missed.
 * 3. Which incarnation the feed is in, then where the changes end, then the incarnation again. When it is the same, all before
 *    that end is of this incarnation or an earlier one, and images of another are of an earlier one. Else it begins again.
 */
async function startTable(
  log: ConsumerLog,
  { changes, current, sourceOffset }: Pick<FeedTopics, 'changes' | 'current' | 'sourceOffset'>,
  signal: AbortSignal,
) {
  for (;;) {
    const { topicId, ends: from } = await log.ends(changes.name, 'committed', signal);
    const images = new Map<string, { record: LogRecord; seq: number }>();
    const lives = new Map<string, string>();
    for await (const record of log.load(current.name, signal, true)) {
      // Another program wrote it: an image that came before is still the record's.
      if (record.headers.incarnation === undefined) continue;
      const place = imagePlace(record);
      if (place === null) {
        images.delete(record.key);
        continue;
      }
      images.set(record.key, { record, seq: place.seq });
      lives.set(record.key, place.incarnation);
    }
    const incarnation = await incarnationOf(log, sourceOffset.name, signal);
    const { ends } = await log.ends(changes.name, 'written', signal);
    if (incarnation !== (await incarnationOf(log, sourceOffset.name, signal))) continue;
    for (const [id, life] of lives) if (life !== incarnation) images.delete(id);
    return {
      /** Null while the feed has none. */
      incarnation,
      /** By record id; deleted records too, while the topic still has their tombstones. */
      images,
      /** The topic of the changes that `from` belongs to, as `TopicEnds.topicId`. */
      topicId,
      /** By partition of the changes: offset to go on from. */
      from,
      /** By partition of the changes: no change before this offset is of a later incarnation than `incarnation`. */
      ends,
    };
  }
}

/** The present incarnation of a feed; null if it has none. @throws as load */
async function incarnationOf(log: ConsumerLog, topic: string, signal: AbortSignal): Promise<string | null> {
  let found: string | null = null;
  for await (const { headers } of log.load(topic, signal, true)) found = headers.incarnation ?? found;
  return found;
}

interface ChangePlace {
  readonly incarnation: string;
  readonly seq: number;
}

/** The change that made an image or its tombstone. Null for a reset's tombstones, which no change made. */
function imagePlace({ headers: { incarnation, seq } }: LogRecord): ChangePlace | null {
  return incarnation === undefined || seq === undefined ? null : { incarnation, seq: Number(seq) };
}

/** `ipos:3f2a91c0:802`, but not the longer id of an event that the change caused. */
const EVENT_ID = /^[^:]+:([^:]+):(\d+)$/;

/** The place of a change event, by its id. Null for other events, such as a transition that is routed onto the same topic. */
export function changePlace({ headers }: LogRecord): ChangePlace | null {
  const [, incarnation, seq] = EVENT_ID.exec(headers.ce_id ?? '') ?? [];
  return incarnation === undefined ? null : { incarnation, seq: Number(seq) };
}
