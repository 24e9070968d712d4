import type { SchemaRegistryConfig } from '../avro/registry/confluent-registry';
import type { KafkaConfig } from '../log/kafka/connection/client';
import type { Live } from '../secrets/rotation';
import { liveFiles, readPem } from './files/pem-file';
import { readSecret } from './files/secrets';
import { type TlsTexts, tlsProblem } from './files/tls-files';
import { type Mistake, shown } from './mistake';
import { type Loading, whereSet } from './raw-settings';
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

/**
 * Brokers, how to log in to them, and the registry that belongs to them. Certificates and passwords are read at each use, so they
 * are always the present ones.
 */
export function readKafka(loading: Loading): {
  readonly kafka: KafkaConfig | null;
  readonly schemaRegistry: SchemaRegistryConfig | null;
} {
  const { values, origins } = loading;
  const isSet = (key: SettingKey) => origins.has(key) || origins.has(`${key}File` as SettingKey);
  const missing = (key: SettingKey, since: SettingKey): void => {
    const problem = `is not set, expected ${settings[key].env}, since ${settings[since].env} is set`;
    loading.mistakes.push({ key, where: null, problem });
  };
  const both = (a: SettingKey, b: SettingKey): void => {
    if (isSet(a) && !isSet(b)) missing(b, a);
    if (isSet(b) && !isSet(a)) missing(a, b);
  };
  if (isSet('kafkaBrokers') && !isSet('schemaRegistryUrl')) missing('schemaRegistryUrl', 'kafkaBrokers');
  both('kafkaSaslUsername', 'kafkaSaslPassword');
  both('kafkaSslCertFile', 'kafkaSslKeyFile');
  both('schemaRegistryUsername', 'schemaRegistryPassword');
  both('schemaRegistryCertFile', 'schemaRegistryKeyFile');

  const { kafkaBrokers: brokers, compression, kafkaSessionTimeout: sessionTimeoutMs } = values;
  const tls = readTls('kafkaSsl', loading);
  const isEncrypted = values.kafkaSsl || tls.value.ca !== null || tls.value.cert !== null;
  const login = readLogin(values.kafkaSaslUsername, 'kafkaSaslPassword', loading);
  return {
    kafka: brokers && {
      brokers,
      get ssl() {
        return isEncrypted ? tls.value : null;
      },
      sasl: login && Object.assign(login, { mechanism: values.kafkaSaslMechanism }),
      compression,
      sessionTimeoutMs,
    },
    schemaRegistry: readRegistry(loading),
  };
}

function readRegistry(loading: Loading): SchemaRegistryConfig | null {
  const { schemaRegistryUrl: url, schemaRegistryUsername, schemaRegistration: registration } = loading.values;
  const auth = readLogin(schemaRegistryUsername, 'schemaRegistryPassword', loading);
  const tls = readTls('schemaRegistry', loading);
  const hasFiles = tls.value.ca !== null || tls.value.cert !== null;
  return url === null ? null : { url, auth, registration, tls: () => (hasFiles ? tls.value : null) };
}

/** The files of one server: their texts as they are now. */
function readTls(server: 'kafkaSsl' | 'schemaRegistry', loading: Loading): Live<TlsTexts> {
  const { values } = loading;
  const keys = {
    ca: `${server}CaFile`,
    cert: `${server}CertFile`,
    key: `${server}KeyFile`,
    passphrase: `${server}KeyPassword`,
  } as const;
  const prefix = settings[keys.ca].env.replace(/_CA_FILE$/, '');
  const password = readSecret(loading, keys.passphrase);
  const readNow = (found: Mistake[]): TlsTexts => {
    const tls: TlsTexts = {
      ca: readPem(loading, keys.ca, found),
      cert: readPem(loading, keys.cert, found),
      key: readPem(loading, keys.key, found),
      passphrase: password?.value ?? null,
    };
    const unusable = tlsProblem(tls, prefix);
    if (unusable === null) return tls;
    const key = keys[unusable.of];
    const file = unusable.of === 'passphrase' ? '' : `the file ${shown(values[key])} `;
    found.push({ key, where: whereSet(loading, key), problem: `${file}${unusable.problem}` });
    return tls;
  };
  const files = [keys.ca, keys.cert, keys.key, `${keys.passphrase}File` as const].map((key) => values[key]);
  return liveFiles(server, files, readNow(loading.mistakes), readNow, loading);
}

/** Null if user or password is not set. */
function readLogin(
  username: string | null,
  key: 'kafkaSaslPassword' | 'schemaRegistryPassword',
  loading: Loading,
): { readonly username: string; readonly password: string } | null {
  const password = readSecret(loading, key);
  if (username === null || password === null) return null;
  return {
    username,
    get password() {
      return password.value;
    },
  };
}
