import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logging/logger';
import type { ProducerRecord, SharedTopicSpec, TransactionBatch } from '../commit-log';
import { recordsOf } from '../gathered';
import { type AppendPlan, appendStatements, type OwnedTopic, planAppend } from './append';
import { checkpointer, walWatch } from './file/checkpointer';
import { type CommitThread, startCommitThread } from './file/commit-thread';
import { CONNECTION, prepareFile } from './file/file-format';
import { makeDataFolder } from './file/folder-lock';
import { goneFrom, inPlaceGuard } from './file/same-file';
import {
  attempt,
  BUSY_TIMEOUT_MS,
  type Connection,
  closedOnFailure,
  connect,
  logFailure,
  pragma,
  prepare,
  transact,
} from './file/sqlite';
import { logClock } from './log-clock';
import { fenced, ownership } from './ownership';
import { assertNoUnfinishedRestore } from './put-back';
import { type RetentionLimits, retention, type TopicPartitions } from './retention';

export type Writer = ReturnType<typeof writer>;

/**
 * By file: settles when every earlier call of this process has ended. All writers of a file take turns, because a transaction of a
 * committing thread goes on only while the main thread does not wait for the file.
 */
const turns = new Map<string, Promise<unknown>>();

/** A batch of this many records goes to another thread. The way there takes as long as the commit of some dozens of records. */
const LARGE = 200;

export interface WriterOptions {
  readonly file: string;
  readonly busyTimeoutMs?: number;
  readonly logger?: Logger | undefined;
  readonly limits?: RetentionLimits | undefined;
}

/** Creates the folder and the file if they are missing. @throws HighwaterError LOG_* */
export function openWriter(options: WriterOptions): Writer {
  const { file, busyTimeoutMs } = options;
  return attempt(file, () => {
    makeDataFolder(path.dirname(file));
    assertNoUnfinishedRestore(path.dirname(file));
    return closedOnFailure(connect(file, busyTimeoutMs), (db) => {
      prepareFile(db, file);
      return writer(db, options);
    });
  });
}

/**
 * All writes of this process to an open and prepared file: one transaction after another, in the order of the calls. Every error about
 * the file is a HighwaterError LOG_*.
 */
export function writer(
  db: Connection,
  { file, busyTimeoutMs = BUSY_TIMEOUT_MS, logger, limits }: WriterOptions,
) {
  const append = appendStatements.map((sql) => prepare(db, sql));
  const own = ownership(db);
  const clock = logClock(db);
  const { removeOlder, step, committed, keepUp } = retention(db, clock, limits);
  const watchWal = walWatch(file, logger);
  const checkpoints = checkpointer(file, () => {
    // If it fails, the frames stay in the WAL for the next one.
    inTurn(finishCheckpoint).catch(() => undefined);
  });
  const files = inPlaceGuard(file, `${file}-wal`);
  /** Guards the file with which this process holds the folder, once it does. */
  let lock = inPlaceGuard();
  let thread: CommitThread | null = null;
  let isPublisher = false;
  const place = path.resolve(file);

  function inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = (turns.get(place) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    turns.set(place, settled);
    settled.then(() => {
      if (turns.get(place) === settled) turns.delete(place);
    });
    return turn;
  }

  function assertInPlace(): void {
    files.assert();
    lock.assert();
  }

  const inPlace = <T>(work: () => T): T =>
    attempt(file, () => {
      const result = work();
      assertInPlace();
      return result;
    });
  const named =
    <A extends unknown[], R>(work: (...args: A) => R) =>
    (...args: A): Promise<R> =>
      inTurn(() => inPlace(() => work(...args)));
  /** Writes nothing if the files are not in their place before the commit. */
  const transaction = <T>(work: () => T): T =>
    transact(db, 'IMMEDIATE', () => {
      const result = work();
      assertInPlace();
      return result;
    });

  function write(plan: AppendPlan): void {
    for (const steps of plan.slices())
      for (const [statement, parameters] of steps) append[statement]!.run(parameters);
  }

  function commitHere(plan: AppendPlan, feed: string, ownerEpoch: string): void {
    attempt(file, () =>
      transaction(() => {
        own.assertOwned(feed, ownerEpoch);
        write(plan);
      }),
    );
  }

  async function commitInThread(plan: AppendPlan, feed: string, ownerEpoch: string): Promise<void> {
    thread ??= startCommitThread(file, busyTimeoutMs, CONNECTION, appendStatements);
    if (!thread.isAlive()) return commitHere(plan, feed, ownerEpoch);
    const places = [...files.places, ...lock.places];
    try {
      const outcome = await thread.commit({ feed, ownerEpoch, slices: plan.slices(), places });
      if (outcome === 'fenced') throw fenced(feed, ownerEpoch);
      if (outcome === 'gone') throw goneFrom(file);
    } catch (error) {
      // It says which file, and why the thread could not open it.
      assertInPlace();
      throw logFailure(error, file);
    }
  }

  /**
   * The batch is committed: an error here must not say otherwise, or it would be committed again. The next commit tries and looks
   * again. Only a file that is gone is an error, because the batch is gone with it.
   */
  async function afterCommit(topics: ReadonlyMap<string, OwnedTopic>, records: Iterable<ProducerRecord>) {
    try {
      committed(topics, records);
      for (let removed = keepUp(); removed !== null; removed = keepUp()) {
        checkpoints.committed(removed);
        await nextTurn();
      }
      watchWal();
    } catch (error) {
      logger?.debug('the work that follows a commit failed', { error });
    }
    try {
      assertInPlace();
    } catch (error) {
      if (error instanceof HighwaterError && error.code === 'LOG_GONE') throw error;
    }
  }

  async function finishCheckpoint(): Promise<void> {
    if (!db.open) return;
    if (thread?.isAlive()) await thread.checkpoint();
    else pragma(db, 'wal_checkpoint(PASSIVE)');
  }

  return {
    /** Before the first feed. @param lockFile with which this process holds the folder */
    claimFolder(instance: string, lockFile: string): void {
      isPublisher = true;
      lock = inPlaceGuard(lockFile);
      inPlace(() => own.claimFolder(instance));
      // Observed also without a retention, which may be set later.
      inPlace(() => transact(db, 'IMMEDIATE', clock));
    },
    claimFeed: named(own.claimFeed),
    releaseFeed: named(own.releaseFeed),
    /** After the last feed. */
    releaseFolder: (): void => inPlace(own.releaseFolder),
    /** One transaction: the check that the feed is still owned, and all records. */
    commit: (
      batch: TransactionBatch,
      ownerEpoch: string,
      topics: ReadonlyMap<string, OwnedTopic>,
    ): Promise<void> =>
      inTurn(async () => {
        const records = recordsOf(batch);
        const plan = planAppend(topics, records);
        const commit = records.length < LARGE ? commitHere : commitInThread;
        await commit(plan, batch.feed, ownerEpoch);
        // Only now: a batch that was rolled back is tried again at the same offsets.
        plan.committed();
        checkpoints.committed(records.length);
        await afterCommit(topics, records);
      }),
    /** One transaction, whoever holds the folder: the offsets are taken from the file. */
    append: named((spec: SharedTopicSpec, records: readonly ProducerRecord[]) => {
      transaction(() => {
        const topic = own.sharedTopic(spec);
        // Before the new ones come: the last offset of a topic is that of a record, and must not fall.
        removeOlder(topic, clock() - spec.retentionMs);
        write(planAppend(new Map([[spec.name, topic]]), records));
      });
      watchWal();
    }),
    /** Removes expired records for a moment. @returns whether there is more to remove */
    expire: named((topics: readonly TopicPartitions[]) => {
      const { removed, isMore } = step(topics);
      checkpoints.committed(removed);
      return isMore;
    }),
    /** A transaction of another part of the program, such as the schema registry. */
    transact: <T>(work: (db: Connection) => T): Promise<T> =>
      inTurn(() => inPlace(() => transaction(() => work(db)))),
    close: (): Promise<void> => inTurn(close),
  };

  function close(): void {
    checkpoints.stop();
    thread?.stop();
    // Leaves the folder as one file that can be copied. With readers at work it stays undone, which costs nothing:
    // nobody is waited for. A process that only wrote a command must not keep a publisher waiting for it.
    try {
      pragma(db, 'busy_timeout = 0');
      pragma(db, isPublisher ? 'wal_checkpoint(TRUNCATE)' : 'wal_checkpoint(PASSIVE)');
    } catch (error) {
      // Committed records stay in the WAL. This error would hide the error for which the log is closed.
      logger?.debug('the write-ahead log could not be emptied', { file, error: logFailure(error, file) });
    } finally {
      db.close();
    }
  }
}
