import { confluentRegistry } from '../avro/registry/confluent-registry';
import type { SchemaRegistryConfig } from '../avro/registry/confluent-registry-http';
import type { SchemaRegistry } from '../avro/registry/registry';
import { workingDirectory } from '../config/files/working-directory';
import { type Config, loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { feedDefinitions } from '../feeds';
import type { FeedDefinition } from '../feeds/definition';
import type { ConsumerLog } from '../log/consumer-log';
import type { KafkaConfig } from '../log/kafka/connection/client';
import { openKafkaConsumerLog } from '../log/kafka/consumer-log';
import { openLocalConsumerLog } from '../log/local/consumer/consumer-log';
import { createLogger, type Logger } from '../logging/logger';
import { Rotation } from '../secrets/rotation';
import { type Refusals, refusalsOf } from './refusals';

/** Where the log is: named by a settings file, a data folder, or a Kafka cluster and a registry. */
export type ConnectOptions = (FileOptions | LocalOptions | KafkaOptions) & {
  /** Gets the warnings. Default: stderr, as text. */
  readonly logger?: Logger;
};

/** Finds the log as the commands do: by the environment and a file with settings. */
export interface FileOptions {
  /** Path of the file, instead of `HIGHWATER_CONFIG` or `highwater.yaml`. */
  readonly config: string;
  readonly dataDir?: never;
  readonly kafka?: never;
}

/** The embedded log. */
export interface LocalOptions {
  readonly config?: never;
  /** Folder of `highwater.db`; relative to the working directory. */
  readonly dataDir: string;
  readonly kafka?: never;
  readonly topicPrefix?: string;
}

interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
}

/** A log on Kafka. Schemas are only looked up, never registered. */
export interface KafkaOptions {
  readonly config?: never;
  readonly kafka: {
    /** `host:port` */
    readonly brokers: readonly string[];
    /** True: TLS with the certificates that Node.js trusts. An object: PEM texts. Default: no TLS. */
    readonly ssl?: boolean | TlsOptions;
    readonly sasl?: NonNullable<KafkaConfig['sasl']>;
    /** Name of this program for the brokers. Default `highwater-consumer`. */
    readonly clientId?: string;
  };
  readonly schemaRegistry: {
    readonly url: string;
    readonly username?: string;
    readonly password?: string;
    /** PEM texts. Authorities are trusted besides those of Node.js. */
    readonly ssl?: TlsOptions;
  };
  readonly topicPrefix?: string;
  readonly dataDir?: never;
}

/** A log with everything that is needed to read it. */
export interface Opened {
  readonly log: ConsumerLog;
  readonly registry: SchemaRegistry;
  readonly feeds: readonly FeedDefinition[];
  readonly topicPrefix: string;
  readonly logger: Logger;
  readonly refusals: Refusals;
}

/** @throws HighwaterError CONFIG_INVALID, USAGE_INVALID */
export function openLog(options: ConnectOptions | undefined): Opened {
  if (typeof options?.config === 'string' || options === undefined) {
    const flags = { config: options?.config };
    const config = loadConfig({ flags, env: process.env, cwd: workingDirectory() }, 'nothing');
    return openConfigured(config, options?.logger);
  }
  const { topicPrefix = '', logger } = options;
  const given = { topicPrefix, rotation: new Rotation() };
  if (options.kafka === undefined) {
    if (typeof options.dataDir !== 'string')
      throw incomplete('config, or dataDir, or kafka and schemaRegistry');
    const { dataDir } = options;
    const local = { ...given, kafka: null, schemaRegistry: null, dataDir, secrets: [] };
    return open(local, feedDefinitions, logger);
  }
  const { brokers, ssl = false, sasl = null } = options.kafka;
  if (!Array.isArray(brokers) || brokers.length === 0) throw incomplete('kafka.brokers');
  if (typeof options.schemaRegistry?.url !== 'string') throw incomplete('schemaRegistry.url');
  const { url, username, password } = options.schemaRegistry;
  const ofRegistry = options.schemaRegistry.ssl;
  const passphrase = typeof ssl === 'object' ? ssl.passphrase : undefined;
  const secrets = [sasl?.password, password, passphrase, ofRegistry?.passphrase].filter(
    (one) => one !== undefined,
  );
  const pem = typeof ssl === 'object' ? ssl : {};
  const kafka: KafkaConfig = {
    brokers,
    sasl,
    compression: 'gzip',
    ssl: ssl === false ? null : { ...noTexts, ...pem },
  };
  const auth = username === undefined ? null : { username, password: password ?? '' };
  const tls = ofRegistry === undefined ? null : { ...noTexts, ...ofRegistry };
  const schemaRegistry: SchemaRegistryConfig = {
    url: url.replace(/\/+$/, ''),
    auth,
    registration: 'lookup',
    tls: () => tls,
  };
  const onKafka = { ...given, kafka, schemaRegistry, dataDir: '', secrets };
  return open(onKafka, feedDefinitions, logger, options.kafka.clientId);
}

/** The log that loaded settings name. */
export function openConfigured(config: Config, logger?: Logger): Opened {
  const declared = new Set(config.feeds.map(({ name }) => name));
  // Topics that another instance publishes are read too.
  const feeds = [...config.feeds, ...feedDefinitions.filter(({ name }) => !declared.has(name))];
  return open(config, feeds, logger);
}

const noTexts = { ca: null, cert: null, key: null, passphrase: null };

/** For a program without TypeScript, which would have named the mistake. */
function incomplete(what: string): HighwaterError {
  return wrongOptions(`connect needs ${what}, or no options`);
}

export function wrongOptions(what: string): HighwaterError {
  const remedy = 'Correct the options named above in the program.';
  return new HighwaterError('CONFIG_INVALID', what, { remedy });
}

function open(
  config: Pick<Config, 'kafka' | 'schemaRegistry' | 'dataDir' | 'topicPrefix' | 'secrets' | 'rotation'>,
  feeds: readonly FeedDefinition[],
  given: Logger | undefined,
  clientId = 'highwater-consumer',
): Opened {
  const { kafka, schemaRegistry, dataDir, topicPrefix, secrets, rotation } = config;
  const logger = given ?? createLogger({ level: 'warn', format: 'pretty', secrets });
  rotation.logger = logger;
  const opened = { feeds, topicPrefix, logger, refusals: refusalsOf(kafka, rotation) };
  if (kafka === null || schemaRegistry === null) {
    const { consumerLog, registry } = openLocalConsumerLog({ dataDir, logger });
    return { ...opened, log: consumerLog, registry };
  }
  const log = openKafkaConsumerLog({ kafka, appId: clientId, topicPrefix, logger });
  return { ...opened, log, registry: confluentRegistry(schemaRegistry, { logger }) };
}
