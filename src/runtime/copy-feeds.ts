import { readSchemaId, writeWireHeader } from '../avro/codec/wire';
import { wireType } from '../avro/codec/wire-type';
import type { SchemaRegistry } from '../avro/registry/registry';
import { typeName } from '../avro/schemas';
import { HighwaterError } from '../errors';
import {
  type CommitLog,
  type FeedSession,
  type FeedTopics,
  type LogRecord,
  type ProducerRecord,
  positionHeaders,
} from '../log/commit-log';
import { latestRecords } from '../log/latest-records';
import { partitionOf } from '../log/partitioner';
import { recordBytes } from '../log/record-bytes';
import { allTopics } from '../log/topics';
import type { SourceOffset } from '../state/source-offset';

export interface CopySide {
  readonly log: CommitLog;
  readonly registry: SchemaRegistry;
}

export interface CopiedFeed {
  readonly feed: string;
  readonly incarnation: string;
  /** Number of the last change. */
  readonly seq: number;
  /** Records of all of its topics, without the source offset. */
  readonly records: number;
}

export interface CopyOptions {
  /** Name of this process for people. */
  readonly instance: string;
  /** Called after each feed. */
  readonly report: (feed: CopiedFeed) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Most records and bytes of values of one transaction. */
const [BATCH_RECORDS, BATCH_BYTES] = [5_000, 8 * 2 ** 20];

/**
 * Copies feeds onto another log with keys, headers, times and order per key. Schema ids become those of the other registry. A publisher
 * there goes on under the same incarnation, without a snapshot. Nothing may write to `from` meanwhile. A feed without a source offset
 * is left out.
 *
 * @throws HighwaterError COPY_REFUSED if a topic there has a record, before anything is written, or a record is too large there; LOG_OWNED
 * if a publisher has a feed there; SCHEMA_*, REGISTRY_*, LOG_*, KAFKA_*. The signal's reason
 */
export async function copyFeeds(
  feeds: readonly FeedTopics[],
  from: CopySide,
  to: CopySide,
  { instance, report, signal }: CopyOptions,
): Promise<void> {
  const names = feeds.map(({ sourceOffset }) => sourceOffset.name);
  const latest = (await latestRecords(from.log, names, signal))!;
  const sources = new Map<FeedTopics, LogRecord>();
  for (const topics of feeds) {
    const record = latest.get(topics.sourceOffset.name)!.get(topics.feed);
    if (record !== undefined) sources.set(topics, record);
  }
  signal.throwIfAborted();
  for (const topics of sources.keys()) await assertEmpty(topics, to.log, signal);
  const membership = to.log.join([...sources.keys()], { instance, isGuest: true });
  try {
    for (const [topics, source] of sources) {
      const grant = await membership.grant(topics.feed, signal);
      const session = await to.log.acquire(topics, signal, grant);
      try {
        // A publisher that wrote there since is fenced now.
        await assertEmpty(topics, to.log, signal);
        await report(await copyFeed(topics, source, from, to, session, signal));
      } finally {
        await session.release();
      }
    }
  } finally {
    await membership.leave();
  }
}

/** What the source offsets say before the last one. */
const unfinished = {
  partition_counts: [],
  parked: 'STATE_DAMAGED',
  last_error: 'STATE_DAMAGED: `highwater copy` has not come to its end.',
  last_complete_scan_ms: null,
};

/** End of the full name of a change event's type. */
const ENVELOPE = '.Envelope';

const WHOLE = { fromBeginning: true, follow: false } as const;

async function assertEmpty(topics: FeedTopics, log: CommitLog, signal: AbortSignal): Promise<void> {
  const names = allTopics(topics).map(({ name }) => name);
  for await (const { topic } of log.read(names, { ...WHOLE, signal })) {
    throw new HighwaterError('COPY_REFUSED', `topic ${topic} of feed ${topics.feed} has records already`, {
      remedy: `If an earlier copy was cut short, delete the topics ${names.join(', ')} and run it again. To copy other feeds only, name them (--feeds).`,
    });
  }
  signal.throwIfAborted();
}

async function copyFeed(
  topics: FeedTopics,
  source: LogRecord,
  from: CopySide,
  to: CopySide,
  session: FeedSession,
  signal: AbortSignal,
): Promise<CopiedFeed> {
  const { feed, current, sourceOffset, changes, transitions } = topics;
  const isShared = transitions.some(({ name }) => name === changes.name);
  const ids = new Map<string, number>();

  /** The value with the id that its schema has in the other registry. */
  async function translated(topic: string, value: Buffer): Promise<Buffer> {
    const id = readSchemaId(value);
    const known = `${id} ${topic}`;
    if (!ids.has(known)) {
      const schema = await from.registry.schemaById(id);
      const type = typeName(schema);
      // Its transitions may have shared the topic of the changes then and not now; the publisher needs the plain subject for the changes.
      const isOfMany = topic === changes.name && (isShared || !type.endsWith(ENVELOPE));
      ids.set(known, await to.registry.register(`${topic}-${isOfMany ? type : 'value'}`, schema));
    }
    writeWireHeader(value, 0, ids.get(known)!);
    return value;
  }

  const counts = new Array<number>(session.partitionsOf(current.name)).fill(0);
  const id = readSchemaId(source.value!);
  const type = wireType<SourceOffset>(await from.registry.schemaById(id), id);
  const stored = type.decode(source.value!);
  const { incarnation } = stored;
  let { commit } = stored;

  /**
   * Each transaction ends with a source offset, by which the log tells whether it was committed. No publisher goes on from one without
   * counts, and `status` shows it as parked.
   */
  async function write(records: readonly ProducerRecord[], seq: string, end?: LogRecord): Promise<void> {
    commit += 1;
    const position = { incarnation, ownerEpoch: session.ownerEpoch, commit };
    const own = {
      commit,
      owner_epoch: session.ownerEpoch,
      ...(end === undefined ? unfinished : { partition_counts: counts }),
    };
    const value = await translated(sourceOffset.name, type.encode({ ...stored, ...own }));
    const { timestamp } = (end ?? records.at(-1))!;
    const headers = { ...positionHeaders(position), seq };
    const last = { topic: sourceOffset.name, key: feed, value, headers, timestamp };
    await session.commit({ feed, records: [...records, last], position });
  }

  const names = allTopics(topics).map(({ name }) => name);
  const others = names.filter((name) => name !== sourceOffset.name);
  let [batch, bytes, records, seq]: [ProducerRecord[], number, number, string] = [[], 0, 0, '0'];
  // All topics in one, so that the records come in the order of their commits.
  for await (const record of from.log.read(others, { ...WHOLE, signal })) {
    const { topic, key, value, headers, timestamp } = record;
    if (recordBytes(record) > session.maxRecordBytes())
      throw tooLarge(record, session.maxRecordBytes(), names);
    if (topic === current.name && value !== null) counts[partitionOf(key, counts.length)]! += 1;
    batch.push({ topic, key, value: value && (await translated(topic, value)), headers, timestamp });
    // The id of an event is `feed:incarnation:seq`.
    seq = headers.seq ?? headers.ce_id?.split(':')[2] ?? seq;
    bytes += value?.length ?? 0;
    records += 1;
    if (batch.length < BATCH_RECORDS && bytes < BATCH_BYTES) continue;
    await write(batch, seq);
    [batch, bytes] = [[], 0];
  }
  // The log ends an interrupted iteration without an error.
  signal.throwIfAborted();
  await write(batch, String(stored.seq), source);
  return { feed, incarnation, seq: stored.seq, records };
}

function tooLarge(record: LogRecord, most: number, topics: readonly string[]): HighwaterError {
  const { topic, key } = record;
  const what = `record ${key} of topic ${topic} has ${recordBytes(record)} bytes, and the topic takes ${most}`;
  return new HighwaterError('COPY_REFUSED', what, {
    now: 'The copy ends. A publisher does not go on from a part of a feed (STATE_DAMAGED).',
    remedy: `Create the topics ${topics.join(', ')} anew with a larger max.message.bytes, and run it again.`,
  });
}
