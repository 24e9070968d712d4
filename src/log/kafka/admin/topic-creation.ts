import { KafkaJSAggregateError, KafkaJSProtocolError } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import { commandLines, createCommand } from '../connection/admin-commands';
import { forbidden, isForbidden, kafkaFailure } from '../connection/kafka-failure';
import {
  type Asking,
  describe,
  eventually,
  NotYet,
  type Shape,
  type TopicDeps,
  withAdmin,
} from './topic-admin';
import { type RoledTopic, settingsFor } from './topic-rules';

/**
 * Checks whether the missing topics could be created.
 * @param whose for people: `feed ipos`
 * @throws as `create` if it is refused; nothing is created
 */
export async function assertCreatable(
  whose: string,
  missing: readonly RoledTopic[],
  deps: TopicDeps,
): Promise<void> {
  await withAdmin(deps, (asking) => create(whose, missing, asking, true));
}

/**
 * @param whose for people: `feed ipos`
 * @throws HighwaterError KAFKA_FORBIDDEN, KAFKA_UNREACHABLE, LOG_FAILED
 */
export async function create(
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

/** The error that kafkajs throws for one topic; the class is not part of its types. */
type CreateTopicError = KafkaJSProtocolError & { readonly topic: string };

function isCreateTopicError(error: unknown): error is CreateTopicError {
  return error instanceof KafkaJSProtocolError && 'topic' in error;
}

const createTimeoutMs = 10_000;

/** The topics, once all of their partitions have a leader. */
export async function untilThere(missing: readonly RoledTopic[], deps: Asking): Promise<Map<string, Shape>> {
  return eventually(deps.signal, 'topics that were created did not turn up', async () => {
    const described = [...(await describe(missing, deps))];
    return new Map(
      described.map(([name, shape]) => {
        if (shape === null) throw new NotYet(`${name} is unknown`);
        return [name, shape];
      }),
    );
  });
}
