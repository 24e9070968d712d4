import {
  type CompressionTypes,
  KafkaJSError,
  KafkaJSGroupCoordinatorNotFound,
  type TopicPartition,
} from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { joinSignals, pause } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import {
  type Broker,
  byTopic,
  type Cluster,
  drop,
  grouped,
  knownLeader,
  type ProducerIdentity,
  partitionName,
} from '../connection/cluster';
import {
  isForbidden,
  isProtocolError,
  mayPass,
  noteBrokers,
  protocolType,
} from '../connection/kafka-failure';
import { transactionStart } from '../protocol/newer-requests';
import {
  type Appended,
  type PartitionRecords,
  produceTo,
  type SequenceNumbers,
} from '../protocol/produce-request';

/** An open transaction holds up readers for at most so long, when its owner dies. In ms. */
export const transactionTimeout = 10_000;

/** The same where a quota holds back parts of a transaction for longer; every broker allows as much by default. In ms. */
export const heldBackTransactionTimeout = 60_000;

/** Time for the last send of a transaction and its commit, in ms. */
const REST_MS = 2_000;

/** A quota holds back the rest of a transaction for longer than the transaction may be open. */
export class HeldBackError extends HighwaterError {}

/** Later the brokers have ended the transaction by themselves. In ms. */
const PATIENCE_MS = 10_000;
/** The markers of a transaction are written after its commit is answered, and until then the next one is refused. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [5, 500];

/**
 * A producer under a transactional id. Its beginning (InitProducerId) ends the open transaction of an earlier producer of that id,
 * which the brokers refuse from now on.
 *
 * It uses kafkajs's connections, but not its producer. That producer handles one partition after the other (find the coordinator,
 * add the partition, write), and with several brokers it repeats records under new sequence numbers. `docs/decisions/0015`.
 * @param cluster belongs to the producer from now on
 * @param topics that it is going to write to: they exist. None, when it writes nothing
 * @param limits `patienceMs`: errors that may pass are tried again for this long. `timeoutMs`: how long a transaction may be open.
 * `failing` is told of each error that is tried again
 * @throws what kafkajs throws; the signal's reason
 */
export async function connectProducer(
  cluster: Cluster,
  transactionalId: string,
  topics: readonly string[],
  signal: AbortSignal,
  limits: {
    readonly patienceMs?: number;
    readonly timeoutMs?: number | undefined;
    failing?(error: unknown): void;
  } = {},
) {
  const { patienceMs = PATIENCE_MS, timeoutMs = transactionTimeout } = limits;
  const closing = new AbortController();
  const ending = joinSignals([signal, closing.signal]);
  const coordinator = new TransactionCoordinator(cluster, transactionalId);
  const sequences: SequenceNumbers = new Map();
  /** A quota of the brokers delays writes until then. By the own clock, in ms. */
  let heldBackUntil = 0;
  let openUntil = 0;

  function retried<T>(work: () => Promise<T>, isWorthIt = mayPass): Promise<T> {
    return retrying(work, {
      signal: ending.signal,
      isWorthIt,
      forMs: patienceMs,
      pauseMs: FIRST_PAUSE_MS,
      longestPauseMs: LONGEST_PAUSE_MS,
      async recover(error) {
        // Nothing has moved where the brokers are only busy with the last transaction.
        if (isBusyWithLast(error)) return;
        limits.failing?.(error);
        await cluster.refreshMetadata().catch(() => undefined);
      },
    });
  }

  const identity = await connected();

  async function connected(): Promise<ProducerIdentity> {
    try {
      signal.throwIfAborted();
      await cluster.connect();
      // Without topics kafkajs asks for all topics of the cluster, and fails if one of them has no leader.
      if (topics.length > 0) await retried(() => cluster.addMultipleTargetTopics(topics));
      return await retried(
        () => coordinator.init(timeoutMs),
        (error) => isNotCoordinator(error) || isBusyWithLast(error),
      );
    } catch (error) {
      ending.leave();
      drop(cluster);
      throw isProtocolError(error, 'INVALID_TRANSACTION_TIMEOUT') ? timeoutRefused(timeoutMs, error) : error;
    }
  }

  const add = (places: readonly TopicPartition[], isWorthIt = mayPass) =>
    retried(() => coordinator.add(identity, places), isWorthIt);

  async function end(commits: boolean): Promise<void> {
    // A former coordinator may have begun to end the transaction. Then the same request does no harm: the answer is that it is done
    // or in progress, and the outcome is looked up. After any other error the outcome is unknown.
    await retried(() => coordinator.end(identity, commits), isNotCoordinator);
  }

  return {
    /**
     * Begins a transaction, or goes on with it: it is going to write to these partitions.
     * @throws HighwaterError LOG_TOPIC_LOST for a partition that is not there; what kafkajs throws
     */
    async begin(places: readonly TopicPartition[]): Promise<void> {
      // In an open transaction this wait could outlast the transaction's timeout.
      const heldBackMs = heldBackUntil - performance.now();
      if (heldBackMs > 0) await pause(heldBackMs, ending.signal);
      openUntil = performance.now() + timeoutMs;
      try {
        await add(places, (error) => mayPass(error) && !isOfPartition(error));
      } catch (error) {
        if (!isOfPartition(error)) throw error;
        // kafkajs reports only one of the partition errors and does not say which partition it belongs to.
        for (const place of places) await add([place]).catch((refusal) => named([place], refusal));
      }
    },

    /**
     * Writes to each of these partitions, all at once. Errors that may pass are tried again, always under the same sequence numbers,
     * so a broker does not take a record twice.
     * @param sends one for each partition, which `begin` must have named
     * @returns in any order, when all replicas have it
     * @throws HeldBackError; HighwaterError LOG_TOPIC_LOST, LOG_FAILED; errors of kafkajs. After an error, only requests to brokers
     * that no longer answer may be outstanding
     */
    async send(sends: readonly PartitionRecords[], compression: CompressionTypes): Promise<Appended[]> {
      const heldBackMs = heldBackUntil - performance.now();
      if (heldBackMs > 0 && heldBackUntil > openUntil - REST_MS) throw heldBack(heldBackMs, timeoutMs);
      const appended: Appended[] = [];
      const left = new Set(sends);
      const round = async (): Promise<void> => {
        const sending = [...grouped(left, (each) => leaderOf(cluster, each))].map(async ([nodeId, own]) => {
          const broker = await cluster.findBroker({ nodeId });
          const produced = await produceTo(broker, own, identity, sequences, compression);
          appended.push(...produced.appended);
          heldBackUntil = Math.max(heldBackUntil, performance.now() + produced.heldBackMs);
          for (const each of own) left.delete(each);
        });
        // It waits for all of them, because a request must not be outstanding when it is sent again.
        const failures = (await Promise.allSettled(sending)).flatMap((one) =>
          one.status === 'rejected' ? [one.reason as unknown] : [],
        );
        if (failures.length > 0) throw failures.find((one) => !mayPass(one)) ?? failures[0];
      };
      await retried(round).catch((error: unknown) => named([...left], error));
      return appended;
    },

    /** When the open transaction began, by the clock of a broker, in ms; null: not told. @throws what kafkajs throws */
    beganAt: () => coordinator.ask((broker) => transactionStart(broker, transactionalId)),
    /** @throws what kafkajs throws: nobody knows then whether it is committed */
    commit: () => end(true),
    abort: () => end(false),
    async disconnect(): Promise<void> {
      closing.abort();
      ending.leave();
      await cluster.disconnect();
    },
  };
}

/**
 * The only producer that may write under a transactional id, until the next InitProducerId of that id. One transaction after the
 * other, and one call after the other. After an error only `abort` and `disconnect` may be called.
 */
export type TransactionalProducer = Awaited<ReturnType<typeof connectProducer>>;

/** @throws KafkaJSError for a partition without a leader: that passes */
function leaderOf(cluster: Cluster, place: TopicPartition): string {
  const leader = knownLeader(cluster, place);
  if (leader === undefined) throw new KafkaJSError(`no leader is known of ${partitionName(place)}`);
  return leader;
}

function heldBack(ms: number, timeoutMs: number): HeldBackError {
  const [wait, longest] = [Math.ceil(ms / 1_000), timeoutMs / 1_000];
  const what = `a produce quota of the brokers holds back the rest of a transaction for ${wait} s, and a transaction may be open for ${longest} s`;
  return new HeldBackError('LOG_FAILED', what, {
    remedy: 'Raise the quota of this user or client id (producer_byte_rate), or ask for smaller pages.',
  });
}

function timeoutRefused(timeoutMs: number, cause: unknown): HighwaterError {
  const what = `the brokers refuse a transaction that may be open for ${timeoutMs / 1_000} s (INVALID_TRANSACTION_TIMEOUT): their transaction.max.timeout.ms is less than ${timeoutMs}`;
  return new HighwaterError('LOG_FAILED', what, {
    cause,
    remedy: `Set transaction.max.timeout.ms to ${heldBackTransactionTimeout} or more (server.properties of each broker; by default it is 900000), and restart the brokers.`,
  });
}

/** If there are several partitions, the brokers' answer, as kafkajs gives it, does not say which one is missing. */
function named(places: readonly TopicPartition[], error: unknown): never {
  if (protocolType(error) !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
  // Brokers that restart answer so for a moment, too; they have been asked again for seconds.
  const [place, ...others] = places;
  const what =
    others.length === 0
      ? `Partition ${place?.partition} of topic ${place?.topic} is not there any more`
      : `One of these partitions is not there any more: ${places.map(partitionName).join(', ')}`;
  throw new HighwaterError('LOG_TOPIC_LOST', what, { cause: error });
}

/** Whether a partition could not be added to a transaction. If one is refused, the others are not attempted. */
function isOfPartition(error: unknown): boolean {
  return isProtocolError(
    error,
    'OPERATION_NOT_ATTEMPTED',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'TOPIC_AUTHORIZATION_FAILED',
  );
}

/**
 * The requests of a transactional id to the broker that keeps its transactions, which is remembered until it says that it does not,
 * or cannot be reached. They throw errors of kafkajs.
 */
export class TransactionCoordinator {
  private known: string | null = null;

  constructor(
    private readonly cluster: Cluster,
    private readonly transactionalId: string,
  ) {}

  /** A new epoch. It ends the transaction of the earlier epoch, which the brokers refuse from now on. */
  async init(transactionTimeout: number): Promise<ProducerIdentity> {
    const { transactionalId } = this;
    const given = await this.ask((broker) => broker.initProducerId({ transactionalId, transactionTimeout }));
    return { ...given, transactionalId };
  }

  add(identity: ProducerIdentity, places: readonly TopicPartition[]): Promise<unknown> {
    const topics = byTopic(places, ({ partition }) => partition);
    return this.ask((broker) => broker.addPartitionsToTxn({ ...identity, topics }));
  }

  end(identity: ProducerIdentity, transactionResult: boolean): Promise<unknown> {
    return this.ask((broker) => broker.endTxn({ ...identity, transactionResult }));
  }

  /** @throws errors of kafkajs and of the question */
  async ask<T>(question: (coordinator: Broker) => Promise<T>): Promise<T> {
    try {
      const coordinator = await this.find();
      this.known = coordinator.nodeId;
      return await question(coordinator);
    } catch (error) {
      // Any other answer is that of the coordinator.
      if (protocolType(error) === null || isNotCoordinator(error)) this.known = null;
      throw error;
    }
  }

  private async find(): Promise<Broker> {
    const { cluster, known } = this;
    // If that broker cannot be reached, another broker has its place, or is going to.
    const broker = known === null ? null : await cluster.findBroker({ nodeId: known }).catch(() => null);
    if (broker !== null) return broker;
    const wanted = { groupId: this.transactionalId, coordinatorType: 1 } as const;
    try {
      return await cluster.findGroupCoordinator(wanted);
    } catch (error) {
      if (!(error instanceof KafkaJSGroupCoordinatorNotFound)) throw error;
      // kafkajs drops the brokers' message when they refuse to name a coordinator.
      const asked = cluster.brokerPool.findConnectedBroker();
      const refusal = await asked.then((one) => one.findGroupCoordinator(wanted)).catch((one) => one);
      throw isForbidden(refusal) ? refusal : noteBrokers(error, refusal, cluster.getNodeIds().length);
    }
  }
}

/** The brokers still end the last transaction of the producer. */
function isBusyWithLast(error: unknown): boolean {
  return isProtocolError(error, 'CONCURRENT_TRANSACTIONS');
}

/** Another broker is to be asked. Only what does no harm twice: one of these answers also stands for an append that came too late. */
function isNotCoordinator(error: unknown): boolean {
  return isProtocolError(
    error,
    'NOT_COORDINATOR_FOR_GROUP',
    'GROUP_COORDINATOR_NOT_AVAILABLE',
    'GROUP_LOAD_IN_PROGRESS',
  );
}
