import {
  KafkaJSBrokerNotFound,
  KafkaJSConnectionError,
  KafkaJSError,
  KafkaJSGroupCoordinatorNotFound,
  KafkaJSLockTimeout,
  KafkaJSProtocolError,
  KafkaJSRequestTimeoutError,
  KafkaJSSASLAuthenticationError,
} from 'kafkajs';
import { type ErrorCode, HighwaterError } from '../../../errors';
import { type Access, aclCommand, type CommandTarget, configCommand } from './admin-commands';
import { asWritten } from './bootstrap';
import { tlsFailure } from './tls-failure';

/** The question to the brokers. An error names it if they refuse it. */
export interface Asked {
  readonly operation: Access['operation'];
  readonly topics: readonly string[];
  readonly transactionalId?: string;
  readonly groupId?: string;
  readonly cluster: CommandTarget;
}

/**
 * A failure of Kafka in words for people.
 * @param doing the action that failed: `writing a page of feed ipos`
 * @param asked names the refused topics or ids if the brokers' answer does not
 * @returns KAFKA_UNREACHABLE, KAFKA_CERTIFICATE, KAFKA_UNAUTHENTICATED, KAFKA_FORBIDDEN or LOG_FAILED; an error that does not come
 * from Kafka as it is
 */
export function kafkaFailure(error: unknown, doing: string, asked?: Asked): unknown {
  if (error instanceof HighwaterError) return error;
  const chain = causes(error);
  const named = chain.find((one) => one instanceof HighwaterError);
  if (named !== undefined) {
    const { code, message, remedy } = named;
    return new HighwaterError(code, `${doing}: ${message}`, { cause: error, remedy });
  }
  if (!chain.some((one) => one instanceof KafkaJSError || isOfConnection(one))) return error;
  const says = chain.at(-1)!.message;
  const failed = (code: ErrorCode, what: string, remedy?: string) =>
    new HighwaterError(code, `${doing}: ${what}`, { cause: error, ...(remedy !== undefined && { remedy }) });
  if (chain.some((one) => one instanceof KafkaJSSASLAuthenticationError))
    return failed('KAFKA_UNAUTHENTICATED', says);
  for (const { code, broker, message } of chain as readonly (Error & {
    code?: unknown;
    broker?: unknown;
  })[]) {
    const tls = typeof code === 'string' && typeof broker === 'string' ? tlsFailure(code) : null;
    if (tls === null) continue;
    const reason = message.replace(/^Connection error: /, '');
    return failed(tls.code, `${asWritten(String(broker))}: ${reason}`, tls.remedy);
  }
  const type = protocolType(error);
  if (type !== null && Object.hasOwn(loginRefusals, type)) {
    const { what, remedy } = loginRefusals[type]!;
    return failed('KAFKA_UNAUTHENTICATED', `${what} (${type})`, remedy);
  }
  if (type !== null && isForbidden(error)) {
    const access = asked === undefined ? null : refusedAccess(type, asked);
    // Brokers do not say which of several topics they refuse.
    const which = access !== null && access.names.length > 1 ? ', or on some of them' : '';
    if (access !== null) return forbidden(doing, access, asked!.cluster, error, which);
    return failed('KAFKA_FORBIDDEN', type);
  }
  const closed = chain.find(
    (one) => one instanceof KafkaJSConnectionError && one.message === 'Closed connection',
  ) as KafkaJSConnectionError | undefined;
  if (closed !== undefined) {
    const remedy =
      'Nothing, if it passes. Otherwise the brokers may demand a login there (KAFKA_SASL_USERNAME) or TLS (KAFKA_SSL), or look into their log.';
    return failed('KAFKA_UNREACHABLE', `${asWritten(closed.broker ?? '')} closed the connection`, remedy);
  }
  if (type === 'INVALID_TIMESTAMP') {
    const { what, remedy } = timeRefused(chain, asked);
    return failed('LOG_FAILED', what, remedy);
  }
  const large = type === 'MESSAGE_TOO_LARGE' ? refusedOf(chain) : undefined;
  if (large !== undefined && asked !== undefined) {
    const { what, remedy } = sizeRefused(large.topics, asked);
    return failed('LOG_FAILED', what, remedy);
  }
  const few = chain.map((one) => fewBrokers.get(one)).find((one) => one !== undefined);
  if (few !== undefined) {
    const settings = 'offsets.topic.replication.factor and transaction.state.log.replication.factor';
    const remedy = `Nothing, if it passes. Otherwise the brokers cannot make the topics in which they keep groups and transactions. ${copiesRemedy(few, settings)}`;
    return failed('KAFKA_UNREACHABLE', `no broker coordinates it (${says})`, remedy);
  }
  if (chain.some(isOfConnection)) return failed('KAFKA_UNREACHABLE', says);
  return failed('LOG_FAILED', `${type === null ? '' : `${type}: `}${says}`, BROKERS_LOGS);
}

const BROKERS_LOGS = 'Nothing, if it passes. Otherwise look into the logs of the brokers.';

/** A failure that only the brokers can explain. */
export function brokersFailed(what: string, more: { readonly now?: string } = {}): HighwaterError {
  return new HighwaterError('LOG_FAILED', what, { ...more, remedy: BROKERS_LOGS });
}

const clockRemedy =
  'Set the clock of this machine by NTP; `highwater doctor` compares it with those of the API and the registry. Brokers take no record that is further ahead of their own clock than message.timestamp.after.max.ms (1 h by default), or further behind than message.timestamp.before.max.ms. If this clock is right, set those of the brokers.';

/** Records of now are never this old, ms; those of a copied log are. */
const HISTORY_MS = 3_600_000;
/** Kafka's default of message.timestamp.before.max.ms: no limit. */
const NO_LIMIT = `${2n ** 63n - 1n}`;

function timeRefused(chain: readonly Error[], asked: Asked | undefined): { what: string; remedy: string } {
  const iso = (ms: number) => new Date(ms).toISOString();
  const now = Date.now();
  const what = `the brokers refuse the time of a record (INVALID_TIMESTAMP); the clock of this machine says ${iso(now)}`;
  const sent = refusedOf(chain);
  if (sent === undefined || asked === undefined) return { what, remedy: clockRemedy };
  const { topics, oldestMs } = sent;
  const older = `Let the topics take old records (before Kafka 3.6: message.timestamp.difference.max.ms):\n${configCommand(asked.cluster, topics, 'message.timestamp.before.max.ms', NO_LIMIT)}`;
  return {
    what: `${what}, and the oldest record for ${topics.join(', ')} is of ${iso(oldestMs)}`,
    remedy: now - oldestMs > HISTORY_MS ? older : clockRemedy,
  };
}

/** Kafka's own default of max.message.bytes. */
export const DEFAULT_MESSAGE_BYTES = 1_048_588;

/** For records of a feed, which are gathered by the limits of their topics: one was lowered since. */
function sizeRefused(topics: readonly string[], { cluster }: Asked) {
  const what = `the brokers refuse records for ${topics.join(', ')} as too large (MESSAGE_TOO_LARGE): max.message.bytes of the topic was lowered`;
  const command = configCommand(cluster, topics, 'max.message.bytes', String(DEFAULT_MESSAGE_BYTES));
  const remedy = `Nothing, if it was meant: within a minute the publisher goes by it, and rows that are larger become dead letters. Otherwise raise it (Kafka's default is ${DEFAULT_MESSAGE_BYTES}):\n${command}`;
  return { what, remedy };
}

/** For errors that refuse the time or the size of a record: what was sent. */
const refused = new WeakMap<Error, { readonly topics: readonly string[]; readonly oldestMs: number }>();

const refusedOf = (chain: readonly Error[]) =>
  chain.map((one) => refused.get(one)).find((one) => one !== undefined);

/** Notes which records a refused request had. @returns the error */
export function noteRefused<T>(
  error: T,
  sends: readonly { readonly topic: string; readonly records: { readonly firstTimestamp: number } }[],
): T {
  if (!(error instanceof Error) || !isProtocolError(error, 'INVALID_TIMESTAMP', 'MESSAGE_TOO_LARGE'))
    return error;
  const oldestMs = Math.min(...sends.map(({ records }) => records.firstTimestamp));
  refused.set(error, { topics: [...new Set(sends.map(({ topic }) => topic))], oldestMs });
  return error;
}

/** Refusals that come before a password is checked. */
const loginRefusals: Readonly<Record<string, { readonly what: string; readonly remedy: string }>> = {
  UNSUPPORTED_SASL_MECHANISM: {
    what: 'the brokers do not take logins by this mechanism here',
    remedy:
      'Set a mechanism that they take (KAFKA_SASL_MECHANISM), or have them take it (sasl.enabled.mechanisms).',
  },
  ILLEGAL_SASL_STATE: {
    what: 'the brokers take no logins here, or end a session within seconds',
    remedy:
      'Name the port of a listener that does (KAFKA_BROKERS), or leave out KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD. Sessions must last more than 10 s (connections.max.reauth.ms).',
  },
};

/**
 * For a cluster with fewer brokers than it wants copies of a topic: one or two brokers that were started with Kafka's defaults.
 * @param settings of server.properties, for people
 * @param chosen number of replicas that a setting of highwater says; null: the brokers decide
 */
export function copiesRemedy(brokers: number, settings: string, chosen: number | null = null): string {
  const number = brokers === 1 ? '1 broker' : `${brokers} brokers`;
  if (chosen !== null)
    return `The cluster has ${number}. Set HIGHWATER_REPLICAS, which is ${chosen}, to a number that the cluster takes, or leave it out: the brokers then decide.`;
  return `The cluster has ${number}, and a topic cannot have more copies than that. Start the brokers that are missing, or set ${settings} to ${brokers} or less (server.properties of each broker) and restart the brokers.`;
}

/** Errors of a cluster that has no coordinator and fewer brokers than Kafka's default of copies, with the number of brokers. */
const fewBrokers = new WeakMap<Error, number>();
const DEFAULT_COPIES = 3;

/** Notes how many brokers there are, for the remedy. @param refusal of the brokers, when they were asked for a coordinator */
export function noteBrokers<T>(error: T, refusal: unknown, brokers: number): T {
  const isWithout = protocolType(refusal) === 'GROUP_COORDINATOR_NOT_AVAILABLE';
  if (isWithout && error instanceof Error && brokers < DEFAULT_COPIES) fewBrokers.set(error, brokers);
  return error;
}

/** Whether another try may succeed. @param failure as `kafkaFailure` returns it */
export function passesByItself(failure: unknown): failure is HighwaterError {
  return failure instanceof HighwaterError && failure.kind.retriable;
}

/** Whether a broker could not be reached, or did not answer. */
export function isUnreachable(error: unknown): boolean {
  const failure = kafkaFailure(error, '');
  return failure instanceof HighwaterError && failure.code === 'KAFKA_UNREACHABLE';
}

/** Whether the same request may succeed when it is sent again: leaders and coordinators move, connections are renewed. */
export function mayPass(error: unknown): boolean {
  const chain = causes(error);
  const answer = chain.find((one) => one instanceof KafkaJSProtocolError);
  if (answer !== undefined) return answer.retriable;
  // kafkajs has already retried, or was refused.
  if (chain.some((one) => one instanceof KafkaJSGroupCoordinatorNotFound)) return false;
  return chain.some((one) => isOfConnection(one) || (one instanceof KafkaJSError && one.retriable));
}

/** Whether the brokers refused this user the request. */
export function isForbidden(error: unknown): boolean {
  return protocolType(error)?.endsWith('_AUTHORIZATION_FAILED') === true;
}

/** Names the operation that this user lacks, the topics or ids, and the command that allows it. */
export function forbidden(
  doing: string,
  access: Access,
  cluster: CommandTarget,
  cause?: unknown,
  which = '',
): HighwaterError {
  const { operation, resource, names } = access;
  const on = resource === 'cluster' ? 'the cluster' : `${resourceNames[resource]} ${names.join(', ')}`;
  const what = `${doing}: the brokers do not allow ${operation} on ${on}${which}`;
  return new HighwaterError('KAFKA_FORBIDDEN', what, {
    cause,
    remedy: `Allow it:\n${aclCommand(cluster, access)}`,
  });
}

const resourceNames = { topic: 'topic', 'transactional-id': 'transactional id', group: 'consumer group' };

/** Null if the answer is about something that was not asked for by name. */
function refusedAccess(type: string, { operation, topics, transactionalId, groupId }: Asked): Access | null {
  if (type === 'GROUP_AUTHORIZATION_FAILED' && groupId !== undefined)
    return { operation, resource: 'group', names: [groupId] };
  if (type === 'TOPIC_AUTHORIZATION_FAILED' && topics.length > 0)
    return { operation, resource: 'topic', names: topics };
  // Beginning and ending a transaction both need WRITE on its id, even if it has no records.
  if (type === 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' && transactionalId !== undefined)
    return { operation: 'WRITE', resource: 'transactional-id', names: [transactionalId] };
  if (type !== 'CLUSTER_AUTHORIZATION_FAILED') return null;
  // Brokers refuse the whole producer of a user who may not write to any topic.
  return {
    operation: operation === 'WRITE' ? 'IDEMPOTENT_WRITE' : operation,
    resource: 'cluster',
    names: [],
  };
}

/** Kafka's name of a protocol error anywhere in the chain of causes: `INVALID_PRODUCER_EPOCH`. */
export function protocolType(error: unknown): string | null {
  for (const one of causes(error)) {
    if (one instanceof KafkaJSProtocolError) return one.type;
  }
  return null;
}

/** Whether the brokers answered with one of these errors, by Kafka's names of them. */
export function isProtocolError(error: unknown, ...types: readonly string[]): boolean {
  const type = protocolType(error);
  return type !== null && types.includes(type);
}

/** Whether the brokers have no topic of a name, because there is none yet, or because Kafka takes none of that name. */
export function isOfMissingTopic(error: unknown): boolean {
  return isProtocolError(error, 'UNKNOWN_TOPIC_OR_PARTITION', 'INVALID_TOPIC_EXCEPTION');
}

/**
 * The producer was refused because it is not the latest of its transactional id: another one took over, or its transaction ran into
 * its timeout. Brokers do not tell these apart.
 */
export function isRefusedProducer(error: unknown): boolean {
  return isProtocolError(
    error,
    'INVALID_PRODUCER_EPOCH',
    'PRODUCER_FENCED',
    'INVALID_PRODUCER_ID_MAPPING',
    'TRANSACTION_COORDINATOR_FENCED',
  );
}

function isOfConnection(error: Error): boolean {
  return (
    error instanceof KafkaJSConnectionError ||
    error instanceof KafkaJSRequestTimeoutError ||
    error instanceof KafkaJSBrokerNotFound ||
    error instanceof KafkaJSLockTimeout ||
    // kafkajs wraps errors of the socket in other classes and keeps their text. For a broker that took the connection and did not
    // answer it throws a plain Error.
    /^(Broker not connected|Connection error|Connection timeout|Closed connection|Failed to connect|Failed to find group coordinator)/.test(
      error.message,
    )
  );
}

/** The error and its causes, outermost first. If several errors caused one, only the first is followed. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && !chain.includes(one); ) {
    chain.push(one);
    const { errors } = one as { errors?: unknown[] };
    one = one.cause ?? errors?.[0];
  }
  return chain;
}
