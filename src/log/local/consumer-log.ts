import path from 'node:path';
import type { SchemaRegistry } from '../../avro/registry';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logger';
import type { LogRecord } from '../commit-log';
import type { ConsumerLog, GroupMember } from '../consumer-log';
import { joinLocalGroup } from './consumer-group';
import { openLocalLog } from './local-log';
import { assertKept } from './position';
import { type ReadDeps, read } from './read';
import { openReaderConnection, type ReaderConnection } from './reader-connection';
import { sameFileGuard } from './same-file';

export interface LocalConsumerLogOptions {
  /** Folder of `highwater.db`. It need not be there yet. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly busyTimeoutMs?: number;
}

/** The embedded log for its consumers. Nothing is written to the publisher's file but what is appended. */
export function openLocalConsumerLog(options: LocalConsumerLogOptions): {
  readonly consumerLog: ConsumerLog;
  readonly registry: SchemaRegistry;
} {
  const { dataDir, logger, busyTimeoutMs = 5_000 } = options;
  const file = path.resolve(dataDir, 'highwater.db');
  const { commitLog, registry } = openLocalLog(options);
  const members = new Set<GroupMember>();
  let connection: ReaderConnection | null = null;
  let assertSame = (): void => undefined;
  let isClosed = false;
  const reading: ReadDeps = {
    isClosed: () => isClosed,
    reader() {
      if (connection === null) {
        assertSame = sameFileGuard(file);
        connection = openReaderConnection(file, busyTimeoutMs);
      } else assertSame();
      return connection;
    },
  };

  function assertOpen(): void {
    if (isClosed) throw new HighwaterError('LOG_CLOSED', `${file} was closed`);
  }

  const consumerLog: ConsumerLog = {
    async ends(topic, _at, signal) {
      signal.throwIfAborted();
      assertOpen();
      const reader = reading.reader();
      const { partitions } = reader?.topic(topic) ?? { partitions: 0 };
      return new Map(Array.from({ length: partitions }, (_, i) => [i, reader!.endOffset(topic, i)]));
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
          // The beginning is where it is by now.
          if (next === undefined) return 0;
          assertKept(reading.reader()!, { topic, partition, next, end });
          return next;
        },
      );
    },
    joinGroup(group) {
      assertOpen();
      const member = joinLocalGroup(group, { reading, logger, folder: path.resolve(dataDir, 'consumers') });
      members.add(member);
      member.over.catch(() => undefined).then(() => members.delete(member));
      return member;
    },
    append: (topic, records, signal) => commitLog.append(topic, records, signal),
    async close() {
      await Promise.all([...members].map((member) => member.leave()));
      if (isClosed) return;
      isClosed = true;
      connection?.close();
      await commitLog.close();
    },
  };
  return { consumerLog, registry };
}
