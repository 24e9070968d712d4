import { type Admin, Kafka, logLevel } from 'kafkajs';
import type { CommitLog } from '../../src/log/commit-log';
import type { ConsumerLog } from '../../src/log/consumer-log';
import type { KafkaConfig } from '../../src/log/kafka/connection/client';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { createTopics } from './create-topics';
import { type SharedServers, sharedServers, uniquePrefix } from './servers';
import { quietLogger } from './source';

interface Place {
  /** As KAFKA_BROKERS takes them; those of the world by default. */
  readonly brokers?: string;
  readonly kafka?: Partial<KafkaConfig>;
}
type LogOptions = Place & Partial<Omit<Parameters<typeof openKafkaLog>[0], 'kafka'>>;
type ConsumerLogOptions = Place & Partial<Omit<Parameters<typeof openKafkaConsumerLog>[0], 'kafka'>>;

/** Brokers that a file of tests starts for itself. */
export interface OwnServer {
  /** Addresses past any proxy. */
  readonly bootstrap?: string;
  readonly direct?: string;
  stop(): Promise<void>;
}

/** A Kafka for the tests of one file, with a prefix of its own for each test. */
export interface KafkaWorld<Server> {
  /** The brokers that were started for this file. */
  server(): Server;
  /** As KAFKA_BROKERS takes them. */
  brokers(): string;
  /** Base address of the shared registry. */
  registryUrl(): string;
  /** Goes before the names of this test's topics. */
  prefix(): string;
  /** Settings that lead a program to this test's topics. */
  env(): Record<'KAFKA_BROKERS' | 'SCHEMA_REGISTRY_URL' | 'HIGHWATER_TOPIC_PREFIX', string>;
  /** A client that says nothing. */
  client(): Kafka;
  /** Connected at the first call, until the file's tests are over. */
  admin(): Promise<Admin>;
  create(...topics: Parameters<typeof createTopics>[1]): Promise<void>;
  /** Sends by a producer of its own: kafkajs asks for a topic that is deleted ever after. */
  send(topic: string, messages: readonly Message[]): Promise<void>;
  /** A publisher's log, closed after the test. */
  log(options?: LogOptions): CommitLog;
  /** A consumer's log, closed after the test. */
  consumerLog(options?: ConsumerLogOptions): ConsumerLog;
}

interface Message {
  readonly key?: string;
  readonly value: string | Buffer | null;
  readonly partition?: number;
}

/** Settings of a client without TLS, login and compression. @param brokers as KAFKA_BROKERS takes them */
export function plainKafka(brokers: string): KafkaConfig {
  return { brokers: brokers.split(','), ssl: null, sasl: null, compression: 'none' };
}

/** kafkajs, which says nothing. @param brokers as KAFKA_BROKERS takes them */
export function quietKafka(brokers: string): Kafka {
  return new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
}

export function publisherLog(
  brokers: string,
  topicPrefix: string,
  { kafka, ...options }: Omit<LogOptions, 'brokers'> = {},
): CommitLog {
  return openKafkaLog({ ...defaults(brokers, topicPrefix, kafka), ...options });
}

function defaults(brokers: string, topicPrefix: string, kafka: Partial<KafkaConfig> = {}) {
  return {
    kafka: { ...plainKafka(brokers), ...kafka },
    appId: 'test',
    topicPrefix,
    logger: quietLogger(),
  };
}

/** Work of an administrator, who connects for it. */
export async function asAdmin<Result>(
  brokers: string,
  work: (admin: Admin) => Promise<Result>,
): Promise<Result> {
  const admin = quietKafka(brokers).admin();
  await admin.connect();
  return work(admin).finally(() => admin.disconnect());
}

/**
 * @param start brokers of the file's own; by default the shared ones, where all its topics are deleted at the end
 * @param options registry: the file also needs the shared registry beside brokers of its own
 */
export function kafkaWorld<Server extends OwnServer>(
  start?: () => Promise<Server>,
  { registry = false } = {},
): KafkaWorld<Server> {
  let shared: SharedServers | undefined;
  let server: Server | undefined;
  let admin: Admin | undefined;
  let prefix = '';
  const prefixes: string[] = [];
  const open: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    shared = start === undefined || registry ? await sharedServers() : undefined;
    server = await start?.();
  });
  beforeEach(() => {
    prefix = uniquePrefix();
    prefixes.push(prefix);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });
  afterAll(async () => {
    if (start === undefined) {
      const names = await (await world.admin()).listTopics();
      const own = names.filter((name) => prefixes.some((one) => name.startsWith(one)));
      if (own.length > 0) await admin!.deleteTopics({ topics: own });
    }
    await admin?.disconnect();
    await server?.stop();
  });
  function opened<Log extends { close(): Promise<void> }>(log: Log): Log {
    open.push(log);
    return log;
  }
  const world: KafkaWorld<Server> = {
    server: () => server!,
    brokers: () => server?.direct ?? server?.bootstrap ?? shared!.brokers,
    registryUrl: () => shared!.registryUrl,
    prefix: () => prefix,
    env: () => ({
      KAFKA_BROKERS: world.brokers(),
      SCHEMA_REGISTRY_URL: world.registryUrl(),
      HIGHWATER_TOPIC_PREFIX: prefix,
    }),
    client: () => quietKafka(world.brokers()),
    async admin() {
      if (admin === undefined) {
        admin = world.client().admin();
        await admin.connect();
      }
      return admin;
    },
    async create(...topics) {
      await createTopics(await world.admin(), topics);
    },
    async send(topic, messages) {
      const producer = world.client().producer({ allowAutoTopicCreation: false });
      await producer.connect();
      await producer.send({ topic, messages: [...messages] }).finally(() => producer.disconnect());
    },
    log: ({ brokers = world.brokers(), ...options } = {}) => opened(publisherLog(brokers, prefix, options)),
    consumerLog: ({ brokers = world.brokers(), kafka, ...options } = {}) =>
      opened(openKafkaConsumerLog({ ...defaults(brokers, prefix, kafka), ...options })),
  };
  return world;
}
