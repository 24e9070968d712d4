import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { where } from '../support/judge/change-log';
import type { LogRow } from '../support/judge/log';
import { type FileLog, withLogFile } from '../support/judge/log-file';
import { embeddedLog, type PublisherLog } from './publisher-log';

/** Topics that retention shortens, and the number of their partitions. */
export const shortenedTopics = [
  'insights',
  'analysts',
  'ipos',
  'ipos.deal-status',
  'insights.rating-changes',
];
const PARTITIONS = 3;
const EVERY_MS = 300;

export interface CollectedLog extends PublisherLog {
  /**
   * Holds the file against what was read of it: it keeps the last records of each partition, without a hole.
   * @returns number of records that were read, and that the file still has, of the shortened topics; and the size of the values
   * that it has of each topic
   * @throws Error with the first record that differs
   */
  checkTail(): {
    readonly collected: number;
    readonly kept: number;
    readonly bytes: ReadonlyMap<string, number>;
  };
  stop(): void;
}

/**
 * An embedded log with retention. A reader beside the publisher keeps every record, so that `read` shows the whole log, as if
 * nothing had been removed.
 * @throws Error by `read`, when retention removed a record before it was read
 */
export function collectedLog(dataDir: string): CollectedLog {
  const file = path.join(dataDir, 'highwater.db');
  /** The embedded log numbers without gaps, so that a record's place in its partition is its offset. */
  const collected = shortenedTopics.flatMap((topic) =>
    Array.from({ length: PARTITIONS }, (_, partition) => ({ topic, partition, rows: [] as LogRow[] })),
  );
  const rowsOf = (topic: string): LogRow[] =>
    collected.flatMap((one) => (one.topic === topic ? one.rows : []));

  function collect(log: FileLog): void {
    for (const { topic, partition, rows } of collected) {
      for (const row of log.rowsFrom(topic, partition, rows.length)) {
        if (row.offset !== rows.length)
          throw new Error(`${where(row)} is the next record to read, and ${rows.length} were read before it`);
        rows.push(row);
      }
    }
  }

  const log: CollectedLog = {
    ...embeddedLog(dataDir),
    read: async (use) =>
      withLogFile(file, (seen) => {
        collect(seen);
        return use({
          ...seen,
          rows: (topic) => (shortenedTopics.includes(topic) ? rowsOf(topic) : seen.rows(topic)),
          count: (topic) => (shortenedTopics.includes(topic) ? rowsOf(topic).length : seen.count(topic)),
        });
      }),
    checkTail: () =>
      withLogFile(file, (seen) => {
        let kept = 0;
        const bytes = new Map<string, number>();
        for (const { topic, partition, rows } of collected) {
          const own = seen.rowsFrom(topic, partition, 0);
          const tail = rows.slice(Math.min(-1, -own.length));
          for (const [i, row] of tail.entries())
            if (!isDeepStrictEqual(own[i], row))
              throw new Error(`${where(row)} was read, and the file has another`);
          if (own.length > tail.length) throw new Error(`${where(own.at(-1)!)} was not read`);
          kept += own.length;
          const size = own.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
          bytes.set(topic, (bytes.get(topic) ?? 0) + size);
        }
        return { bytes, collected: collected.reduce((sum, { rows }) => sum + rows.length, 0), kept };
      }),
    stop: () => clearInterval(timer),
  };
  // A record that was missed stays missing, so that the next look of the run meets the same error.
  const timer = setInterval(() => void log.read(() => undefined).catch(() => undefined), EVERY_MS);
  return log;
}
