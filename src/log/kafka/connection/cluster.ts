import type {
  Admin,
  GroupOverview,
  Kafka,
  PartitionMetadata,
  PartitionOffset,
  RetryOptions,
  TopicPartition,
} from 'kafkajs';
import { unlessLate } from '../../../async/wait';
import { disconnectForGood } from './guards/final-disconnect';

/**
 * The part of kafkajs's internal cluster object that is used here. The published types of kafkajs leave it out, so its version is
 * pinned exactly, and the contract suite runs against it.
 */
export interface Cluster {
  connect(): Promise<void>;
  /** For good. */
  disconnect(): Promise<void>;
  /** Topics that `refreshMetadata` asks about. If one of them does not exist, it throws for all. */
  readonly targetTopics: Set<string>;
  refreshMetadata(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  /** Covers all topics if none are named. Null when no broker answers. */
  metadata(of: {
    readonly topics: readonly string[];
  }): Promise<{ topicMetadata: { topic: string }[] } | null>;
  findTopicPartitionMetadata(topic: string): PartitionMetadata[];
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  getNodeIds(): string[];
  findBroker(node: { readonly nodeId: string }): Promise<Broker>;
  /** @returns any broker that is connected, or can be */
  readonly brokerPool: { findConnectedBroker(): Promise<Broker> };
  /** 1: of transactions, `groupId` is then a transactional id. */
  findGroupCoordinator(of: { readonly groupId: string; readonly coordinatorType: 1 }): Promise<Broker>;
}

export interface Broker {
  readonly nodeId: string;
  /** By API key: the versions that this broker speaks. Null before the first connection. */
  readonly versions: Readonly<Record<number, { readonly maxVersion: number }>> | null;
  /** The methods of kafkajs consist of the next three. */
  lookupRequest<T = ProduceAnswer>(
    apiKey: number,
    definition: { readonly versions: readonly string[] },
  ): (of: object) => ApiCall<T>;
  readonly connectionPool: {
    /** Two, connected or not. */
    readonly pool: readonly BrokerConnection[];
    send<T>(call: ApiCall<T>): Promise<T>;
    /** Connected, if it was not. */
    getConnection(index: 0 | 1): Promise<BrokerConnection>;
  };
  disconnect(): Promise<void>;
  apiVersions(): Promise<unknown>;
  /** Covers all topics if none are named. */
  metadata(topics?: readonly string[]): Promise<unknown>;
  createTopics(request: object): Promise<unknown>;
  listOffsets(request: {
    readonly isolationLevel: 0 | 1;
    readonly topics: readonly OfTopic<{ readonly partition: number; readonly timestamp: number }>[];
  }): Promise<{ readonly responses: readonly OfTopic<PartitionOffset>[] }>;
  readonly describeConfigs: Admin['describeConfigs'];
  /** Groups that this broker coordinates. `protocolType`: empty if no member has ever joined. */
  listGroups(): Promise<{ readonly groups: readonly GroupOverview[] }>;
  /** 0: of a group; 1: of transactions, `groupId` is then a transactional id. @throws the broker's refusal */
  findGroupCoordinator(of: { readonly groupId: string; readonly coordinatorType: 0 | 1 }): Promise<{
    readonly coordinator: { readonly nodeId: number };
  }>;
  /** The next three: of the coordinator of the transactional id. */
  initProducerId(request: {
    readonly transactionalId: string;
    readonly transactionTimeout: number;
  }): Promise<Pick<ProducerIdentity, 'producerId' | 'producerEpoch'>>;
  addPartitionsToTxn(
    request: ProducerIdentity & { readonly topics: readonly OfTopic<number>[] },
  ): Promise<unknown>;
  /** @param request `transactionResult`: true commits */
  endTxn(request: ProducerIdentity & { readonly transactionResult: boolean }): Promise<unknown>;
}

/** A request in the latest protocol version that both the broker and kafkajs speak, and the decoder of its answer. */
export interface ApiCall<T = ProduceAnswer> {
  readonly request: ApiVersion & { readonly encode: () => Promise<unknown> };
  readonly response: {
    decode(payload: Buffer): Promise<{ readonly clientSideThrottleTime?: number }>;
    /** @throws when the answer is an error */
    parse(decoded: object): Promise<T>;
  };
}

export interface ApiVersion {
  readonly apiKey: number;
  readonly apiName: string;
  readonly apiVersion: number;
}

/** The parts of a connection that its own `send` uses. */
export interface BrokerConnection {
  readonly clientId: string;
  /** Null if the brokers need no login. */
  readonly sasl: unknown;
  readonly socket: { cork(): void; write(bytes: Buffer): unknown; uncork(): void };
  isAuthenticated(): boolean;
  nextCorrelationId(): number;
  send<T>(call: ApiCall<T>): Promise<T>;
  /** @throws KafkaJSConnectionError */
  failIfNotConnected(): void;
  /** Waits for the answers to requests that are under way. */
  disconnect(): Promise<unknown>;
  readonly requestQueue: RequestQueue;
}

/** Through which a connection sends. */
export interface RequestQueue {
  /** Requests that a quota of the brokers holds back, or that wait because enough others are on their way. */
  readonly pending: readonly unknown[];
  push(request: {
    readonly entry: ApiVersion & {
      readonly correlationId: number;
      resolve(answer: { readonly payload: Buffer }): void;
      reject(error: Error): void;
    };
    readonly expectResponse: boolean;
    readonly requestTimeout: number | null;
    sendRequest(): void;
  }): void;
  /** Sets a timer that sends as much of `pending` as possible, and then calls this again. */
  scheduleCheckPendingRequests(): void;
  /** Called for each answer, with the time for which the broker reads nothing more from this client, in ms. */
  maybeThrottle(ms: number | null | undefined): void;
  rejectAll(error: Error): void;
}

export interface ProduceAnswer {
  /** How long the broker reads nothing more from this connection because of a quota, in ms. Left out: it reads on. */
  readonly clientSideThrottleTime?: number;
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly baseOffset?: string;
    }[];
  }[];
}

/** The writer under a transactional id, from one InitProducerId to the next. */
export interface ProducerIdentity {
  readonly transactionalId: string;
  /** The same for many owners in a row. */
  readonly producerId: string;
  readonly producerEpoch: number;
}

/**
 * Given in full wherever kafkajs takes retries, since its defaults differ, also under NODE_ENV=test. Five tries end within about six
 * seconds; the caller knows better whether to go on.
 */
export const clientRetry: RetryOptions = {
  initialRetryTime: 100,
  maxRetryTime: 2_000,
  factor: 0.2,
  multiplier: 2,
  retries: 5,
};

/** How long a first connection may take, in ms. Brokers that hang take `clientRetry` to half a minute. */
const CONNECT_MS = 15_000;

/** As requests and answers name partitions: each topic once. */
export interface OfTopic<Partition> {
  readonly topic: string;
  readonly partitions: readonly Partition[];
}

export function byTopic<P extends TopicPartition, T>(places: readonly P[], shape: (place: P) => T) {
  const topics = grouped(places, ({ topic }) => topic);
  return [...topics].map(([topic, own]) => ({ topic, partitions: own.map(shape) }));
}

export function grouped<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}

/** `ipos/0` */
export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

/** The node id of the broker that leads a partition by the cluster's latest metadata. Undefined for an unknown partition. */
export function knownLeader(cluster: Cluster, { topic, partition }: TopicPartition): string | undefined {
  return Object.keys(cluster.findLeaderForPartitions(topic, [partition]))[0];
}

/** @throws Error when the metadata names none, as that of a broker that hung: it counts as unreachable */
export function brokerIds(cluster: Cluster): string[] {
  const ids = cluster.getNodeIds();
  if (ids.length === 0) throw new Error('Failed to connect: the cluster names no broker');
  return ids;
}

/**
 * A cluster to read from without a consumer group. kafkajs has no `assign()`, but it hands its cluster to the assigner of a consumer.
 * This consumer never runs or joins, so the brokers create no group.
 */
export function readingCluster(kafka: Kafka): Cluster {
  let cluster: Cluster | null = null;
  kafka.consumer({
    groupId: 'never-joined',
    readUncommitted: false,
    allowAutoTopicCreation: false,
    metadataMaxAge: 30_000,
    retry: clientRetry,
    partitionAssigners: [
      (given) => {
        cluster = given.cluster as unknown as Cluster;
        disconnectForGood(given.cluster as unknown as Parameters<typeof disconnectForGood>[0]);
        return {
          name: 'none',
          version: 0,
          assign: async () => [],
          protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }),
        };
      },
    ],
  });
  if (cluster === null) throw new Error('kafkajs gave no cluster to the assigner');
  return connectInTime(cluster);
}

function connectInTime(cluster: Cluster): Cluster {
  const connect = cluster.connect.bind(cluster);
  // Begins as kafkajs says it of one broker, and counts as that.
  const late = () => new Error(`Connection timeout: no broker has answered for ${CONNECT_MS / 1_000} s`);
  cluster.connect = () => unlessLate(connect(), CONNECT_MS, new AbortController().signal, late);
  return cluster;
}

/** Lets go of connections that are of no more use. Nobody waits until they are closed: on a dead broker that takes its time. */
export function drop(connections: { disconnect(): Promise<void> }): void {
  connections.disconnect().catch(() => undefined);
}

/** Asks by connections that end with the answer. */
export async function withCluster<Answer>(kafka: Kafka, ask: (cluster: Cluster) => Promise<Answer>) {
  const cluster = readingCluster(kafka);
  try {
    return await ask(cluster);
  } finally {
    drop(cluster);
  }
}
