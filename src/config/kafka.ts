import type { SchemaRegistryConfig } from '../avro/registry/confluent-registry';
import type { KafkaConfig } from '../log/kafka/connection/client';
import { readPem } from './files/pem-file';
import { type TlsTexts, tlsProblem } from './files/tls-files';
import { type Mistake, shown } from './mistake';
import type { ReadSettings } from './raw-settings';
import { type SettingKey, settings } from './settings';

/** The settings on which it depends where records are written to and read from. */
export const logSettings = [
  ...['dataDir', 'kafkaBrokers', 'kafkaSsl', 'kafkaSslCaFile', 'kafkaSslCertFile', 'kafkaSslKeyFile'],
  ...['kafkaSslKeyPassword', 'kafkaSslKeyPasswordFile', 'kafkaSaslMechanism', 'kafkaSaslUsername'],
  ...['kafkaSaslPassword', 'kafkaSaslPasswordFile', 'schemaRegistryUrl', 'schemaRegistryUsername'],
  ...['schemaRegistryPassword', 'schemaRegistryPasswordFile'],
] as readonly SettingKey[];

export interface ReadKafka {
  readonly kafka: KafkaConfig | null;
  readonly schemaRegistry: SchemaRegistryConfig | null;
  readonly mistakes: readonly Mistake[];
}

const tlsSettings = {
  ca: 'kafkaSslCaFile',
  cert: 'kafkaSslCertFile',
  key: 'kafkaSslKeyFile',
  passphrase: 'kafkaSslKeyPassword',
} as const;

/** Brokers, how to log in to them, and the registry that belongs to them. */
export function readKafka(read: ReadSettings, cwd: string): ReadKafka {
  const { values, origins } = read;
  const mistakes: Mistake[] = [];
  const missing = (key: SettingKey, since: SettingKey): void => {
    const { env } = settings[key];
    const problem = `is not set, expected ${env}, since ${settings[since].env} is set`;
    mistakes.push({ key, where: null, problem });
  };
  const pem = (key: 'kafkaSslCaFile' | 'kafkaSslCertFile' | 'kafkaSslKeyFile') =>
    readPem(read, cwd, key, mistakes);
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

  const tls: TlsTexts = {
    ca: pem('kafkaSslCaFile'),
    cert: pem('kafkaSslCertFile'),
    key: pem('kafkaSslKeyFile'),
    passphrase: values.kafkaSslKeyPassword,
  };
  const unusable = tlsProblem(tls);
  if (unusable !== null) {
    const key = tlsSettings[unusable.of];
    const file = key === 'kafkaSslKeyPassword' ? '' : `the file ${shown(values[key])} `;
    mistakes.push({
      key,
      where: origins.get(key)?.where ?? null,
      problem: `${file}${unusable.problem}`,
    });
  }
  const { kafkaSaslUsername: username, kafkaSaslPassword: password } = values;
  const brokers = values.kafkaBrokers;
  const kafka: KafkaConfig | null = brokers && {
    brokers,
    ssl: values.kafkaSsl || tls.ca !== null || tls.cert !== null ? tls : null,
    sasl:
      username === null || password === null
        ? null
        : { mechanism: values.kafkaSaslMechanism, username, password },
    compression: values.compression,
    sessionTimeoutMs: values.kafkaSessionTimeout,
  };
  return { kafka, schemaRegistry: schemaRegistry(read), mistakes };
}

function schemaRegistry({ values }: ReadSettings): SchemaRegistryConfig | null {
  const { schemaRegistryUrl: url, schemaRegistryUsername, schemaRegistryPassword } = values;
  if (url === null) return null;
  const auth =
    schemaRegistryUsername === null || schemaRegistryPassword === null
      ? null
      : { username: schemaRegistryUsername, password: schemaRegistryPassword };
  return { url, auth, registration: values.schemaRegistration };
}
