import { retrying } from '../../../async/retrying';
import { unlessLate } from '../../../async/wait';
import { type ErrorCode, HighwaterError } from '../../../errors';
import { Outage } from '../../../logging/outage';
import type { BatchPosition, FeedSession, TopicEnd, TransactionBatch } from '../../commit-log';
import { assertOwn, recordsOf } from '../../gathered';
import type { Grant } from '../../membership';
import { assertReaches, createdAgain, eventTopics, historyLost } from '../../topics';
import { drop } from '../connection/cluster';
import {
  isForbidden,
  isProtocolError,
  isRefusedProducer,
  kafkaFailure,
  passesByItself,
} from '../connection/kafka-failure';
import { PartitionedRecords, type PartitionSends } from '../producer/partitioned-records';
import { HeldBackError, heldBackTransactionTimeout, type TransactionalProducer } from '../producer/producer';
import { type WrittenOffsets, writeTransaction } from '../producer/transaction';
import { topicIds } from '../protocol/newer-requests';
import { readThrough } from '../reader/restore';
import { type CommitMark, type FeedLog, markOf } from './hanging-transactions/committed-through';
import { assertAlone, isCommitted, takeOver } from './ownership';
import { type SettingsWatchDeps, watchSettings } from './settings-watch';

export interface SessionDeps extends FeedLog, SettingsWatchDeps {
  /** The names of the compacted topics. */
  readonly compacted: readonly string[];
  readonly limits: LogLimits;
  /** Undefined: there are no other instances. */
  readonly grant: Grant | undefined;
  /** The session holds nothing any more. */
  released(session: FeedSession): void;
}

export interface LogLimits {
  /** How long the brokers are asked for the outcome of a commit, in ms. */
  readonly outcomeMs: number;
  /** How long a restore may go without progress, in ms. */
  readonly stallMs: number;
  /** How long a process waits for a feed while the group cannot be reached, in ms. */
  readonly groupMs: number;
  /** How often an owner looks whether the settings of its topics have changed, in ms. */
  readonly settingsMs: number;
}

/** How long an acquisition waits for the answer of the other instances, in ms. */
const CONFIRM_MS = 20_000;

/** How often, at most, batches look whether their topics are still the same, and for how long they wait for that. In ms. */
const [LOOK_MS, LOOK_WAIT_MS] = [10_000, 1_000];

/** How often a batch that the brokers refuse is written before the poll fails. */
const ATTEMPTS = 3;

/**
 * One ownership of one feed: a producer with the feed's transactional id, from the fence that it wrote first to the fence of
 * the next owner. A producer that failed is never used again; the ownership goes on with a new one.
 */
export async function openSession(deps: SessionDeps): Promise<FeedSession> {
  const { topics, partitions, compacted, ownerEpoch, logger, limits } = deps;
  const { feed } = topics;
  const written: WrittenOffsets = new Map();
  // As late as possible: an instance that was away does not know yet that it lost the feed.
  await assertStillOwned(deps, CONFIRM_MS);
  // Before the fences: if a topic is created again in between, the new one's offsets go by the old one's id, which no later session finds.
  const ids = await topicIds(deps.cluster, [...partitions.keys()]).catch(() => new Map<string, string>());
  let nextLookAt = performance.now() + LOOK_MS;
  const outage = new Outage(`Writing a page of feed ${feed}`, logger);
  let underWay = 0;
  /** Told of each error that is tried again. */
  const failing = (error: unknown): void => {
    if (underWay > 0) outage.failed(inWords(error));
  };
  let producer: TransactionalProducer | null = await takeOver(deps, compacted, written, null, { failing });
  /** Why the session is over, once it is. */
  let over: HighwaterError | null = null;
  /** In the source offset topic: nothing before it needs to be looked at again. */
  let known = behindLast();
  let acknowledged: CommitMark | null = null;
  let commit: number | null = null;
  /** How long a transaction may be open, in ms; left out: as long as usual. */
  let timeoutMs: number | undefined;
  const watch = watchSettings(deps, limits.settingsMs);

  function behindLast(): bigint {
    return written.get(topics.sourceOffset.name)!.get(0)! + 1n;
  }

  function partitionsOf(topic: string): number {
    const count = partitions.get(topic);
    if (count === undefined) throw new RangeError(`${topic} is not a topic of the feed ${feed}`);
    return count;
  }

  function letGo(): void {
    if (producer !== null) drop(producer);
    producer = null;
  }

  function end(error: HighwaterError): HighwaterError {
    void watch.stop();
    over ??= error;
    letGo();
    return over;
  }

  /**
   * @returns null when it is committed, otherwise the error that came first
   * @throws HighwaterError LOG_FENCED, LOG_TOPIC_LOST, LOG_OUTCOME_UNKNOWN: the session is over
   */
  async function write(prepared: readonly PartitionSends[], position: BatchPosition): Promise<unknown> {
    try {
      await writeTransaction(producer!, prepared, deps.compression, written, () =>
        assertAlone(deps, known, behindLast() - 1n),
      );
      return null;
    } catch (error) {
      producer = null;
      if (error instanceof HeldBackError) timeoutMs = heldBackTransactionTimeout;
      if (isCode(error, 'LOG_TOPIC_LOST') || isCode(error, 'LOG_FENCED')) throw end(error);
      logger.debug('a transaction failed; its outcome is looked up', { feed, error });
      failing(error);
      return (await learnOutcome(position, error)) ? null : error;
    }
  }

  /**
   * After an error nobody knows whether the commit succeeded. A new producer ends the old one's transaction for good; then the log
   * itself shows the outcome.
   * @returns whether the batch is committed
   * @throws HighwaterError LOG_FENCED, LOG_OUTCOME_UNKNOWN
   */
  async function learnOutcome(position: BatchPosition, error: unknown): Promise<boolean> {
    const giveUpAt = performance.now() + limits.outcomeMs;
    let last = error;
    const lookUp = async () => {
      letGo();
      // The error of a producer that was fenced can also mean something else. To take the feed back at once would fence a rightful
      // successor, so first the other instances are asked, and the log is searched for the successor's fence.
      if (isRefusedProducer(error) || isRefusedProducer(last))
        await assertStillOwned(deps, giveUpAt - performance.now());
      await isCommitted(deps, position, known, null);
      producer = await takeOver(deps, [topics.sourceOffset.name], written, acknowledged, {
        timeoutMs,
        failing,
      });
      // The session was released in the meantime, and nobody else would close this producer.
      if (over !== null) throw over;
      const committed = await isCommitted(deps, position, known, behindLast() - 1n);
      known = behindLast();
      return committed;
    };
    try {
      return await retrying(lookUp, {
        signal: deps.signal,
        forMs: limits.outcomeMs,
        pauseMs: 50,
        longestPauseMs: 2_000,
        // A topic that was created again has no answer, and fences would move its offsets to those of the old topic. Acquiring
        // names the permission that is missing, and the clock whose fences are refused.
        isWorthIt: (failure) =>
          over === null &&
          !isForbidden(failure) &&
          !isProtocolError(failure, 'INVALID_TIMESTAMP') &&
          !isCode(failure, 'LOG_FENCED') &&
          !isCode(failure, 'LOG_TOPIC_LOST'),
        recover(failure) {
          last = failure;
          failing(failure);
        },
      });
    } catch (failure) {
      if (isCode(failure, 'LOG_FENCED')) throw end(failure);
      const isNamed = isCode(failure, 'LOG_TOPIC_LOST') || isProtocolError(failure, 'INVALID_TIMESTAMP');
      const why = isNamed ? `: ${(failure as Error).message}` : '';
      const what = `the outcome of commit ${position.commit} of feed ${feed} could not be learned${why}`;
      throw end(new HighwaterError('LOG_OUTCOME_UNKNOWN', what, { cause: failure }));
    }
  }

  /**
   * A topic of events that was created again takes records like the old one, and their offsets are not compared.
   * @throws HighwaterError LOG_TOPIC_LOST, LOG_CLOSED
   */
  async function assertSameTopics(): Promise<void> {
    if (performance.now() < nextLookAt) return;
    const names = eventTopics(topics);
    const late = () => new Error('the brokers did not answer in time');
    const now = await unlessLate(topicIds(deps.cluster, names), LOOK_WAIT_MS, deps.signal, late).catch(
      () => ids,
    );
    nextLookAt = performance.now() + LOOK_MS;
    // The session was released in the meantime.
    if (over !== null) throw over;
    const lost = createdAgain(names, ids, now);
    if (lost.length > 0) throw end(historyLost(feed, lost));
  }

  function inWords(error: unknown): unknown {
    return kafkaFailure(error, `writing a page of feed ${feed}`, {
      operation: 'WRITE',
      cluster: deps.target,
      transactionalId: deps.transactionalId,
      topics: [...partitions.keys()],
    });
  }

  /** @throws HighwaterError as `commit` */
  async function writeRepeatedly(prepared: readonly PartitionSends[], position: BatchPosition) {
    for (let attempt = 1; ; attempt++) {
      const error = await write(prepared, position);
      if (error === null) return;
      const failure = inWords(error);
      if (!passesByItself(failure) || attempt >= ATTEMPTS) throw failure;
    }
  }

  /** @throws HighwaterError LOG_TOPIC_MISMATCH, LOG_TOPIC_LOST; why the session is over */
  function assertKept(): void {
    if (over !== null) throw over;
    const mismatch = watch.mismatch();
    if (mismatch !== null) throw end(mismatch);
  }

  const gather = () => new PartitionedRecords(partitionsOf, watch.maxRecordBytes());

  function gatheredOf(batch: TransactionBatch): PartitionedRecords {
    if (batch.records instanceof PartitionedRecords) return batch.records;
    const gathered = gather();
    gathered.add(recordsOf(batch));
    return gathered;
  }

  function offsetsOf(topic: string): ReadonlyMap<number, bigint> {
    if (!compacted.includes(topic))
      throw new RangeError(`${topic} is not a compacted topic of the feed ${feed}`);
    return written.get(topic)!;
  }

  /** Where the last record of this owner lies in each partition. */
  function placesIn(topic: string): Omit<TopicEnd, 'commit'> {
    const places = offsetsOf(topic);
    const offsets = Array.from({ length: partitionsOf(topic) }, (_, i) => Number(places.get(i)!));
    return { topicId: ids.get(topic) ?? null, offsets };
  }

  const session: FeedSession = {
    ownerEpoch,
    topicIds: ids,
    maxRecordBytes: watch.maxRecordBytes,
    partitionsOf,
    gather() {
      // Every poll begins like this, and an idle feed commits nothing for long.
      if (over === null && underWay === 0) assertKept();
      return gather();
    },
    restore(topic, signal, after) {
      const through = offsetsOf(topic);
      // The fences lie behind the end. If the topic was cut before it, a fence may have the place of another record.
      if (after !== undefined) assertReaches(topic, placesIn(topic), after);
      return readThrough(deps.cluster, topic, {
        through,
        isCompacted: true,
        signal,
        stallMs: limits.stallMs,
        from: after?.offsets,
      });
    },
    endOf(topic) {
      const { topicId, offsets } = placesIn(topic);
      if (over !== null || underWay > 0) return null;
      return { topicId, offsets: offsets.map((offset) => offset + 1), commit };
    },
    async commit(batch) {
      assertKept();
      assertOwn(batch, feed, ownerEpoch);
      const { position } = batch;
      // Everything is encoded before the transaction begins.
      const gathered = gatheredOf(batch);
      underWay++;
      outage.began();
      try {
        await assertSameTopics();
        await writeRepeatedly(gathered.sends(), position);
        commit = position.commit;
        outage.over();
      } finally {
        underWay--;
        outage.end();
      }
      gathered.release();
      known = behindLast();
      // A batch ends with its source offset.
      if (gathered.last?.topic === topics.sourceOffset.name) acknowledged = markOf(gathered.last);
    },
    async release() {
      if (over?.code === 'LOG_CLOSED') return;
      const last = producer;
      producer = null;
      over = new HighwaterError('LOG_CLOSED', `the feed ${feed} was released`);
      try {
        await Promise.all([watch.stop(), last?.disconnect(), deps.cluster.disconnect()]);
      } catch (error) {
        logger.debug('a connection could not be closed', { feed, error });
      } finally {
        deps.released(session);
      }
    },
  };
  return session;
}

/** @throws HighwaterError LOG_FENCED when the feed is another instance's by now; what `Grant.confirm` throws */
async function assertStillOwned({ topics, signal, grant }: SessionDeps, forMs: number): Promise<void> {
  if (grant === undefined) return;
  const waiting = new AbortController();
  const late = () => {
    waiting.abort();
    const what = `the other instances did not answer within ${Math.round(forMs / 1_000)} s`;
    return new HighwaterError('KAFKA_UNREACHABLE', what);
  };
  const isMine = await unlessLate(grant.confirm(waiting.signal), Math.max(0, forMs), signal, late);
  if (!isMine) throw new HighwaterError('LOG_FENCED', `another instance has taken over feed ${topics.feed}`);
}

function isCode(error: unknown, code: ErrorCode): error is HighwaterError {
  return error instanceof HighwaterError && error.code === code;
}
