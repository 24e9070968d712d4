import { existsSync } from 'node:fs';
import path from 'node:path';
import type { SchemaRegistry } from '../../../avro/registry/registry';
import type { Logger } from '../../../logging/logger';
import type { LogRecord } from '../../commit-log';
import type { ConsumerLog, EndsAt, GroupMember } from '../../consumer-log';
import type { ReaderConnection } from '../file/reader-connection';
import { openLocalLog } from '../local-log';
import { logFile, openLocalReader } from '../local-reader';
import { assertKept } from '../position';
import { read } from '../read';
import { joinLocalGroup } from './consumer-group';
import { localGroups } from './groups';

export interface LocalConsumerLogOptions {
  /** Folder of `highwater.db`. It need not be there yet. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly busyTimeoutMs?: number;
}

/** The embedded log for its consumers. Only `append` writes to the publisher's file. */
export function openLocalConsumerLog(options: LocalConsumerLogOptions): {
  readonly consumerLog: ConsumerLog;
  readonly registry: SchemaRegistry;
} {
  const { dataDir, logger, busyTimeoutMs } = options;
  const file = logFile(dataDir);
  const { commitLog, registry } = openLocalLog(options);
  const { reading, assertOpen, close } = openLocalReader(dataDir, busyTimeoutMs);
  const members = new Set<GroupMember>();
  const folder = path.resolve(dataDir, 'consumers');

  const consumerLog: ConsumerLog = {
    missing: () => (existsSync(file) ? null : file),
    async ends(topic, at, signal) {
      signal.throwIfAborted();
      assertOpen();
      const reader = reading.reader();
      const { partitions } = reader?.topic(topic) ?? { partitions: 0 };
      const ends = Array.from(
        { length: partitions },
        (_, i) => [i, offsetAt(reader!, topic, i, at)] as const,
      );
      return { topicId: null, ends: new Map(ends) };
    },
    async *load(topic, signal): AsyncGenerator<LogRecord> {
      signal.throwIfAborted();
      assertOpen();
      yield* read([topic], { fromBeginning: true, follow: false, signal }, reading);
      signal.throwIfAborted();
      assertOpen();
    },
    follow(topic, from, signal) {
      assertOpen();
      return read(
        [topic],
        { fromBeginning: true, follow: true, signal },
        reading,
        (_name, partition, end) => {
          const next = from.get(partition);
          if (next === null) return end;
          // The beginning may have moved since.
          if (next === undefined) return 0;
          assertKept(reading.reader()!, { topic, partition, next, end });
          return next;
        },
      );
    },
    ...localGroups(folder, assertOpen),
    joinGroup(group) {
      assertOpen();
      const member = joinLocalGroup(group, { reading, logger, folder });
      members.add(member);
      member.over.catch(() => undefined).then(() => members.delete(member));
      return member;
    },
    append: (topic, records, signal) => commitLog.append(topic, records, signal),
    async close() {
      await Promise.all([...members].map((member) => member.leave()));
      await close();
      await commitLog.close();
    },
  };
  return { consumerLog, registry };
}

function offsetAt(reader: ReaderConnection, topic: string, partition: number, at: EndsAt): number {
  if (at === 'beginning') return reader.firstOffset(topic, partition);
  // Before the other question: a record that is written between them is not passed over.
  const end = reader.endOffset(topic, partition);
  return typeof at === 'object' ? (reader.offsetSince(topic, partition, at.sinceMs) ?? end) : end;
}
