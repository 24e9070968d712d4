import { readSchemaId } from '../avro/codec/wire';
import { wireType } from '../avro/codec/wire-type';
import type { SchemaRegistry } from '../avro/registry/registry';
import { type CommitLog, type LogRecord, type ProducerRecord, positionHeaders } from '../log/commit-log';
import { latestRecords } from '../log/latest-records';
import { feedTopics } from '../log/topics';
import { firstSourceOffset, newIncarnation, type SourceOffset } from '../state/source-offset';

export interface BegunFeed {
  readonly feed: string;
  readonly incarnation: string;
  /** Images that were removed. */
  readonly records: number;
}

/** Tombstones of one transaction. */
const BATCH = 5_000;
const SOURCE_OFFSET = '.source-offset';

/**
 * Resets every feed of a log, as `resetState` does, but without the feeds' definitions, because feeds that are not published now
 * may be published again later. A feed that began without a snapshot goes on from its mark.
 */
export async function beginAllAnew(
  log: CommitLog,
  registry: SchemaRegistry,
  signal: AbortSignal,
): Promise<readonly BegunFeed[]> {
  const sourceOffsets = ((await log.topicNames()) ?? []).filter((topic) => topic.endsWith(SOURCE_OFFSET));
  // Read before the first commit, because a reader of a compacted topic also gets records that are committed while it reads.
  const stored = (await latestRecords(log, sourceOffsets, signal))!;
  const begun: BegunFeed[] = [];
  for (const topic of sourceOffsets) {
    const record = [...stored.get(topic)!.values()].find(({ key }) =>
      topic.endsWith(`${key}${SOURCE_OFFSET}`),
    );
    if (record !== undefined) begun.push(await beginAnew(log, registry, record, signal));
  }
  return begun;
}

async function beginAnew(
  log: CommitLog,
  registry: SchemaRegistry,
  { topic, key: feed, value }: LogRecord,
  signal: AbortSignal,
): Promise<BegunFeed> {
  const prefix = topic.slice(0, -`${feed}${SOURCE_OFFSET}`.length);
  const topics = feedTopics({ name: feed, topic: feed, transitions: [] }, prefix);
  const id = readSchemaId(value!);
  const type = wireType<SourceOffset>(await registry.schemaById(id), id);
  // The changes are not written, and their topic may have any name.
  const session = await log.acquire({ ...topics, changes: topics.current }, signal);
  try {
    const incarnation = newIncarnation();
    const position = { incarnation, ownerEpoch: session.ownerEpoch, commit: 1 };
    const commit = (records: readonly ProducerRecord[]) => session.commit({ feed, records, position });
    const timestamp = Date.now();
    const images = topics.current.name;
    const tombstones: ProducerRecord[] = [];
    for await (const { key } of session.restore(images, signal))
      tombstones.push({ topic: images, key, value: null, headers: { incarnation }, timestamp });
    for (let from = 0; from < tombstones.length; from += BATCH)
      await commit(tombstones.slice(from, from + BATCH));
    const offset = begunAnew(type.decode(value!), incarnation, session.ownerEpoch, timestamp);
    const headers = { ...positionHeaders(position), seq: '0' };
    await commit([{ topic, key: feed, value: type.encode(offset), headers, timestamp }]);
    return { feed, incarnation, records: tombstones.length };
  } finally {
    await session.release();
  }
}

function begunAnew(
  stored: SourceOffset,
  incarnation: string,
  ownerEpoch: string,
  nowMs: number,
): SourceOffset {
  const { feed, scope, asked_by, topic, scope_since_ms, paused, poll_interval_ms } = stored;
  const partition_counts = stored.partition_counts.map(() => 0);
  const kept = { asked_by, topic, scope_since_ms, paused, poll_interval_ms, partition_counts };
  const first = { ...firstSourceOffset(feed, incarnation, scope), ...kept };
  const begun = { ...first, owner: stored.owner, owner_epoch: ownerEpoch, commit: 1, ts_ms: nowMs };
  if (stored.begins_at === 0) return begun;
  const { snapshot, snapshot_completed_ms, begins_at, high_water_mark } = stored;
  return { ...begun, snapshot, snapshot_completed_ms, begins_at, high_water_mark };
}
