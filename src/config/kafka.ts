import type { SchemaRegistryConfig } from '../avro/registry/confluent-registry';
import type { KafkaConfig } from '../log/kafka/connection/client';
import type { Live, Rotation, Secret } from '../secrets/rotation';
import { liveFiles, readPem } from './files/pem-file';
import { type TlsTexts, tlsProblem } from './files/tls-files';
import { type Mistake, shown } from './mistake';
import type { ReadSettings } from './raw-settings';
import { type SettingKey, settings } from './settings';

/** The settings on which it depends where records are written to and read from. */
export const logSettings = [
  ...['dataDir', 'kafkaBrokers', 'kafkaSsl', 'kafkaSslCaFile', 'kafkaSslCertFile', 'kafkaSslKeyFile'],
  ...['kafkaSslKeyPassword', 'kafkaSslKeyPasswordFile', 'kafkaSaslMechanism', 'kafkaSaslUsername'],
  ...['kafkaSaslPassword', 'kafkaSaslPasswordFile', 'schemaRegistryUrl', 'schemaRegistryUsername'],
  ...['schemaRegistryPassword', 'schemaRegistryPasswordFile', 'schemaRegistryCaFile'],
  ...['schemaRegistryCertFile', 'schemaRegistryKeyFile', 'schemaRegistryKeyPassword'],
  'schemaRegistryKeyPasswordFile',
] as readonly SettingKey[];

export interface ReadKafka {
  readonly kafka: KafkaConfig | null;
  readonly schemaRegistry: SchemaRegistryConfig | null;
  readonly mistakes: readonly Mistake[];
}

/**
 * Brokers, how to log in to them, and the registry that belongs to them. Certificates and passwords are read at each use, so they
 * are always the present ones.
 * @param live passwords that come from files
 */
export function readKafka(
  read: ReadSettings,
  live: ReadonlyMap<SettingKey, Secret>,
  cwd: string,
  rotation: Rotation,
): ReadKafka {
  const { values, origins } = read;
  const mistakes: Mistake[] = [];
  const missing = (key: SettingKey, since: SettingKey): void => {
    const { env } = settings[key];
    const problem = `is not set, expected ${env}, since ${settings[since].env} is set`;
    mistakes.push({ key, where: null, problem });
  };
  const both = (a: SettingKey, b: SettingKey): void => {
    if (origins.has(a) && !origins.has(b)) missing(b, a);
    if (origins.has(b) && !origins.has(a)) missing(a, b);
  };
  if (origins.has('kafkaBrokers') && !origins.has('schemaRegistryUrl')) {
    missing('schemaRegistryUrl', 'kafkaBrokers');
  }
  both('kafkaSaslUsername', 'kafkaSaslPassword');
  both('kafkaSslCertFile', 'kafkaSslKeyFile');
  both('schemaRegistryUsername', 'schemaRegistryPassword');
  both('schemaRegistryCertFile', 'schemaRegistryKeyFile');

  const tls = readTls('kafkaSsl', read, live, { cwd, rotation }, mistakes);
  const first = tls.value;
  const isEncrypted = values.kafkaSsl || first.ca !== null || first.cert !== null;
  const { kafkaSaslUsername: username, kafkaSaslPassword: password } = values;
  const brokers = values.kafkaBrokers;
  const kafka: KafkaConfig | null = brokers && {
    brokers,
    get ssl() {
      return isEncrypted ? tls.value : null;
    },
    sasl:
      username === null || password === null
        ? null
        : Object.assign(login(username, password, live.get('kafkaSaslPassword')), {
            mechanism: values.kafkaSaslMechanism,
          }),
    compression: values.compression,
    sessionTimeoutMs: values.kafkaSessionTimeout,
  };
  return {
    kafka,
    schemaRegistry: schemaRegistry(
      read,
      live,
      readTls('schemaRegistry', read, live, { cwd, rotation }, mistakes),
    ),
    mistakes,
  };
}

/** The files of one server: their texts as they are now. */
function readTls(
  server: 'kafkaSsl' | 'schemaRegistry',
  read: ReadSettings,
  live: ReadonlyMap<SettingKey, Secret>,
  { cwd, rotation }: { readonly cwd: string; readonly rotation: Rotation },
  mistakes: Mistake[],
): Live<TlsTexts> {
  const { values, origins } = read;
  const keys = {
    ca: `${server}CaFile`,
    cert: `${server}CertFile`,
    key: `${server}KeyFile`,
    passphrase: `${server}KeyPassword`,
  } as const;
  const prefix = settings[keys.ca].env.replace(/_CA_FILE$/, '');
  const readNow = (found: Mistake[]): TlsTexts => {
    const tls: TlsTexts = {
      ca: readPem(read, cwd, keys.ca, found),
      cert: readPem(read, cwd, keys.cert, found),
      key: readPem(read, cwd, keys.key, found),
      passphrase: live.get(keys.passphrase)?.value ?? values[keys.passphrase],
    };
    const unusable = tlsProblem(tls, prefix);
    if (unusable === null) return tls;
    const key = keys[unusable.of];
    const file = unusable.of === 'passphrase' ? '' : `the file ${shown(values[key])} `;
    found.push({ key, where: origins.get(key)?.where ?? null, problem: `${file}${unusable.problem}` });
    return tls;
  };
  const files = [keys.ca, keys.cert, keys.key, `${keys.passphrase}File` as const].map((key) => values[key]);
  return liveFiles(server, files, readNow(mistakes), readNow, { cwd, rotation });
}

function schemaRegistry(
  { values }: ReadSettings,
  live: ReadonlyMap<SettingKey, Secret>,
  tls: Live<TlsTexts>,
): SchemaRegistryConfig | null {
  const { schemaRegistryUrl: url, schemaRegistryUsername, schemaRegistryPassword } = values;
  if (url === null) return null;
  const auth =
    schemaRegistryUsername === null || schemaRegistryPassword === null
      ? null
      : login(schemaRegistryUsername, schemaRegistryPassword, live.get('schemaRegistryPassword'));
  const { ca, cert } = tls.value;
  const hasFiles = ca !== null || cert !== null;
  return { url, auth, registration: values.schemaRegistration, tls: () => (hasFiles ? tls.value : null) };
}

function login(username: string, password: string, live: Secret | undefined) {
  return {
    username,
    get password() {
      return live?.value ?? password;
    },
  };
}
