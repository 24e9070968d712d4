import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Admin,
  ConfigResourceTypes,
  type Kafka,
  KafkaJSAggregateError,
  KafkaJSProtocolError,
} from 'kafkajs';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logger';
import type { FeedTopics, SharedTopicSpec } from '../commit-log';
import {
  type CommandTarget,
  commandLines,
  configCommand,
  createCommand,
  deleteCommand,
} from './admin-commands';
import { forbidden, isForbidden, kafkaFailure, protocolType } from './kafka-failure';
import {
  judge,
  type RoledTopic,
  roledTopics,
  type SettingFinding,
  settingsFor,
  type Verdict,
} from './topic-rules';

/** A topic that exists and may be written to. */
export interface TopicLayout {
  readonly partitions: number;
  /** Size of the largest record that it takes, key, value and headers together, whatever the codec makes of it. */
  readonly maxRecordBytes: number;
}

/** What the cluster tells about one topic. */
export interface TopicReport extends RoledTopic {
  /** Null: it does not exist. */
  readonly exists: {
    readonly partitions: number;
    readonly replicationFactor: number;
    /** Of the partition that has the fewest. */
    readonly inSyncReplicas: number;
  } | null;
  /** Null: it does not exist, or this user may not see it (DESCRIBE_CONFIGS). */
  readonly settings: ReadonlyMap<string, string> | null;
  readonly verdict: Verdict;
}

export interface TopicDeps {
  readonly kafka: Kafka;
  /** For the commands in errors and warnings. */
  readonly cluster: CommandTarget;
  readonly signal: AbortSignal;
}

/**
 * Creates the topics of a feed that are missing and verifies the others.
 * @param deps `warned` holds what was warned of already: a feed is acquired more than once
 * @returns every topic by its name
 * @throws HighwaterError LOG_TOPIC_MISMATCH with every wrong setting and the commands that mend them; KAFKA_FORBIDDEN,
 * KAFKA_UNREACHABLE, LOG_FAILED; the signal's reason
 */
export async function prepareTopics(
  topics: FeedTopics,
  deps: TopicDeps & { readonly logger: Logger; readonly warned: Set<string> },
): Promise<ReadonlyMap<string, TopicLayout>> {
  const wanted = roledTopics(topics);
  refuseSharedNames(topics.feed, wanted);
  const reports = await prepare(`feed ${topics.feed}`, wanted, deps);
  warn(topics.feed, reports, deps);
  return new Map(reports.map((report) => [report.spec.name, layout(report)]));
}

/** Creates a topic that belongs to no feed when it is missing, else verifies it. @throws as prepareTopics */
export async function prepareSharedTopic(spec: SharedTopicSpec, deps: TopicDeps): Promise<TopicLayout> {
  const [report] = await prepare(`topic ${spec.name}`, [{ role: 'shared', spec }], deps);
  return layout(report!);
}

/** @param whose for people: `feed ipos` */
async function prepare(
  whose: string,
  wanted: readonly RoledTopic[],
  deps: TopicDeps,
): Promise<TopicReport[]> {
  const reports = await withAdmin(deps, async (asking) => {
    const described = await describe(wanted, asking);
    const missing = wanted.filter(({ spec }) => described.get(spec.name) === null);
    if (missing.length > 0) {
      await create(whose, missing, asking);
      for (const [name, shape] of await untilThere(missing, asking)) described.set(name, shape);
    }
    const fresh = new Set(missing.map(({ spec }) => spec.name));
    return settled(fresh, asking, () => inspect(wanted, described, asking));
  });
  const wrong = reports.flatMap(({ verdict }) => verdict.wrong);
  if (wrong.length > 0) throw mismatch(whose, wrong, deps.cluster);
  return reports;
}

/** What is there of the topics of a feed, or of one that belongs to none; changes nothing. @throws as prepareTopics, but for LOG_TOPIC_MISMATCH */
export async function inspectTopics(
  topics: FeedTopics | SharedTopicSpec,
  deps: TopicDeps,
): Promise<TopicReport[]> {
  const wanted: RoledTopic[] = 'feed' in topics ? roledTopics(topics) : [{ role: 'shared', spec: topics }];
  return withAdmin(deps, async (asking) => inspect(wanted, await describe(wanted, asking), asking));
}

/** One line for people: `cleanup.policy of ipos is compact, expected delete: all but the last event …`. */
export function findingText({ topic, setting, found, wanted, consequence }: SettingFinding): string {
  return `${setting} of ${topic} is ${found === '' ? 'empty' : found}, expected ${wanted}: ${consequence}`;
}

/** Makes a setting what it should be. One that only a new topic can have deletes the topic, which is created at the next start. */
export function mendCommand(cluster: CommandTarget, { topic, setting, wanted }: SettingFinding): string {
  if (setting === 'partitions') return deleteCommand(cluster, topic);
  return configCommand(cluster, [topic], setting, wanted);
}

type Shape = NonNullable<TopicReport['exists']>;

interface Asking {
  readonly admin: Admin;
  readonly cluster: CommandTarget;
  readonly signal: AbortSignal;
}

async function withAdmin<Answer>(
  { kafka, cluster, signal }: TopicDeps,
  ask: (asking: Asking) => Promise<Answer>,
): Promise<Answer> {
  const admin = kafka.admin();
  try {
    await admin.connect().catch((error) => {
      throw kafkaFailure(error, 'connecting to the brokers');
    });
    return await ask({ admin, cluster, signal });
  } finally {
    // Nobody waits for it: on a dead broker that takes its time.
    admin.disconnect().catch(() => undefined);
  }
}

function refuseSharedNames(feed: string, wanted: readonly RoledTopic[]): void {
  const roles = new Map<string, string>();
  for (const { role, spec } of wanted) {
    const other = roles.get(spec.name);
    if (other !== undefined) {
      throw new HighwaterError(
        'LOG_TOPIC_MISMATCH',
        `the topic ${spec.name} of feed ${feed} is meant for two uses: ${other} and ${role}`,
      );
    }
    roles.set(spec.name, role);
  }
}

/** Null for a topic that does not exist. One request each, for an answer to several tells only the first refusal. */
async function describe(
  wanted: readonly RoledTopic[],
  { admin, cluster }: Asking,
): Promise<Map<string, Shape | null>> {
  const hidden: string[] = [];
  let refusal: unknown;
  const shapes = await Promise.all(
    wanted.map(async ({ spec: { name } }) => {
      try {
        return [name, await shapeOf(admin, name)] as const;
      } catch (error) {
        if (!isForbidden(error)) throw kafkaFailure(error, `looking at the topic ${name}`);
        hidden.push(name);
        refusal = error;
        return [name, null] as const;
      }
    }),
  );
  if (hidden.length > 0) {
    const access = { operation: 'DESCRIBE', resource: 'topic', names: hidden } as const;
    throw forbidden('looking at topics', access, cluster, refusal);
  }
  return new Map(shapes);
}

async function shapeOf(admin: Admin, name: string): Promise<Shape | null> {
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

/**
 * Would create the topics that are missing.
 * @param whose as prepare takes it
 * @throws as prepareTopics where that is refused; nothing is created
 */
export async function assertCreatable(
  whose: string,
  missing: readonly RoledTopic[],
  deps: TopicDeps,
): Promise<void> {
  await withAdmin(deps, (asking) => create(whose, missing, asking, true));
}

/** @param whose as prepare takes it */
async function create(
  whose: string,
  missing: readonly RoledTopic[],
  { admin, cluster }: Asking,
  validateOnly = false,
): Promise<void> {
  const topics = missing.map((one) => ({
    topic: one.spec.name,
    numPartitions: one.spec.partitions,
    // The brokers' default.
    replicationFactor: -1,
    configEntries: Object.entries(settingsFor(one)).map(([name, value]) => ({ name, value })),
  }));
  const doing = `creating the topics of ${whose}`;
  let refused: readonly CreateTopicError[];
  try {
    await admin.createTopics({ topics, validateOnly, waitForLeaders: false, timeout: createTimeoutMs });
    return;
  } catch (error) {
    const all = error instanceof KafkaJSAggregateError ? error.errors : [error];
    const others = all.filter((one) => !isCreateTopicError(one));
    if (others.length > 0) throw kafkaFailure(others[0], doing);
    refused = all.filter(isCreateTopicError);
  }
  // Another instance creates them at the same time, or the brokers are still at it: they turn up.
  const final = refused.filter(({ type }) => type !== 'TOPIC_ALREADY_EXISTS' && type !== 'REQUEST_TIMED_OUT');
  const denied = final.filter(isForbidden);
  if (denied.length > 0) {
    const names = denied.map(({ topic }) => topic);
    throw forbidden(doing, { operation: 'CREATE', resource: 'topic', names }, cluster, denied[0]);
  }
  if (final.length === 0) return;
  const commands = missing
    .filter(({ spec }) => final.some(({ topic }) => topic === spec.name))
    .map((one) => createCommand(cluster, one.spec.name, one.spec.partitions, settingsFor(one)));
  throw new HighwaterError(
    'LOG_FAILED',
    `${doing}: ${final.map(({ topic, type, message }) => `${topic}: ${type}: ${message}`).join('; ')}`,
    {
      cause: final[0],
      now: 'The feed is not started; creating its topics is tried again.',
      remedy: `Create them as the cluster allows, such as by\n${commandLines(commands)}`,
    },
  );
}

/** What kafkajs throws for one topic; the class is not part of its types. */
type CreateTopicError = KafkaJSProtocolError & { readonly topic: string };

function isCreateTopicError(error: unknown): error is CreateTopicError {
  return error instanceof KafkaJSProtocolError && 'topic' in error;
}

const createTimeoutMs = 10_000;
/** A broker answers from its own copy of the cluster's metadata, which lags. */
const turnUpWithinMs = 15_000;

/** The topics once all of their partitions have a leader. */
async function untilThere(missing: readonly RoledTopic[], deps: Asking): Promise<Map<string, Shape>> {
  return eventually(deps.signal, `topics that were created did not turn up`, async () => {
    const described = await describe(missing, deps);
    const there = new Map<string, Shape>();
    for (const [name, shape] of described) {
      if (shape === null) return { not: `${name} is unknown` };
      there.set(name, shape);
    }
    return { so: there };
  });
}

/**
 * A broker that knows of a new topic may not know its settings yet, and names the defaults. So what looks wrong is looked at
 * again, and a topic that this or another instance has just made until it has what it was made with.
 */
async function settled(
  fresh: ReadonlySet<string>,
  { signal }: Asking,
  look: () => Promise<TopicReport[]>,
): Promise<TopicReport[]> {
  const began = Date.now();
  for (;;) {
    const reports = await look();
    const pastMs = Date.now() - began;
    const isOpen = (report: TopicReport): boolean => {
      const { spec, settings, verdict } = report;
      if (!fresh.has(spec.name)) return verdict.wrong.length > 0 && pastMs < lookAgainMs;
      const asked = Object.entries(settingsFor(report));
      const hasAll = settings === null || asked.every(([name, value]) => settings.get(name) === value);
      return !hasAll && pastMs < turnUpWithinMs;
    };
    if (!reports.some(isOpen)) return reports;
    await sleep(200, undefined, { signal });
  }
}

const lookAgainMs = 3_000;

async function inspect(
  wanted: readonly RoledTopic[],
  described: ReadonlyMap<string, Shape | null>,
  deps: Asking,
): Promise<TopicReport[]> {
  return Promise.all(
    wanted.map(async (topic): Promise<TopicReport> => {
      const exists = described.get(topic.spec.name) ?? null;
      const settings = exists === null ? null : await settingsFound(topic.spec.name, deps);
      const verdict =
        exists === null ? { wrong: [], risky: [] } : judge(topic, settings ?? new Map(), exists);
      return { ...topic, exists, settings, verdict };
    }),
  );
}

/** Null when this user may not see them. */
async function settingsFound(
  name: string,
  { admin, signal }: Asking,
): Promise<ReadonlyMap<string, string> | null> {
  const resource = { type: ConfigResourceTypes.TOPIC, name };
  return eventually(signal, 'the settings of a topic could not be read', async () => {
    try {
      const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
      const entries = resources.flatMap(({ configEntries }) => configEntries);
      return { so: new Map(entries.map(({ configName, configValue }) => [configName, configValue])) };
    } catch (error) {
      if (isForbidden(error)) return { so: null };
      if (protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return { not: `${name} is unknown` };
      throw kafkaFailure(error, `reading the settings of the topic ${name}`);
    }
  });
}

/** Asks until the answer is `so`. @throws HighwaterError LOG_FAILED with the last `not` */
async function eventually<Answer>(
  signal: AbortSignal,
  failure: string,
  ask: () => Promise<{ readonly so: Answer } | { readonly not: string }>,
): Promise<Answer> {
  const deadline = Date.now() + turnUpWithinMs;
  for (;;) {
    signal.throwIfAborted();
    const answer = await ask();
    if ('so' in answer) return answer.so;
    if (Date.now() > deadline) {
      throw new HighwaterError('LOG_FAILED', `${failure} within ${turnUpWithinMs / 1000} s: ${answer.not}`, {
        now: 'The feed is not started; that is tried again.',
        remedy: 'Nothing, when it passes. Else look into the log of the brokers.',
      });
    }
    await sleep(100, undefined, { signal });
  }
}

function mismatch(whose: string, wrong: readonly SettingFinding[], cluster: CommandTarget): HighwaterError {
  const anew = new Set(wrong.filter(({ setting }) => setting === 'partitions').map(({ topic }) => topic));
  const commands = wrong
    .filter(({ topic, setting }) => setting === 'partitions' || !anew.has(topic))
    .map((finding) => mendCommand(cluster, finding));
  const number = wrong.length === 1 ? 'a topic is kept' : 'topics are kept';
  return new HighwaterError(
    'LOG_TOPIC_MISMATCH',
    `${whose}: ${number} otherwise than is needed: ${wrong.map(findingText).join('; ')}`,
    {
      now: 'The feed was not started and the topics were left as they are.',
      remedy: `Give the feed topics of its own (highwater.yaml, HIGHWATER_TOPIC_PREFIX), or, if nobody else uses these:\n${commandLines(commands)}`,
    },
  );
}

/** One line for a setting, for all topics that have it so. */
function warn(
  feed: string,
  reports: readonly TopicReport[],
  { cluster, logger, warned }: TopicDeps & { readonly logger: Logger; readonly warned: Set<string> },
): void {
  const once = (message: string, facts: { readonly do: string }): void => {
    const key = `${feed} ${message}`;
    if (warned.has(key)) return;
    warned.add(key);
    logger.warn(message, { feed, ...facts });
  };
  for (const finding of byFinding(reports)) {
    once(riskText(finding), { do: riskCommand(cluster, finding) });
  }
  const unseen = reports.filter(({ settings }) => settings === null).map(({ spec }) => spec.name);
  if (unseen.length > 0) {
    const access = { operation: 'DESCRIBE_CONFIGS', resource: 'topic', names: unseen } as const;
    const { message, remedy } = forbidden('verifying the settings of topics', access, cluster);
    once(`${message}. They are taken for right`, { do: remedy });
  }
}

/** What several topics have alike. */
export type SharedFinding = Omit<SettingFinding, 'topic'> & { readonly topics: readonly string[] };

/** `retention.ms is 604800000 on ipos, recommended -1: older events disappear …` */
export function riskText({ setting, found, wanted, consequence, topics }: SharedFinding): string {
  return `${setting} is ${found} on ${topics.join(', ')}, recommended ${wanted}: ${consequence}`;
}

export function riskCommand(cluster: CommandTarget, { setting, wanted, topics }: SharedFinding): string {
  return configCommand(cluster, topics, setting, wanted);
}

/** What is risky, each setting once. */
export function byFinding(reports: readonly TopicReport[]): SharedFinding[] {
  const groups = new Map<string, SettingFinding & { topics: string[] }>();
  for (const finding of reports.flatMap(({ verdict }) => verdict.risky)) {
    const key = [finding.setting, finding.found, finding.consequence].join(' ');
    const group = groups.get(key) ?? { ...finding, topics: [] };
    group.topics.push(finding.topic);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Kafka's own default of max.message.bytes. */
const defaultMaxMessageBytes = 1_048_588;

/**
 * The brokers count the batch as it comes, compressed. A batch of one record adds its framing; a codec that finds nothing to
 * save adds less than a thousandth.
 */
function layout({ exists, settings }: TopicReport): TopicLayout {
  const told = Number(settings?.get('max.message.bytes') ?? Number.NaN);
  const limit = Number.isInteger(told) && told > 0 ? told : defaultMaxMessageBytes;
  const maxRecordBytes = Math.max(limit - 1_024 - Math.ceil(limit / 1_000), 1);
  return { partitions: exists?.partitions ?? 0, maxRecordBytes };
}
