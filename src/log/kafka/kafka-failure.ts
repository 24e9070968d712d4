import {
  KafkaJSBrokerNotFound,
  KafkaJSConnectionError,
  KafkaJSError,
  KafkaJSLockTimeout,
  KafkaJSProtocolError,
  KafkaJSRequestTimeoutError,
  KafkaJSSASLAuthenticationError,
} from 'kafkajs';
import { HighwaterError } from '../../errors';
import { type Access, aclCommand, type CommandTarget } from './admin-commands';

/** What was asked of the brokers, so that a refusal can be named. */
export interface Asked {
  readonly operation: Access['operation'];
  readonly topics: readonly string[];
  readonly transactionalId?: string;
  readonly groupId?: string;
  readonly cluster: CommandTarget;
}

/**
 * A failure of Kafka as a person meets it.
 * @param doing what was tried, with the names of what it was tried on: `writing a page of feed ipos`
 * @param asked names what was refused, where the brokers' answer does not
 * @returns KAFKA_UNREACHABLE, KAFKA_UNAUTHENTICATED, KAFKA_FORBIDDEN, or LOG_FAILED; an error that is none of Kafka's as it is
 */
export function kafkaFailure(error: unknown, doing: string, asked?: Asked): unknown {
  if (error instanceof HighwaterError) return error;
  const chain = causes(error);
  if (!chain.some((one) => one instanceof KafkaJSError || isOfConnection(one))) return error;
  const says = chain.at(-1)!.message;
  if (chain.some((one) => one instanceof KafkaJSSASLAuthenticationError)) {
    return new HighwaterError('KAFKA_UNAUTHENTICATED', `${doing}: ${says}`, { cause: error });
  }
  const type = protocolType(error);
  if (type !== null && isForbidden(error)) {
    const access = asked === undefined ? null : refusedAccess(type, asked);
    if (access !== null) return forbidden(doing, access, asked!.cluster, error);
    return new HighwaterError('KAFKA_FORBIDDEN', `${doing}: ${type}`, { cause: error });
  }
  if (chain.some(isOfConnection)) {
    return new HighwaterError('KAFKA_UNREACHABLE', `${doing}: ${says}`, { cause: error });
  }
  return new HighwaterError('LOG_FAILED', `${doing}: ${type === null ? '' : `${type}: `}${says}`, {
    cause: error,
    remedy: 'Nothing, when it passes. Else look into the log of the brokers.',
  });
}

/** Whether the brokers do not allow this user what was asked. */
export function isForbidden(error: unknown): boolean {
  return protocolType(error)?.endsWith('_AUTHORIZATION_FAILED') === true;
}

/** What this user may not do, on which topics or ids, and the command that allows it. */
export function forbidden(
  doing: string,
  access: Access,
  cluster: CommandTarget,
  cause?: unknown,
): HighwaterError {
  const { operation, resource, names } = access;
  const on = resource === 'cluster' ? 'the cluster' : `${resourceNames[resource]} ${names.join(', ')}`;
  return new HighwaterError('KAFKA_FORBIDDEN', `${doing}: the brokers do not allow ${operation} on ${on}`, {
    cause,
    remedy: `Allow it:\n${aclCommand(cluster, access)}`,
  });
}

const resourceNames = { topic: 'topic', 'transactional-id': 'transactional id', group: 'consumer group' };

/** Null where the answer is about something that was not asked for by name. */
function refusedAccess(type: string, { operation, topics, transactionalId, groupId }: Asked): Access | null {
  switch (type) {
    case 'GROUP_AUTHORIZATION_FAILED':
      return groupId === undefined ? null : { operation: 'READ', resource: 'group', names: [groupId] };
    case 'TOPIC_AUTHORIZATION_FAILED':
      return topics.length === 0 ? null : { operation, resource: 'topic', names: topics };
    case 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED':
      // Beginning a transaction and ending it are both a WRITE on its id, whatever was sent in it.
      if (transactionalId === undefined) return null;
      return { operation: 'WRITE', resource: 'transactional-id', names: [transactionalId] };
    case 'CLUSTER_AUTHORIZATION_FAILED':
      // Of those who write: a producer of somebody who may not write to any topic is refused as a whole.
      return {
        operation: operation === 'WRITE' ? 'IDEMPOTENT_WRITE' : operation,
        resource: 'cluster',
        names: [],
      };
    default:
      return null;
  }
}

/** Kafka's name of a protocol error anywhere in the chain of causes: `INVALID_PRODUCER_EPOCH`. */
export function protocolType(error: unknown): string | null {
  for (const one of causes(error)) {
    if (one instanceof KafkaJSProtocolError) return one.type;
  }
  return null;
}

/**
 * The producer was refused because it is not, or no longer, the latest of its transactional id: another one took over, or
 * its transaction ran into its timeout. The broker says the same of both.
 */
export function isRefusedProducer(error: unknown): boolean {
  return refusedProducer.has(protocolType(error) ?? '');
}

const refusedProducer = new Set([
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'TRANSACTION_COORDINATOR_FENCED',
]);

function isOfConnection(error: Error): boolean {
  return (
    error instanceof KafkaJSConnectionError ||
    error instanceof KafkaJSRequestTimeoutError ||
    error instanceof KafkaJSBrokerNotFound ||
    error instanceof KafkaJSLockTimeout ||
    // kafkajs wraps what the socket says in errors of other names, and keeps the words; of a broker that took the connection
    // and said nothing it says so by a plain Error.
    /^(Broker not connected|Connection error|Connection timeout|Closed connection|Failed to connect|Failed to find group coordinator)/.test(
      error.message,
    )
  );
}

/** The error and what caused it, outermost first; of several errors at once the first. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < 10 && !chain.includes(one); ) {
    chain.push(one);
    const { errors } = one as { errors?: unknown[] };
    one = one.cause ?? errors?.[0];
  }
  return chain;
}
