import {
  KafkaJSBrokerNotFound,
  KafkaJSConnectionError,
  KafkaJSError,
  KafkaJSGroupCoordinatorNotFound,
  KafkaJSLockTimeout,
  KafkaJSNonRetriableError,
  KafkaJSProtocolError,
  KafkaJSRequestTimeoutError,
  KafkaJSSASLAuthenticationError,
} from 'kafkajs';
import { HighwaterError } from '../../../../src/errors';
import {
  type Asked,
  isForbidden,
  isRefusedProducer,
  kafkaFailure,
  mayPass,
  protocolType,
} from '../../../../src/log/kafka/connection/kafka-failure';
import { namedRows } from '../../../support/named-rows';

/** As the types of kafkajs have them, less what they leave out. */
type Made = new (message: unknown, details?: unknown) => Error;
const made = (type: unknown, message: unknown, details?: unknown) => new (type as Made)(message, details);

const answer = (type: string, retriable = false) =>
  made(KafkaJSProtocolError, { type, code: 1, message: `says ${type}`, retriable });
const wrapped = (cause: Error) => made(KafkaJSNonRetriableError, 'gave up', { cause });
const connection = (message: string, code?: string) =>
  made(KafkaJSConnectionError, message, { broker: 'k1:9092', code });

const asked: Asked = {
  operation: 'WRITE',
  topics: ['a', 'b'],
  transactionalId: 'tx',
  groupId: 'g',
  cluster: { brokers: ['k1:9092'], ssl: null, sasl: null },
};
const failed = (error: unknown, what: Asked | undefined = asked) =>
  kafkaFailure(error, 'writing', what) as HighwaterError;

describe('a failure of Kafka', () => {
  it.each(
    namedRows({
      'its own words': [made(KafkaJSError, 'odd'), 'LOG_FAILED', 'writing: odd'],
      'an answer of the brokers, however deep it lies': [
        wrapped(wrapped(answer('NOT_ENOUGH_REPLICAS'))),
        'LOG_FAILED',
        'writing: NOT_ENOUGH_REPLICAS: says NOT_ENOUGH_REPLICAS',
      ],
      'a refused login': [
        wrapped(made(KafkaJSSASLAuthenticationError, 'wrong password')),
        'KAFKA_UNAUTHENTICATED',
        'writing: wrong password',
      ],
      'a mechanism that is not taken': [
        answer('UNSUPPORTED_SASL_MECHANISM'),
        'KAFKA_UNAUTHENTICATED',
        'by this mechanism here (UNSUPPORTED_SASL_MECHANISM)',
      ],
      'no logins at all': [answer('ILLEGAL_SASL_STATE'), 'KAFKA_UNAUTHENTICATED', '(ILLEGAL_SASL_STATE)'],
      'a certificate': [
        wrapped(connection('Connection error: expired', 'CERT_HAS_EXPIRED')),
        'KAFKA_CERTIFICATE',
        'writing: k1:9092: expired',
      ],
      'a connection without a reason of TLS': [
        connection('Connection error: refused', 'ECONNREFUSED'),
        'KAFKA_UNREACHABLE',
        'writing: Connection error: refused',
      ],
      'a closed connection': [
        wrapped(connection('Closed connection')),
        'KAFKA_UNREACHABLE',
        'writing: k1:9092 closed the connection',
      ],
      'no answer in time': [
        wrapped(made(KafkaJSRequestTimeoutError, 'Request timed out')),
        'KAFKA_UNREACHABLE',
        'writing: Request timed out',
      ],
      'no such broker': [made(KafkaJSBrokerNotFound, 'no broker'), 'KAFKA_UNREACHABLE', 'writing: no broker'],
      'a lock': [made(KafkaJSLockTimeout, 'locked'), 'KAFKA_UNREACHABLE', 'writing: locked'],
      'a plain error of the socket': [new Error('Failed to connect: x'), 'KAFKA_UNREACHABLE', ': Failed to'],
    }),
  )('is named by %s', (_name, error, code, message) => {
    const failure = failed(error);
    expect(failure).toMatchObject({ code, cause: error, message: expect.stringContaining(message) });
    expect(failure.message.startsWith('writing: ')).toBe(true);
  });

  it('says what to do where it knows more than its code does', () => {
    const remedies = [
      answer('UNSUPPORTED_SASL_MECHANISM'),
      answer('ILLEGAL_SASL_STATE'),
      connection('Connection error: expired', 'CERT_HAS_EXPIRED'),
      connection('Closed connection'),
      made(KafkaJSError, 'odd'),
    ].map((error) => failed(error).remedy);
    expect(remedies).toEqual([
      expect.stringContaining('KAFKA_SASL_MECHANISM'),
      expect.stringContaining('KAFKA_BROKERS'),
      expect.stringContaining('ssl.keystore.location'),
      expect.stringContaining('KAFKA_SASL_USERNAME'),
      expect.stringContaining('logs of the brokers'),
    ]);
  });

  it('is not what came from elsewhere, or is named already', () => {
    for (const error of [
      new Error('other'),
      new Error('it said: Failed to connect'),
      'text',
      new HighwaterError('LOG_FAILED', 'known', { cause: answer('NOT_ENOUGH_REPLICAS') }),
    ])
      expect(kafkaFailure(error, 'writing', asked)).toBe(error);
  });

  it('is found among several errors at once, and in a chain that ends in itself', () => {
    expect(failed(new AggregateError([answer('X'), answer('Y')], 'several')).message).toContain('X');
    const circle = new Error('a') as Error & { cause?: unknown };
    circle.cause = wrapped(circle);
    expect(failed(circle)).toMatchObject({ code: 'LOG_FAILED' });
  });
});

describe('what the brokers do not allow', () => {
  it.each([
    ['GROUP_AUTHORIZATION_FAILED', 'WRITE on consumer group g', '--operation Write --group g'],
    [
      'TOPIC_AUTHORIZATION_FAILED',
      'WRITE on topic a, b, or on some of them',
      '--operation Write --topic a --topic b',
    ],
    ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'WRITE on transactional id tx', '--transactional-id tx'],
    ['CLUSTER_AUTHORIZATION_FAILED', 'IDEMPOTENT_WRITE on the cluster', 'IdempotentWrite --cluster'],
  ])('%s is named, with the command that allows it', (type, on, command) => {
    expect(failed(wrapped(answer(type)))).toMatchObject({
      code: 'KAFKA_FORBIDDEN',
      message: `writing: the brokers do not allow ${on}`,
      remedy: expect.stringContaining(command),
    });
  });

  it('is an operation that was asked for, but on a transactional id a write', () => {
    const reading = { ...asked, operation: 'READ' as const };
    expect(failed(answer('CLUSTER_AUTHORIZATION_FAILED'), reading).message).toContain('READ on the cluster');
    expect(failed(answer('TRANSACTIONAL_ID_AUTHORIZATION_FAILED'), reading).message).toContain('WRITE on');
  });

  it('is told in their words where nothing was asked by name', () => {
    const nothing: Asked = { operation: 'READ', topics: [], cluster: asked.cluster };
    for (const name of ['GROUP', 'TOPIC', 'TRANSACTIONAL_ID', 'DELEGATION_TOKEN']) {
      const type = `${name}_AUTHORIZATION_FAILED`;
      const expected = { code: 'KAFKA_FORBIDDEN', message: `writing: ${type}` };
      expect(failed(answer(type), nothing)).toMatchObject(expected);
      const cause = answer(type);
      expect(kafkaFailure(cause, 'writing')).toMatchObject({ ...expected, cause });
    }
  });
});

describe('the same request, sent again,', () => {
  it.each([
    ['an answer that passes', wrapped(answer('NOT_LEADER', true)), true],
    ['an answer that stays', wrapped(answer('INVALID_TOPIC')), false],
    ['an answer that stays, of a connection', connectionOver(answer('INVALID_TOPIC')), false],
    ['a connection', wrapped(connection('Connection error')), true],
    ['no coordinator', made(KafkaJSGroupCoordinatorNotFound, 'Failed to find group coordinator'), false],
    [
      'no coordinator, however deep',
      wrapped(made(KafkaJSGroupCoordinatorNotFound, 'Failed to find group coordinator')),
      false,
    ],
    ['an error that passes', made(KafkaJSError, 'odd'), true],
    ['an error that stays', made(KafkaJSNonRetriableError, 'odd'), false],
    ['a plain error of the socket', new Error('Closed connection'), true],
    ['another error', new Error('other'), false],
    ['no error', undefined, false],
  ])('after %s', (_name, error, may) => {
    expect(mayPass(error)).toBe(may);
  });

  function connectionOver(cause: Error): Error {
    return Object.assign(connection('Connection error'), { cause });
  }
});

it('the name of a protocol error is found in the chain of causes', () => {
  expect(protocolType(wrapped(answer('UNKNOWN')))).toBe('UNKNOWN');
  expect(protocolType(new Error('x'))).toBeNull();
  expect([answer('TOPIC_AUTHORIZATION_FAILED'), answer('FAILED'), new Error()].map(isForbidden)).toEqual([
    true,
    false,
    false,
  ]);
});

it.each([
  ['INVALID_PRODUCER_EPOCH', true],
  ['PRODUCER_FENCED', true],
  ['INVALID_PRODUCER_ID_MAPPING', true],
  ['TRANSACTION_COORDINATOR_FENCED', true],
  ['CONCURRENT_TRANSACTIONS', false],
])('%s: the producer is refused for good: %p', (type, is) => {
  expect(isRefusedProducer(wrapped(answer(type)))).toBe(is);
  expect(isRefusedProducer(new Error(type))).toBe(false);
});
