import { existsSync } from 'node:fs';
import path from 'node:path';
import type { SchemaRegistry } from '../../../avro/registry/registry';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { LogRecord } from '../../commit-log';
import type { ConsumerLog, EndsAt, GroupMember } from '../../consumer-log';
import { isCompacted } from '../../topics';
import { groupPositions } from '../backup';
import { lockFolder, makeDataFolder } from '../file/folder-lock';
import { logFile, type ReaderConnection } from '../file/reader-connection';
import { attempt, closedAfter } from '../file/sqlite';
import { type LocalLogOptions, openLocalLog } from '../local-log';
import { openLocalReader } from '../local-reader';
import { assertKept, read } from '../read';
import { joinLocalGroup } from './consumer-group';
import { groupFile, openGroupOffsets } from './group-offsets';

/** The embedded log for its consumers. Only `append` writes to the publisher's file. The folder need not be there yet. */
export function openLocalConsumerLog(
  options: Pick<LocalLogOptions, 'dataDir' | 'busyTimeoutMs'> & { readonly logger: Logger },
): {
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
      const ofEach = <T>(ask: (partition: number) => T) =>
        new Map(Array.from({ length: partitions }, (_, i) => [i, ask(i)] as const));
      return {
        topicId: null,
        ends: ofEach((i) => offsetAt(reader!, topic, i, at)),
        gaps: ofEach((i) => reader!.gaps(topic, i)),
      };
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
    async groups(prefix) {
      assertOpen();
      const stored = attempt(folder, () => groupPositions(folder, prefix));
      return [...new Set(stored.map(([group]) => group))].map((groupId) => {
        const own = stored.filter(([group]) => group === groupId);
        const places = own.map(([, topic, partition, next, note]) => ({ topic, partition, next, note }));
        // Trying the lock would hold it for a moment, and a member that starts then would wait.
        return { groupId, members: null, places };
      });
    },
    async moveGroup(groupId, places) {
      assertOpen();
      const file = groupFile(folder, groupId);
      attempt(file, () => makeDataFolder(folder));
      const lock = lockFolder(`${file}.lock`);
      if (lock === null) throw new HighwaterError('GROUP_IN_USE', `a process reads for the group ${groupId}`);
      try {
        closedAfter(openGroupOffsets(file), (offsets) => {
          for (const { topic, partition, next } of places) offsets.commit(topic, partition, next);
        });
      } finally {
        lock.release();
      }
    },
    joinGroup(group) {
      assertOpen();
      const member = joinLocalGroup(group, reading, folder, logger);
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
  // A compacted topic keeps the latest record of each key, wherever it lies.
  if (at === 'beginning') return isCompacted(reader.topic(topic)!) ? 0 : reader.firstOffset(topic, partition);
  // Before the other question: a record that is written between them is not passed over.
  const end = reader.endOffset(topic, partition);
  return typeof at === 'object' ? (reader.offsetSince(topic, partition, at.sinceMs) ?? end) : end;
}
