import { z } from 'zod';
import {
  addresses,
  bareUrl,
  byteSize,
  duration,
  list,
  matching,
  numberBetween,
  oneOf,
  text,
  wholeNumber,
  yesOrNo,
} from './value-types';

/** One setting of the program. Its key in `highwater.yaml` is its name in the table. */
export interface Setting {
  readonly env: string;
  /** Long form with the value's name; null where a command line would show a secret to everybody on the machine. */
  readonly flag: string | null;
  readonly schema: z.ZodType;
  /** As a person would write it; null when there is none. */
  readonly default: string | null;
  readonly doc: string;
  readonly secret: boolean;
}

const topicText = 'letters, digits, dots, dashes and underscores, at most 100';

/** Everything that can be set: the source of validation, `--help` and `docs/configuration.md`. */
export const settings = {
  apiUrl: {
    env: 'HIGHWATER_API_URL',
    flag: '--api-url <url>',
    schema: bareUrl(),
    default: null,
    doc: 'Base address of the API. Needed by every command that reads the API.',
    secret: false,
  },
  apiToken: {
    env: 'HIGHWATER_API_TOKEN',
    flag: null,
    schema: matching(/^[^\s\p{Cc}]+$/u, 'a token without blanks or control characters'),
    default: null,
    doc: 'Access token of the API. This or a token file is needed. No flag, since other users of the machine could read it there.',
    secret: true,
  },
  apiTokenFile: {
    env: 'HIGHWATER_API_TOKEN_FILE',
    flag: '--api-token-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'File that holds the token and nothing else, such as a mounted secret.',
    secret: false,
  },
  enabledFeeds: {
    env: 'HIGHWATER_FEEDS',
    flag: '--feeds <names>',
    schema: list('names of feeds, such as ipos,insights'),
    default: null,
    doc: 'Feeds to run. All that are defined, when not set.',
    secret: false,
  },
  pollInterval: {
    env: 'HIGHWATER_POLL_INTERVAL',
    flag: '--poll-interval <duration>',
    schema: duration(10),
    default: '60s',
    doc: 'Time from the beginning of one poll of a feed to the next. A `pollInterval` of a feed in the file goes before it.',
    secret: false,
  },
  dataDir: {
    env: 'HIGHWATER_DATA_DIR',
    flag: '--data-dir <folder>',
    schema: text('the path of a folder'),
    default: './data',
    doc: 'Folder of the embedded log; relative to the working directory.',
    secret: false,
  },
  kafkaBrokers: {
    env: 'KAFKA_BROKERS',
    flag: '--kafka-brokers <list>',
    schema: addresses('addresses such as broker-1:9092,broker-2:9092'),
    default: null,
    doc: 'Brokers to begin with. Set, everything is published to this Kafka cluster instead of the embedded log.',
    secret: false,
  },
  kafkaSsl: {
    env: 'KAFKA_SSL',
    flag: '--kafka-ssl <yes|no>',
    schema: yesOrNo(),
    default: 'no',
    doc: 'Encrypt connections to the brokers. Setting any of the files below means yes.',
    secret: false,
  },
  kafkaSslCaFile: {
    env: 'KAFKA_SSL_CA_FILE',
    flag: '--kafka-ssl-ca-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'Certificates (PEM) to trust instead of those that Node.js knows.',
    secret: false,
  },
  kafkaSslCertFile: {
    env: 'KAFKA_SSL_CERT_FILE',
    flag: '--kafka-ssl-cert-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'Certificate (PEM) of this client, for brokers that ask for one; with its key.',
    secret: false,
  },
  kafkaSslKeyFile: {
    env: 'KAFKA_SSL_KEY_FILE',
    flag: '--kafka-ssl-key-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'Key (PEM) of the certificate.',
    secret: false,
  },
  kafkaSslKeyPassword: {
    env: 'KAFKA_SSL_KEY_PASSWORD',
    flag: null,
    schema: text('a password'),
    default: null,
    doc: 'Password of an encrypted key.',
    secret: true,
  },
  kafkaSslKeyPasswordFile: {
    env: 'KAFKA_SSL_KEY_PASSWORD_FILE',
    flag: '--kafka-ssl-key-password-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'File that holds that password and nothing else.',
    secret: false,
  },
  kafkaSaslMechanism: {
    env: 'KAFKA_SASL_MECHANISM',
    flag: '--kafka-sasl-mechanism <name>',
    schema: oneOf(['plain', 'scram-sha-256', 'scram-sha-512']),
    default: 'plain',
    doc: 'How to log in to the brokers, when a user is set: `plain`, `scram-sha-256` or `scram-sha-512`.',
    secret: false,
  },
  kafkaSaslUsername: {
    env: 'KAFKA_SASL_USERNAME',
    flag: '--kafka-sasl-username <name>',
    schema: text('the name of a user'),
    default: null,
    doc: 'User to log in as.',
    secret: false,
  },
  kafkaSaslPassword: {
    env: 'KAFKA_SASL_PASSWORD',
    flag: null,
    schema: text('a password'),
    default: null,
    doc: 'Password of the user. No flag, since other users of the machine could read it there.',
    secret: true,
  },
  kafkaSaslPasswordFile: {
    env: 'KAFKA_SASL_PASSWORD_FILE',
    flag: '--kafka-sasl-password-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'File that holds that password and nothing else.',
    secret: false,
  },
  kafkaSessionTimeout: {
    env: 'KAFKA_SESSION_TIMEOUT',
    flag: '--kafka-session-timeout <duration>',
    schema: duration(500),
    default: '10s',
    doc: 'Time without a sign of life after which the other instances take over the feeds of one. Brokers allow from 6s on, unless told otherwise.',
    secret: false,
  },
  compression: {
    env: 'HIGHWATER_COMPRESSION',
    flag: '--compression <codec>',
    schema: oneOf(['gzip', 'none', 'lz4', 'zstd']),
    default: 'gzip',
    doc: 'Codec of what is written to Kafka: `gzip`, `none`, `lz4` or `zstd`. A stock kafkajs consumer reads the first two only; other clients read all.',
    secret: false,
  },
  schemaRegistryUrl: {
    env: 'SCHEMA_REGISTRY_URL',
    flag: '--schema-registry-url <url>',
    schema: bareUrl(),
    default: null,
    doc: 'Base address of the Confluent-compatible registry; needed with Kafka.',
    secret: false,
  },
  schemaRegistryUsername: {
    env: 'SCHEMA_REGISTRY_USERNAME',
    flag: '--schema-registry-username <name>',
    schema: text('the name of a user'),
    default: null,
    doc: 'User at the registry (HTTP basic authentication).',
    secret: false,
  },
  schemaRegistryPassword: {
    env: 'SCHEMA_REGISTRY_PASSWORD',
    flag: null,
    schema: text('a password'),
    default: null,
    doc: 'Password of the user at the registry.',
    secret: true,
  },
  schemaRegistryPasswordFile: {
    env: 'SCHEMA_REGISTRY_PASSWORD_FILE',
    flag: '--schema-registry-password-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'File that holds that password and nothing else.',
    secret: false,
  },
  schemaRegistration: {
    env: 'HIGHWATER_SCHEMA_REGISTRATION',
    flag: '--schema-registration <way>',
    schema: oneOf(['register', 'lookup']),
    default: 'register',
    doc: '`register`: schemas that are new are registered at the start. `lookup`: they must be there already, such as from `highwater schemas register` in a deployment.',
    secret: false,
  },
  topicPrefix: {
    env: 'HIGHWATER_TOPIC_PREFIX',
    flag: '--topic-prefix <prefix>',
    schema: z.string({ error: topicText }).regex(/^[A-Za-z0-9._-]{0,100}$/, { error: topicText }),
    default: '',
    doc: 'Goes before the name of every topic.',
    secret: false,
  },
  appId: {
    env: 'HIGHWATER_APP_ID',
    flag: '--app-id <id>',
    schema: matching(/^[A-Za-z0-9._-]{1,100}$/, topicText),
    default: 'highwater',
    doc: 'Name of this installation; stands in every event (`source.name`).',
    secret: false,
  },
  requestsPerSecond: {
    env: 'HIGHWATER_REQUESTS_PER_SECOND',
    flag: '--requests-per-second <number>',
    schema: numberBetween(0.01, 1_000),
    default: '50',
    doc: 'Requests that all feeds together may begin in a second, since vendors count by token.',
    secret: false,
  },
  concurrentRequests: {
    env: 'HIGHWATER_CONCURRENT_REQUESTS',
    flag: '--concurrent-requests <number>',
    schema: wholeNumber(1, 100),
    default: '4',
    doc: 'Requests that all feeds together may have under way at once.',
    secret: false,
  },
  requestTimeout: {
    env: 'HIGHWATER_REQUEST_TIMEOUT',
    flag: '--request-timeout <duration>',
    schema: duration(10),
    default: '30s',
    doc: 'Time for one complete answer.',
    secret: false,
  },
  idleTimeout: {
    env: 'HIGHWATER_IDLE_TIMEOUT',
    flag: '--idle-timeout <duration>',
    schema: duration(10),
    default: '15s',
    doc: 'Time without a single byte after which an answer is given up.',
    secret: false,
  },
  retryTime: {
    env: 'HIGHWATER_RETRY_TIME',
    flag: '--retry-time <duration>',
    schema: duration(10),
    default: '45s',
    doc: 'Time for one page with all its retries and pauses. Then the poll fails, and the next one asks again.',
    secret: false,
  },
  bodyLimit: {
    env: 'HIGHWATER_BODY_LIMIT',
    flag: '--body-limit <size>',
    schema: byteSize(1_000, 512 * 1_048_576),
    default: '64MB',
    doc: 'Greatest answer, decompressed. A page above it is asked for again with fewer records.',
    secret: false,
  },
  httpPort: {
    env: 'HIGHWATER_HTTP_PORT',
    flag: '--http-port <port>',
    schema: wholeNumber(0, 65_535),
    default: null,
    doc: 'Port of the dashboard (`/`), metrics and health (`/metrics`, `/livez`, `/readyz`) of `run`; `0`: any free one. Not set: none. `run --once` has none.',
    secret: false,
  },
  httpHost: {
    env: 'HIGHWATER_HTTP_HOST',
    flag: '--http-host <address>',
    schema: matching(
      /^[A-Za-z0-9.:_-]+$/,
      'an address or a name of this machine, such as 127.0.0.1 or 0.0.0.0',
    ),
    default: '127.0.0.1',
    doc: 'Address to listen on. One that other machines can reach needs a token.',
    secret: false,
  },
  httpToken: {
    env: 'HIGHWATER_HTTP_TOKEN',
    flag: null,
    schema: matching(/^[A-Za-z0-9._~+/-]+=*$/, 'a token of letters, digits and ._~+/-, at the end perhaps ='),
    default: null,
    doc: 'Token that the dashboard and `/metrics` ask for (`Authorization: Bearer …`). Health is open without it.',
    secret: true,
  },
  httpTokenFile: {
    env: 'HIGHWATER_HTTP_TOKEN_FILE',
    flag: '--http-token-file <file>',
    schema: text('the path of a file'),
    default: null,
    doc: 'File that holds that token and nothing else.',
    secret: false,
  },
  logLevel: {
    env: 'HIGHWATER_LOG_LEVEL',
    flag: '--log-level <level>',
    schema: oneOf(['error', 'warn', 'info', 'debug']),
    default: 'info',
    doc: 'Least important lines to log: `error`, `warn`, `info` or `debug`.',
    secret: false,
  },
  logFormat: {
    env: 'HIGHWATER_LOG_FORMAT',
    flag: '--log-format <format>',
    schema: oneOf(['pretty', 'json']),
    default: 'pretty',
    doc: '`pretty` for people, `json` for machines: one object a line.',
    secret: false,
  },
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof settings;
type Output<Key extends SettingKey> = z.output<(typeof settings)[Key]['schema']>;
/** What was set, else the default, else null. */
export type SettingValues = {
  readonly [Key in SettingKey]: (typeof settings)[Key]['default'] extends null
    ? Output<Key> | null
    : Output<Key>;
};

export const settingKeys = Object.keys(settings) as readonly SettingKey[];

/** A flag's name among the options that the command line parser returns: `--api-url <url>` → `apiUrl`. */
export function flagName(flag: string): string {
  const [long = ''] = flag.split(' ');
  return long.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
