import { once } from 'node:events';
import { pause, sharedController } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { AssignedPartition, GroupMember, GroupOptions } from '../../consumer-log';
import { isCompacted } from '../../topics';
import { type FolderLock, lockFolder, makeDataFolder } from '../file/folder-lock';
import type { StoredRecord } from '../file/reader-connection';
import { attempt } from '../file/sqlite';
import { assertKept, assertNext, committedSince, logRecord, type ReadDeps } from '../read';
import { groupFile, openGroupOffsets } from './group-offsets';

/** Time from one check of a waiting member for the end of its predecessor to the next. */
const TURN_MS = 500;
const BATCH = 500;

/**
 * On the embedded log one member of a group has all partitions, and the others wait until it ends, however it does: the
 * operating system tells. Each group has a file of its own, so that no consumer ever keeps the publisher waiting.
 * @param folder of these files, made when it is missing
 */
export function joinLocalGroup(
  { groupId, topics, work }: GroupOptions,
  reading: ReadDeps,
  folder: string,
  logger: Logger,
): GroupMember {
  const leaving = sharedController();
  const over = live();
  // Members that have joined get the error. A member that has left does not listen any more.
  over.catch(() => undefined);

  async function live(): Promise<void> {
    // A consumer in the wrong folder leaves nothing there.
    while (reading.reader() === null) {
      if (leaving.signal.aborted) return;
      await committedSince(null, reading, leaving.signal);
    }
    const file = groupFile(folder, groupId);
    attempt(file, () => makeDataFolder(folder));
    const lock = await turn(`${file}.lock`);
    if (lock === null) return;
    try {
      const offsets = openGroupOffsets(file);
      await workAll(offsets).finally(offsets.close);
    } finally {
      lock.release();
    }
  }

  async function turn(file: string): Promise<FolderLock | null> {
    for (let tries = 0; !leaving.signal.aborted; tries++) {
      const lock = lockFolder(file);
      if (lock !== null) return lock;
      if (tries === 0) logger.warn(`Another process has the group ${groupId}; this one waits until it ends.`);
      await pause(TURN_MS, leaving.signal);
    }
    return null;
  }

  /** Every partition of every topic, including partitions that come later. */
  async function workAll(offsets: ReturnType<typeof openGroupOffsets>): Promise<void> {
    const workers: Promise<void>[] = [];
    const begun = new Set<string>();
    try {
      await giveAll();
    } finally {
      // If the log can no longer be read, no other member begins before the work in hand is done.
      leaving.abort();
      await Promise.all(workers);
    }

    async function giveAll(): Promise<void> {
      while (!leaving.signal.aborted) {
        const reader = reading.reader();
        const version = reader?.dataVersion() ?? null;
        for (const topic of topics) {
          const { partitions } = reader?.topic(topic) ?? { partitions: 0 };
          for (let partition = 0; partition < partitions; partition++) {
            if (begun.has(`${topic} ${partition}`)) continue;
            begun.add(`${topic} ${partition}`);
            const end = reader!.endOffset(topic, partition);
            const range = { first: reader!.firstOffset(topic, partition), end, sinceJoined: end };
            const committed = offsets.committed(topic, partition);
            const given: AssignedPartition = {
              topic,
              topicId: null,
              isRecreated: false,
              partition,
              committed,
              range,
              revoked: leaving.signal,
              records: (from, goesOn) => batches(topic, partition, from, goesOn),
              settled: (next) => next,
              commit: async (next, note) => offsets.commit(topic, partition, next, note),
            };
            // The caller deals with errors of `work`; the other workers go on.
            workers.push(work(given).catch(() => undefined));
          }
        }
        if (begun.size > 0 && topics.every((topic) => begun.has(`${topic} 0`)))
          await once(leaving.signal, 'abort');
        else await committedSince(version, reading, leaving.signal);
      }
    }
  }

  async function* batches(
    topic: string,
    partition: number,
    from: number,
    goesOn: (first: number) => boolean = () => false,
  ) {
    const reader = reading.reader()!;
    const isBound = !isCompacted(reader.topic(topic)!);
    /** @returns where to read on @throws HighwaterError LOG_POSITION_LOST */
    const kept = (next: number, found?: StoredRecord): number => {
      try {
        if (found === undefined)
          assertKept(reader, { topic, partition, next, end: reader.endOffset(topic, partition) });
        else assertNext(reader, { topic, partition, next }, found);
        return next;
      } catch (error) {
        const first = reader.firstOffset(topic, partition);
        const isLost = error instanceof HighwaterError && error.code === 'LOG_POSITION_LOST';
        if (isLost && next < first && goesOn(first)) return first;
        throw error;
      }
    };
    for (let next = kept(from); !leaving.signal.aborted; ) {
      const version = reader.dataVersion();
      const found = reader.records(topic, partition, next, BATCH);
      if (found.length === 0) {
        await committedSince(version, reading, leaving.signal);
        continue;
      }
      if (isBound) kept(next, found[0]);
      next = found.at(-1)!.logOffset + 1;
      yield found.map((record) => logRecord(topic, partition, record));
    }
  }

  return {
    over,
    async leave() {
      leaving.abort();
      await over.catch(() => undefined);
    },
  };
}
