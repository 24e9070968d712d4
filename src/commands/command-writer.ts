import type { CommitLog, SharedTopicSpec } from '../log/commit-log';
import type { CommandCodec, CommandRecord } from './command-record';

export interface CommandWriterDeps {
  readonly log: Pick<CommitLog, 'append'>;
  readonly topic: SharedTopicSpec;
  readonly codec: CommandCodec;
}

/** @throws HighwaterError LOG_*, KAFKA_*, REGISTRY_*, SCHEMA_*; the signal's reason */
export async function writeCommandRecord(
  record: CommandRecord,
  { log, topic, codec }: CommandWriterDeps,
  signal: AbortSignal,
): Promise<void> {
  const { feed: key, ts_ms: timestamp } = record;
  const value = await codec.encode(record);
  await log.append(topic, [{ topic: topic.name, key, value, headers: {}, timestamp }], signal);
}
