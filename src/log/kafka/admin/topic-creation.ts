import { KafkaJSAggregateError, KafkaJSProtocolError } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import { copiesRemedy, forbidden, isForbidden, kafkaFailure } from '../connection/kafka-failure';
import { type Asking, type TopicDeps, withAdmin } from './topic-admin';
import { ease, effectOf, type RoledTopic, settingsFor } from './topic-rules';

/**
 * Checks whether the missing topics could be created.
 * @param whose for people: `feed ipos`
 * @returns `leftOut` of `create`
 * @throws as `create` if it is refused; nothing is created
 */
export async function assertCreatable(whose: string, missing: readonly RoledTopic[], deps: TopicDeps) {
  const { leftOut } = await withAdmin(deps, (asking) => create(whose, missing, asking, true));
  return leftOut;
}

/**
 * Settings that the cluster refuses are left out if the topic works without them.
 * @param whose for people: `feed ipos`
 * @returns the settings by topic. `leftOut`, for people: the settings that the cluster refused, with its reasons and what follows;
 * null: none
 * @throws HighwaterError KAFKA_FORBIDDEN, KAFKA_UNREACHABLE, LOG_FAILED with the brokers' reasons
 */
export async function create(
  whose: string,
  missing: readonly RoledTopic[],
  { admin, cluster }: Asking,
  validateOnly = false,
): Promise<{ readonly settings: ReadonlyMap<string, Settings>; readonly leftOut: string | null }> {
  const doing = `creating the topics of ${whose}`;
  const asked = new Map(missing.map((one) => [one.spec.name, { ...settingsFor(one) }]));
  const reasons = new Map<string, string[]>();
  const chosen = cluster.replicas ?? null;
  // -1: the brokers' default.
  let replicationFactor = chosen ?? -1;
  for (let open = missing; ; ) {
    const topics = open.map(({ spec }) => ({
      topic: spec.name,
      numPartitions: spec.partitions,
      replicationFactor,
      configEntries: Object.entries(asked.get(spec.name)!).map(([name, value]) => ({ name, value })),
    }));
    const refused = await refusals(admin, { topics, validateOnly }, doing);
    const denied = refused.filter(isForbidden);
    if (denied.length > 0) {
      const names = denied.map(({ topic }) => topic);
      throw forbidden(doing, { operation: 'CREATE', resource: 'topic', names }, cluster, denied[0]);
    }
    if (refused.length === 0) return { settings: asked, leftOut: leftOut(missing, asked, reasons) };
    const brokers = (await admin.describeCluster()).brokers.length;
    const isOfCopies = refused.some(
      ({ type, message }) => type === 'INVALID_REPLICATION_FACTOR' || /replica/i.test(message),
    );
    const ofTopic = new Map(refused.map((one) => [one.topic, one]));
    open = open.filter(({ spec }) => ofTopic.has(spec.name));
    const isEased = open.map(({ role, spec }) => {
      const { type, message } = ofTopic.get(spec.name)!;
      if (isOfCopies || !ofSettings.has(type) || !ease(role, asked.get(spec.name)!, message)) return false;
      reasons.set(spec.name, [...(reasons.get(spec.name) ?? []), `${type}: ${message}`]);
      return true;
    });
    if (isEased.includes(true)) continue;
    if (isOfCopies && replicationFactor === -1 && brokers >= USUAL_COPIES) {
      replicationFactor = USUAL_COPIES;
      continue;
    }
    const said = refused.map(({ topic, type, message }) => `${topic}: ${type}: ${message}`).join('; ');
    throw new HighwaterError('LOG_FAILED', `${doing}: ${said}`, {
      cause: refused[0],
      now: 'The feed is not started; creating its topics is tried again.',
      remedy: isOfCopies
        ? copiesRemedy(brokers, 'default.replication.factor', chosen)
        : `Have the cluster allow it, or create the topics by its own means and as it allows: ${open
            .map((one) => needs(one, asked.get(one.spec.name)!))
            .join('; ')}. A topic that exists is used as it is.`,
    });
  }
}

export const LEFT_OUT_REMEDY = 'Nothing, if that is fine. Otherwise set them by the means of the cluster.';

/** Managed clusters take this number if they do not take their own default. */
const USUAL_COPIES = 3;

const ofSettings = new Set(['POLICY_VIOLATION', 'INVALID_CONFIG', 'INVALID_REQUEST']);

type Settings = Readonly<Record<string, string>>;

/** `ipos.source-offset without segment.ms, so each start may read more (INVALID_CONFIG: cannot set segment.ms)` */
function leftOut(
  missing: readonly RoledTopic[],
  asked: ReadonlyMap<string, Settings>,
  reasons: ReadonlyMap<string, readonly string[]>,
): string | null {
  const topics = new Map<string, string[]>();
  for (const one of missing) {
    const { name } = one.spec;
    const has = asked.get(name)!;
    const lost = Object.entries(settingsFor(one)).filter(([setting, value]) => has[setting] !== value);
    if (lost.length === 0) continue;
    const without = lost.map(([setting, value]) =>
      has[setting] === undefined ? setting : `${setting}=${value} (it has ${has[setting]})`,
    );
    const effects = new Set(lost.map(([setting]) => effectOf(one.role, setting)));
    const said = new Set(reasons.get(name));
    const text = `without ${without.join(', ')}, so ${[...effects].join(' and ')} (${[...said].join('; ')})`;
    topics.set(text, [...(topics.get(text) ?? []), name]);
  }
  if (topics.size === 0) return null;
  const each = [...topics].map(([text, names]) => `${names.join(', ')} ${text}`);
  return `topics are created without the settings that the cluster refuses: ${each.join('; ')}`;
}

function needs({ spec: { name, partitions } }: RoledTopic, settings: Settings): string {
  const needed = Object.entries(settings).map(([setting, value]) => `${setting} ${value}`);
  return [`${name} with ${partitions} partition${partitions === 1 ? '' : 's'}`, ...needed].join(', ');
}

/** The topics that the brokers refuse for good. @throws what `kafkaFailure` makes of a failed request */
async function refusals(
  admin: Asking['admin'],
  request: Pick<Parameters<Asking['admin']['createTopics']>[0], 'topics' | 'validateOnly'>,
  doing: string,
): Promise<readonly CreateTopicError[]> {
  try {
    await admin.createTopics({ ...request, waitForLeaders: false, timeout: createTimeoutMs });
    return [];
  } catch (error) {
    const all = error instanceof KafkaJSAggregateError ? error.errors : [error];
    const others = all.filter((one) => !isCreateTopicError(one));
    if (others.length > 0) throw kafkaFailure(others[0], doing);
    // Another instance creates them at the same time, or the brokers are still at it: they turn up.
    return all
      .filter(isCreateTopicError)
      .filter(({ type }) => type !== 'TOPIC_ALREADY_EXISTS' && type !== 'REQUEST_TIMED_OUT');
  }
}

/** The error that kafkajs throws for one topic; the class is not part of its types. */
type CreateTopicError = KafkaJSProtocolError & { readonly topic: string };

function isCreateTopicError(error: unknown): error is CreateTopicError {
  return error instanceof KafkaJSProtocolError && 'topic' in error;
}

const createTimeoutMs = 10_000;
