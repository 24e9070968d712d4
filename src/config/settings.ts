import { z } from 'zod';
import {
  addresses,
  age,
  bareUrl,
  byteSize,
  command,
  duration,
  httpUrl,
  list,
  matching,
  numberBetween,
  oneOf,
  password,
  text,
  token,
  wholeNumber,
  yesOrNo,
} from './value-types';

/** Variable and flag are named after the key. */
interface Row {
  /** Placeholder of the value in the flag: `url`. Left out for yes or no: `--kafka-ssl`, `--no-kafka-ssl`. */
  readonly value?: string;
  readonly schema: z.ZodType;
  /** As a person would write it. */
  readonly default?: string;
  readonly doc: string;
  /** A secret has no flag, since a command line shows it to everybody on the machine. */
  readonly secret?: boolean;
}

const file = (doc: string) => ({ value: 'file', schema: text('the path of a file'), doc });
const url = (doc: string, schema: z.ZodType<string> = httpUrl()) => ({ value: 'url', schema, doc });
const time = (usual: string, doc: string, schema = duration(10)) => ({
  value: 'duration',
  schema,
  default: usual,
  doc,
});
const user = (doc: string) => ({ value: 'name', schema: text('the name of a user'), doc });
const printable = matching(/^[\x21-\x7e]+$/, 'printable ASCII without blanks');
const id = (doc: string, schema = printable) => ({ value: 'id', schema, doc });
const clientId = id('Id of the client at the token server.', matching(/./, 'the id of the client'));
const identityPool = id('Identity pool of a token, as Confluent Cloud asks: `pool-…`.');
const scope = {
  value: 'scope',
  schema: text('the scope of the token'),
  doc: 'Scope that the token is asked for.',
};
const bearerToken = token(/^[\x21-\x7e]{4,}$/, 'printable ASCII characters without blanks');
const secret = <Schema extends z.ZodType>(doc: string, schema: Schema) => ({ schema, doc, secret: true });
const secretText = (doc: string) => secret(doc, password());

const topicText = 'letters, digits, dots, dashes and underscores, at most 100';

/** Everything that can be set, by its key in `highwater.yaml`: the source of validation, `--help` and `docs/configuration.md`. */
const table = {
  apiUrl: url(
    'Base address of the API, unless every enabled feed has its own `apiUrl`. A proxy is taken from HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, but for hosts in NO_PROXY.',
    bareUrl(),
  ),
  apiToken: secret(
    'Access token of the API. This, a token file or a token command is needed. There is no flag, because other users of the machine could read it.',
    token(/^[^\s\p{Cc}]{4,}$/u, 'characters without blanks or control characters'),
  ),
  apiTokenFile: file(
    'File that holds the token and nothing else, such as a mounted secret. It is read again when it changes or the token is refused.',
  ),
  apiTokenCommand: secret(
    'Command that prints the token within 10 s: a line for `/bin/sh -c`, or in the file a list (program and arguments). It runs at the start, and when the token is refused. No flag: it may hold a secret.',
    command(),
  ),
  apiCaFile: file(
    'Certificates (PEM) of authorities to trust at the API, besides the authorities that Node.js comes with.',
  ),
  enabledFeeds: {
    value: 'names',
    schema: list('names of feeds, such as ipos,insights'),
    doc: 'Feeds to run. Not set: all feeds.',
  },
  pollInterval: time(
    '60s',
    'Time from the beginning of one poll of a feed to the next. A feed may have its own `pollInterval` in the file.',
  ),
  dataDir: {
    value: 'folder',
    schema: text('the path of a folder'),
    default: './data',
    doc: 'Folder of the embedded log; relative to the working directory.',
  },
  stateDir: {
    value: 'folder',
    schema: text('the path of a folder'),
    doc: 'Folder for the files of images, also with Kafka. They are kept for the [next start](sizing.md#restart). If it cannot be written, images take [memory](sizing.md#memory). Default: `dataDir`.',
  },
  standby: {
    schema: yesOrNo(),
    default: 'no',
    doc: 'On Kafka, keep a [copy of the images](sizing.md#standby) of feeds that another instance owns, in `stateDir`. A takeover then costs seconds, however many records there are.',
  },
  retentionAge: {
    value: 'age',
    schema: age(),
    doc: 'How long the embedded log keeps change events and transitions, such as `30d`. Not set: for ever. Kafka has its own settings for its topics.',
  },
  retentionSize: {
    value: 'size',
    schema: byteSize(1_000_000, 1_000_000_000_000_000),
    doc: 'Size of the values that the embedded log keeps of each topic of changes or transitions, such as `5GB`. The oldest events are removed first. Not set: no limit.',
  },
  kafkaBrokers: {
    value: 'list',
    schema: addresses('addresses such as broker-1:9092,broker-2:9092'),
    doc: 'Brokers to connect to first. If set, everything is published to this Kafka cluster instead of the embedded log.',
  },
  kafkaSsl: {
    schema: yesOrNo(),
    default: 'no',
    doc: 'Encrypt connections to the brokers. Setting one of the files below means yes.',
  },
  kafkaSslCaFile: file('Certificates (PEM) to trust instead of the certificates that Node.js knows.'),
  kafkaSslCertFile: file('Certificate (PEM) of this client, for brokers that ask for one; with its key.'),
  kafkaSslKeyFile: file('Key (PEM) of the certificate.'),
  kafkaSslKeyPassword: secretText('Password of an encrypted key.'),
  kafkaSslKeyPasswordFile: file('File that holds that password and nothing else.'),
  kafkaSaslMechanism: {
    value: 'name',
    schema: oneOf(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer', 'aws-msk-iam']),
    default: 'plain',
    doc: 'How to log in to the brokers: if a user is set, by `plain`, `scram-sha-256` or `scram-sha-512`; by tokens with `oauthbearer` or `aws-msk-iam`.',
  },
  kafkaSaslUsername: user('User to log in as.'),
  kafkaSaslPassword: secretText(
    'Password of the user. There is no flag, because other users of the machine could read it.',
  ),
  kafkaSaslPasswordFile: file('File that holds that password and nothing else.'),
  kafkaSaslOauthbearerToken: secret(
    'Token to log in with, for `oauthbearer`. It ends, so a token file, a token command or a token server is better.',
    bearerToken,
  ),
  kafkaSaslOauthbearerTokenFile: file(
    'File that holds that token and nothing else. It is read again for each login.',
  ),
  kafkaSaslOauthbearerTokenCommand: secret(
    'Command that prints that token, as `apiTokenCommand`. It runs at the start, and before logins, at most once a minute.',
    command(),
  ),
  kafkaSaslOauthbearerTokenEndpointUrl: url(
    'Token server (OAuth2) that gives the client the tokens for the brokers; with id and secret of the client.',
  ),
  kafkaSaslOauthbearerClientId: clientId,
  kafkaSaslOauthbearerClientSecret: secretText('Secret of the client.'),
  kafkaSaslOauthbearerClientSecretFile: file('File that holds that secret and nothing else.'),
  kafkaSaslOauthbearerScope: scope,
  kafkaSaslOauthbearerLogicalCluster: id('Cluster that a token is for, as Confluent Cloud asks: `lkc-…`.'),
  kafkaSaslOauthbearerIdentityPoolId: identityPool,
  kafkaSaslAwsRegion: id(
    'Region of an MSK cluster, for `aws-msk-iam`. Default: AWS_REGION of the environment.',
  ),
  kafkaSessionTimeout: time(
    '10s',
    'An instance that gives no sign of life for this long loses its feeds to the others. Brokers accept 6s or more by default.',
    duration(500),
  ),
  compression: {
    value: 'codec',
    schema: oneOf(['gzip', 'none', 'lz4', 'zstd']),
    default: 'gzip',
    doc: 'Codec of the records that feeds publish to Kafka: `gzip`, `none`, `lz4` or `zstd`. A stock kafkajs consumer reads only the first two; other clients read all.',
  },
  schemaRegistryUrl: url('Base address of the Confluent-compatible registry; needed with Kafka.', bareUrl()),
  schemaRegistryUsername: user('User at the registry (HTTP basic authentication).'),
  schemaRegistryPassword: secretText('Password of the user at the registry.'),
  schemaRegistryPasswordFile: file('File that holds that password and nothing else.'),
  schemaRegistryBearerAuthToken: secret('Bearer token for the registry, instead of a user.', bearerToken),
  schemaRegistryBearerAuthTokenFile: file('File that holds that token and nothing else.'),
  schemaRegistryBearerAuthIssuerEndpointUrl: url(
    'Token server (OAuth2) that gives the client the tokens for the registry; with id and secret of the client.',
  ),
  schemaRegistryBearerAuthClientId: clientId,
  schemaRegistryBearerAuthClientSecret: secretText('Secret of the client.'),
  schemaRegistryBearerAuthClientSecretFile: file('File that holds that secret and nothing else.'),
  schemaRegistryBearerAuthScope: scope,
  schemaRegistryBearerAuthLogicalCluster: id(
    'Registry that a token is for, as Confluent Cloud asks: `lsrc-…`.',
  ),
  schemaRegistryBearerAuthIdentityPoolId: identityPool,
  schemaRegistryCaFile: file(
    'Certificates (PEM) of authorities to trust at the registry and its token server, besides the authorities that Node.js comes with.',
  ),
  schemaRegistryCertFile: file(
    'Certificate (PEM) of this client, for a registry that asks for one; with its key.',
  ),
  schemaRegistryKeyFile: file('Key (PEM) of the certificate.'),
  schemaRegistryKeyPassword: secretText('Password of an encrypted key.'),
  schemaRegistryKeyPasswordFile: file('File that holds that password and nothing else.'),
  schemaRegistration: {
    value: 'way',
    schema: oneOf(['register', 'lookup']),
    default: 'register',
    doc: '`register`: new schemas are registered at the start. `lookup`: they must be registered already, for example by `highwater schemas register` in a deployment.',
  },
  topicPrefix: {
    value: 'prefix',
    schema: z.string({ error: topicText }).regex(/^[A-Za-z0-9._-]{0,100}$/, { error: topicText }),
    default: '',
    doc: 'Goes before the name of every topic.',
  },
  partitions: {
    value: 'number',
    schema: wholeNumber(1, 1_000),
    default: '3',
    doc: 'Partitions of new topics of changes, transitions and images. A topic that exists keeps its own: see [sizing](sizing.md#partitions).',
  },
  replicas: {
    value: 'number',
    schema: wholeNumber(1, 32_767),
    doc: 'Replicas of new topics on Kafka (`replication.factor`). Not set: the brokers decide.',
  },
  appId: {
    value: 'id',
    schema: matching(/^[A-Za-z0-9._-]{1,100}$/, topicText),
    default: 'highwater',
    doc: 'Name of this installation. Every event has it in `source.name`.',
  },
  requestsPerSecond: {
    value: 'number',
    schema: numberBetween(0.01, 1_000),
    default: '50',
    doc: 'Requests that all feeds of one API (the same host and token) may begin in a second. Vendors count by token.',
  },
  concurrentRequests: {
    value: 'number',
    schema: wholeNumber(1, 100),
    default: '4',
    doc: 'Requests that all feeds of one API may have under way at once.',
  },
  requestTimeout: time('30s', 'Time for one complete answer.'),
  idleTimeout: time('15s', 'An answer is given up if no byte arrives for this long.'),
  retryTime: time(
    '45s',
    'Time for one page with all its retries and pauses. After that the poll fails, and the next poll asks again.',
  ),
  bodyLimit: {
    value: 'size',
    schema: byteSize(1_000, 512 * 1_048_576),
    default: '64MB',
    doc: 'Largest answer, decompressed. A larger page is asked for again with fewer records. It also bounds memory: `highwater explain SOURCE_BODY_TOO_LARGE` has the limits.',
  },
  httpPort: {
    value: 'port',
    schema: wholeNumber(0, 65_535),
    doc: 'Port of the dashboard (`/`), metrics and health (`/metrics`, `/livez`, `/readyz`) of `run`. `0`: any free port. Not set: none. `run --once` opens no port.',
  },
  httpHost: {
    value: 'address',
    schema: matching(
      /^[A-Za-z0-9.:_-]+$/,
      'an address or a name of this machine, such as 127.0.0.1 or 0.0.0.0',
    ),
    default: '127.0.0.1',
    doc: 'Address to listen on. An address that other machines can reach needs a token.',
  },
  httpToken: secret(
    'Token that the dashboard and `/metrics` ask for (`Authorization: Bearer …`). Health needs no token.',
    token(/^(?=.{4})[A-Za-z0-9._~+/-]+=*$/, 'letters, digits and ._~+/-, at the end perhaps ='),
  ),
  httpTokenFile: file('File that holds that token and nothing else.'),
  logLevel: {
    value: 'level',
    schema: oneOf(['error', 'warn', 'info', 'debug']),
    default: 'info',
    doc: 'Least important lines to log: `error`, `warn`, `info` or `debug`.',
  },
  logFormat: {
    value: 'format',
    schema: oneOf(['pretty', 'json']),
    default: 'pretty',
    doc: '`pretty` for people, `json` for machines: one object a line.',
  },
} as const satisfies Record<string, Row>;

export type SettingKey = keyof typeof table;
type Output<Key extends SettingKey> = z.output<(typeof table)[Key]['schema']>;
/** The value that was set, else the default, else null. */
export type SettingValues = {
  readonly [Key in SettingKey]: (typeof table)[Key] extends { readonly default: string }
    ? Output<Key>
    : Output<Key> | null;
};

/** One setting of the program. */
export interface Setting extends Required<Pick<Row, 'schema' | 'doc' | 'secret'>> {
  readonly env: string;
  /** Long form with the value's name; null for a secret. */
  readonly flag: string | null;
  /** As a person would write it; null if there is none. */
  readonly default: string | null;
}

/** Keys whose flag and variable have another name: `--feeds`, because the key `feeds` is the section of all feeds. */
const otherNames: Readonly<Record<string, string>> = { enabledFeeds: 'feeds' };

function settingOf(key: string, row: Row): Setting {
  const { schema, doc, value, default: fallback = null, secret = false } = row;
  const name = Object.hasOwn(otherNames, key) ? otherNames[key]! : key;
  const words = name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
  const variable = words.join('_').toUpperCase();
  return {
    env: /^(KAFKA|SCHEMA_REGISTRY)_/.test(variable) ? variable : `HIGHWATER_${variable}`,
    flag: secret ? null : `--${words.join('-')}${value === undefined ? '' : ` <${value}>`}`,
    schema,
    default: fallback,
    doc,
    secret,
  };
}

export const settings = Object.fromEntries(
  Object.entries(table).map(([key, row]) => [key, settingOf(key, row)]),
) as Readonly<Record<SettingKey, Setting>>;

export const settingKeys = Object.keys(settings) as readonly SettingKey[];

/** The name that the command line parser gives a flag: `--api-url <url>` → `apiUrl`. */
export function flagName(flag: string): string {
  const [long = ''] = flag.split(' ');
  return long.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
