import type { Config } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { counted } from '../../format/counted';
import {
  examineBrokers,
  examineCopies,
  examineTransactions,
  type LackingCopies,
} from '../../log/kafka/admin/examine';
import type { TopicDeps, TopicReport } from '../../log/kafka/admin/topic-admin';
import { assertCreatable, LEFT_OUT_REMEDY } from '../../log/kafka/admin/topic-creation';
import { byFinding, findingText, fixes, riskText } from '../../log/kafka/admin/topic-findings';
import { inspectTopics } from '../../log/kafka/admin/topic-settings';
import { commandLines, configCommand } from '../../log/kafka/connection/admin-commands';
import { type KafkaConfig, kafkaClient } from '../../log/kafka/connection/client';
import { type CodecName, compressionType } from '../../log/kafka/connection/compression';
import { examineGroup } from '../../log/kafka/group/examine-group';
import { SESSION_TIMEOUT_MS } from '../../log/kafka/group/membership';
import { ownersGroup } from '../../log/kafka/group/owners-protocol';
import { commandsTopic, feedTopics } from '../../log/topics';
import type { Logger } from '../../logging/logger';
import {
  type Check,
  type Checks,
  checked,
  failed,
  failedBy,
  forCommands,
  known,
  ok,
  okByClock,
  type Subject,
  skipped,
  warning,
} from './check';

/** Brokers, login, codec, group, transactions, each feed's topics and that of commands. Creates nothing, fences nobody, leaves nothing that a reader sees. */
export async function* checkKafka(
  { appId, topicPrefix, partitions, feeds }: Config,
  cluster: KafkaConfig,
  logger: Logger,
  signal: AbortSignal,
): Checks {
  const kafka = kafkaClient(cluster, appId, logger);
  const deps = { kafka, cluster, signal };
  const first = await checkBrokers(cluster, deps);
  yield* first;
  yield await checked('compression', () => checkCodec(cluster.compression));
  if (first.some(({ state }) => state === 'failed')) {
    const why = 'the brokers cannot be used';
    yield skipped('group', why);
    yield skipped('transactions', why);
    for (const { name } of feeds) yield skipped({ check: 'topics', feed: name }, why);
    yield skipped('command-topic', why);
    return;
  }
  const lacking = await examineCopies(deps).catch(known);
  yield lacks('group') ?? (await checked('group', checkGroup));
  const inspected: (readonly [Feed, readonly TopicReport[] | HighwaterError])[] = [];
  for (const feed of feeds) {
    const topics = feedTopics(feed, topicPrefix, partitions);
    inspected.push([feed, await inspectTopics(topics, deps).catch(known)]);
  }
  yield lacks('transactions') ?? (await checked('transactions', checkTransactions));
  for (const [{ name }, reports] of inspected) {
    const subject = { check: 'topics', feed: name };
    yield await checked(subject, () => checkTopics(subject, `feed ${name}`, 'the first run', reports));
  }
  const reports = await inspectTopics(commandsTopic(appId, topicPrefix), deps).catch(known);
  const check = () => checkTopics('command-topic', 'commands', 'the first command', reports);
  yield forCommands(await checked('command-topic', check));

  /** Null: the check itself tells more. */
  function lacks(check: LackingCopies['of']): Check | null {
    if (lacking instanceof HighwaterError) return null;
    const one = lacking.find(({ of }) => of === check);
    return one === undefined ? null : failed(check, one.found, one.remedy, 'LOG_FAILED');
  }

  async function checkGroup(): Promise<Check> {
    const groupId = ownersGroup(appId, topicPrefix);
    const { sessionTimeoutMs = SESSION_TIMEOUT_MS } = cluster;
    const instances = await examineGroup({ kafka, target: cluster, groupId, sessionTimeoutMs, signal });
    if (instances === null) return ok('group', 'nobody is in it, the first run makes it');
    if (instances.length === 0) return ok('group', 'nobody is in it');
    const has = instances.map(({ instance, feeds }) =>
      feeds.length === 0 ? `${instance} waits` : `${instance} has ${[...feeds].sort().join(', ')}`,
    );
    return ok('group', `${counted(has.length, 'instance')}: ${has.join('; ')}`);
  }

  async function checkTransactions(): Promise<Check> {
    const there = inspected.flatMap(([, reports]) =>
      reports instanceof HighwaterError ? [] : reports.filter(({ exists }) => exists !== null),
    );
    const topics = [...new Set(there.map(({ spec }) => spec.name))];
    const aheadMs = await examineTransactions({ kafka, cluster, appId, topicPrefix, topics });
    const over =
      topics.length === 0 ? 'one was begun' : `one was begun over ${topics.length} topics and aborted`;
    return okByClock('transactions', over, aheadMs, 'that of a broker');
  }

  /**
   * @param whose for people: `feed ipos`
   * @param madeBy for people, what creates the missing topics: `the first run`
   */
  async function checkTopics(
    subject: Subject,
    whose: string,
    madeBy: string,
    reports: readonly TopicReport[] | HighwaterError,
  ): Promise<Check> {
    if (reports instanceof HighwaterError) throw reports;
    const missing = reports.filter(({ exists }) => exists === null);
    const wrong = reports.flatMap(({ verdict }) => verdict.wrong);
    if (wrong.length > 0) {
      return failed(subject, wrong.map(findingText).join('; '), fixes(cluster, wrong), 'LOG_TOPIC_MISMATCH');
    }
    const starved = reports.flatMap(starvation);
    if (starved.length > 0) {
      const remedy = 'Bring the missing brokers back: nothing can be written before.';
      return failed(subject, starved.join('; '), remedy);
    }
    const leftOut = missing.length > 0 ? await assertCreatable(whose, missing, deps) : null;
    const there = `${reports.length - missing.length} of ${reports.length} exist`;
    const others = reports.filter(
      ({ exists, spec }) => (exists?.partitions ?? spec.partitions) !== spec.partitions,
    );
    const kept = others.map(
      ({ exists, spec }) => `; ${spec.name} keeps its ${exists!.partitions} partitions`,
    );
    const made = missing.length === 0 ? '' : `, what is missing may be created and will be by ${madeBy}`;
    const found = [there, made, ...kept].join('');
    const notes: Note[] = [...unverified(reports), ...tooFewReplicas(reports)];
    if (leftOut !== null) notes.push([leftOut, LEFT_OUT_REMEDY]);
    const risky = byFinding(reports);
    if (risky.length > 0) {
      const commands = risky.map(({ topics, setting, wanted }) =>
        configCommand(cluster, topics, setting, wanted),
      );
      notes.push([risky.map(riskText).join('; '), commandLines(commands)]);
    }
    if (notes.length === 0) return ok(subject, found);
    const text = [found, ...notes.map(([what]) => what)].join('; ');
    return warning(subject, text, notes.map(([, remedy]) => remedy).join('\n'));
  }
}

function checkCodec(codec: CodecName): Check {
  compressionType(codec);
  if (codec === 'none') return ok('compression', 'none');
  if (codec === 'gzip') return ok('compression', 'gzip, which every client reads by itself');
  return ok('compression', `${codec}; a consumer with kafkajs must register it: docs/guides/node.md`);
}

async function checkBrokers(cluster: KafkaConfig, deps: TopicDeps): Promise<Check[]> {
  const { brokers: addresses, sasl } = cluster;
  const by = sasl?.username === undefined ? 'by a token' : `as ${sasl.username}`;
  const login = sasl === null ? 'without a login' : `${by} (${sasl.mechanism})`;
  try {
    const brokers = await examineBrokers(deps);
    const away = brokers.filter(({ unreachable }) => unreachable !== null);
    if (away.length === 0) {
      const all = brokers.map(({ address }) => address).join(', ');
      return [ok('brokers', `${brokers.length} reachable: ${all}`), ok('login', login)];
    }
    const found = away.map(({ id, address, unreachable }) => `broker ${id} at ${address}: ${unreachable}`);
    const remedy =
      'The brokers name these addresses to their clients (advertised.listeners): make them reachable from here, or have the brokers name others.';
    return [failed('brokers', found.join('; '), remedy, 'KAFKA_UNREACHABLE'), ok('login', login)];
  } catch (error) {
    const isLogin = error instanceof HighwaterError && error.code === 'KAFKA_UNAUTHENTICATED';
    if (isLogin) return [ok('brokers', `reachable: ${addresses.join(', ')}`), failedBy('login', error)];
    return [failedBy('brokers', error), skipped('login', 'the brokers cannot be reached')];
  }
}

type Note = readonly [found: string, remedy: string];

function unverified(reports: readonly TopicReport[]): Note[] {
  const unseen = reports.filter(({ exists, settings }) => exists !== null && settings === null);
  if (unseen.length === 0) return [];
  const names = unseen.map(({ spec }) => spec.name).join(', ');
  const remedy = 'Allow DESCRIBE_CONFIGS on them, if you want them verified. Publishing works without.';
  return [[`the settings of ${names} may not be seen by this user`, remedy]];
}

const wantedInSync = ({ settings }: TopicReport): number => Number(settings?.get('min.insync.replicas') ?? 1);

/** Fewer replicas in sync than a write needs. Brokers since Kafka 3.7 want no more than the topic has replicas. */
function starvation(report: TopicReport): string[] {
  const { spec, exists } = report;
  if (exists === null) return [];
  const needed = Math.min(wantedInSync(report), exists.replicationFactor);
  if (exists.inSyncReplicas >= needed) return [];
  return [
    `${spec.name} has ${exists.inSyncReplicas} replicas in sync where min.insync.replicas is ${needed}`,
  ];
}

/** Topics that no write can come to before Kafka 3.7. */
function tooFewReplicas(reports: readonly TopicReport[]): Note[] {
  const few = reports.filter(
    (report) => report.exists !== null && report.exists.replicationFactor < wantedInSync(report),
  );
  if (few.length === 0) return [];
  const names = few.map(({ spec }) => spec.name).join(', ');
  const found = `min.insync.replicas is greater than the number of replicas of ${names}: brokers before Kafka 3.7 refuse each write`;
  return [[found, 'Give these topics more replicas, or lower min.insync.replicas.']];
}
