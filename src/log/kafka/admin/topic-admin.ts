import { type Admin, ConfigResourceTypes, type Kafka } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { unlessAborted } from '../../../async/wait';
import type { Access, CommandTarget } from '../connection/admin-commands';
import type { KafkaConfig } from '../connection/client';
import { drop } from '../connection/cluster';
import {
  brokersFailed,
  forbidden,
  isForbidden,
  kafkaFailure,
  protocolType,
} from '../connection/kafka-failure';
import { judge, type RoledTopic, type Verdict } from './topic-rules';

/** The cluster's description of one topic. */
export interface TopicReport extends RoledTopic {
  /** Null: it does not exist. */
  readonly exists: {
    readonly partitions: number;
    readonly replicationFactor: number;
    /** The number for the partition that has the fewest. */
    readonly inSyncReplicas: number;
  } | null;
  /** Null: it does not exist, or this user may not see it (DESCRIBE_CONFIGS). */
  readonly settings: ReadonlyMap<string, string> | null;
  readonly verdict: Verdict;
}

export interface TopicDeps {
  readonly kafka: Kafka;
  readonly cluster: CommandTarget & Pick<KafkaConfig, 'replicas'>;
  readonly signal: AbortSignal;
}

export type Shape = NonNullable<TopicReport['exists']>;

/** Asking the cluster by one connection. */
export interface Asking extends Omit<TopicDeps, 'kafka'> {
  readonly admin: Admin;
}

export async function withAdmin<Answer>(
  { kafka, cluster, signal }: TopicDeps,
  ask: (asking: Asking) => Promise<Answer>,
): Promise<Answer> {
  const admin = kafka.admin();
  try {
    const connected = admin.connect().catch((error) => {
      throw kafkaFailure(error, 'connecting to the brokers');
    });
    await unlessAborted(connected, signal);
    return await unlessAborted(ask({ admin, cluster, signal }), signal);
  } finally {
    drop(admin);
  }
}

/** Null for a topic that does not exist. */
export function describe(wanted: readonly RoledTopic[], { admin, cluster }: Asking) {
  const names = wanted.map(({ spec }) => spec.name);
  const ask = (name: string) =>
    shapeOf(admin, name).catch((error: unknown) => {
      throw kafkaFailure(error, `looking at the topic ${name}`);
    });
  return askEach(names, ask, 'looking at topics', 'DESCRIBE', cluster);
}

/**
 * Asks about topics one by one: of several at once, brokers do not say which they refuse.
 * @returns the answers by topic
 * @throws HighwaterError KAFKA_FORBIDDEN that names every refused topic; other errors of the questions
 */
export async function askEach<Answer>(
  topics: readonly string[],
  ask: (topic: string) => Promise<Answer>,
  doing: string,
  operation: Access['operation'],
  cluster: CommandTarget,
): Promise<Map<string, Answer>> {
  const refusals = new Map<string, unknown>();
  const answers = topics.map(async (topic) => {
    try {
      return [[topic, await ask(topic)] as const];
    } catch (error) {
      if (!isForbidden(error)) throw error;
      refusals.set(topic, error);
      return [];
    }
  });
  const answered = new Map((await Promise.all(answers)).flat());
  const names = topics.filter((topic) => refusals.has(topic));
  if (names.length === 0) return answered;
  throw forbidden(doing, { operation, resource: 'topic', names }, cluster, refusals.get(names[0]!));
}

/** Null: it does not exist. @throws what kafkajs throws */
export async function shapeOf(admin: Admin, name: string): Promise<Shape | null> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [name] });
    const partitions = topics.find((topic) => topic.name === name)?.partitions ?? [];
    if (partitions.length === 0) return null;
    const replicationFactor = Math.min(...partitions.map(({ replicas }) => replicas.length));
    const inSyncReplicas = Math.min(...partitions.map(({ isr }) => isr.length));
    return { partitions: partitions.length, replicationFactor, inSyncReplicas };
  } catch (error) {
    if (protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return null;
    throw error;
  }
}

/** Compares the topics on the brokers with the wanted ones. */
export async function inspect(
  wanted: readonly RoledTopic[],
  described: ReadonlyMap<string, Shape | null>,
  deps: Asking,
): Promise<TopicReport[]> {
  const reports = wanted.map(async (topic): Promise<TopicReport> => {
    const exists = described.get(topic.spec.name) ?? null;
    if (exists === null) return { ...topic, exists, settings: null, verdict: { wrong: [], risky: [] } };
    const settings = await settingsFound(topic.spec.name, deps);
    return { ...topic, exists, settings, verdict: judge(topic, settings ?? new Map(), exists) };
  });
  return Promise.all(reports);
}

/** Null when this user may not see them. */
async function settingsFound(name: string, { admin, signal }: Asking) {
  return eventually(signal, 'the settings of a topic could not be read', async () => {
    try {
      return await configOf(admin, ConfigResourceTypes.TOPIC, name);
    } catch (error) {
      if (isForbidden(error)) return null;
      if (protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') throw new NotYet(`${name} is unknown`);
      throw kafkaFailure(error, `reading the settings of the topic ${name}`);
    }
  });
}

/** The settings of a topic or a broker. @throws what kafkajs throws */
export async function configOf(
  asked: Pick<Admin, 'describeConfigs'>,
  type: ConfigResourceTypes,
  name: string,
): Promise<ReadonlyMap<string, string>> {
  const { resources } = await asked.describeConfigs({ resources: [{ type, name }], includeSynonyms: false });
  const entries = resources.flatMap(({ configEntries }) => configEntries);
  return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
}

/** A broker answers from its own copy of the cluster's metadata, which lags. */
export const turnUpWithinMs = 15_000;

/** The brokers do not know the topic yet, but will. */
export class NotYet extends Error {}

/** Asks again while the answer is `NotYet`. @throws HighwaterError LOG_FAILED with the last `NotYet` */
export async function eventually<Answer>(signal: AbortSignal, failure: string, ask: () => Promise<Answer>) {
  const isNotYet = (error: unknown) => error instanceof NotYet;
  signal.throwIfAborted();
  try {
    return await retrying(ask, { signal, isWorthIt: isNotYet, pauseMs: 100, forMs: turnUpWithinMs });
  } catch (error) {
    if (!isNotYet(error)) throw error;
    const what = `${failure} within ${turnUpWithinMs / 1000} s: ${(error as NotYet).message}`;
    throw brokersFailed(what, { now: 'The feed is not started; that is tried again.' });
  }
}
