import type { RegistryBearer, SchemaRegistryConfig } from '../avro/registry/confluent-registry-http';
import type { KafkaConfig } from '../log/kafka/connection/client';
import type { TlsTexts } from '../net/certificate-failures';
import type { Live } from '../secrets/rotation';
import { readSecret } from './files/secrets';
import { readTls } from './files/tls-files';
import { readGrant, readKafkaLogin, readLogin } from './kafka-login';
import { type Loading, whereSet } from './raw-settings';
import { type SettingKey, settingKeys, settings } from './settings';

const [bearerAuth, oauthbearer] = ['schemaRegistryBearerAuth', 'kafkaSaslOauthbearer'] as const;

/** The settings on which it depends where records are written to and read from. */
export const logSettings = settingKeys.filter((key) =>
  /^(dataDir|kafka(?!Session)|schemaRegistry)/.test(key),
);

/**
 * Brokers, how to log in to them, and the registry that belongs to them. Certificates and passwords are read at each use, so they
 * are always the present ones.
 */
export function readKafka(loading: Loading): {
  readonly kafka: KafkaConfig | null;
  readonly schemaRegistry: SchemaRegistryConfig | null;
} {
  const { values } = loading;
  checkTogether(loading);
  const { kafkaBrokers: brokers, compression, replicas, kafkaSessionTimeout: sessionTimeoutMs } = values;
  const tls = readTls('kafkaSsl', loading);
  const isEncrypted = values.kafkaSsl || tls.value.ca !== null || tls.value.cert !== null;
  // Also without brokers: a secret that is set is hidden.
  const sasl = readKafkaLogin(loading, tls);
  return {
    kafka: brokers && {
      brokers,
      get ssl() {
        return isEncrypted ? tls.value : null;
      },
      sasl,
      compression,
      replicas,
      sessionTimeoutMs,
    },
    schemaRegistry: readRegistry(loading),
  };
}

/** Settings that say nothing without the others of their line. */
const together = [
  ['kafkaSaslUsername', 'kafkaSaslPassword'],
  ['kafkaSslCertFile', 'kafkaSslKeyFile'],
  ['schemaRegistryUsername', 'schemaRegistryPassword'],
  ['schemaRegistryCertFile', 'schemaRegistryKeyFile'],
  [`${bearerAuth}IssuerEndpointUrl`, `${bearerAuth}ClientId`, `${bearerAuth}ClientSecret`],
  [`${oauthbearer}TokenEndpointUrl`, `${oauthbearer}ClientId`, `${oauthbearer}ClientSecret`],
] as const;

/** The ways to log in to a server, of which one can be set. */
const logins = [
  ['schemaRegistryUsername', `${bearerAuth}Token`, `${bearerAuth}ClientId`],
  [`${oauthbearer}Token`, `${oauthbearer}ClientId`],
] as const;

function checkTogether(loading: Loading): void {
  const { origins, mistakes } = loading;
  const isSet = (key: SettingKey) =>
    ['', 'File', 'Command'].some((more) => origins.has(`${key}${more}` as SettingKey));
  const need = (needed: SettingKey, since: SettingKey | undefined): void => {
    if (since === undefined || !isSet(since) || isSet(needed)) return;
    const problem = `is not set, expected ${settings[needed].env}, since ${settings[since].env} is set`;
    mistakes.push({ key: needed, where: null, problem });
  };
  need('schemaRegistryUrl', 'kafkaBrokers');
  if (loading.values.standby) need('kafkaBrokers', 'standby');
  for (const keys of together) for (const key of keys) need(key, keys.find(isSet));
  for (const client of [bearerAuth, oauthbearer]) need(`${client}ClientId`, `${client}Scope`);
  const withToken = [`${bearerAuth}LogicalCluster`, `${bearerAuth}IdentityPoolId`] as const;
  if (!isSet(`${bearerAuth}Token`)) need(`${bearerAuth}ClientId`, withToken.find(isSet));
  const isByToken = loading.values.kafkaSaslMechanism === 'oauthbearer';
  if (isByToken && !logins[1].some(isSet)) {
    const problem =
      'is oauthbearer, expected with it a token (KAFKA_SASL_OAUTHBEARER_TOKEN_FILE) or a client (KAFKA_SASL_OAUTHBEARER_CLIENT_ID)';
    mistakes.push({ key: 'kafkaSaslMechanism', where: whereSet(loading, 'kafkaSaslMechanism'), problem });
  }
  for (const ways of logins) {
    const [first, second] = ways.filter(isSet);
    if (first === undefined || second === undefined) continue;
    const problem = `and ${settings[first].env} are both set, expected one of them`;
    mistakes.push({ key: second, where: whereSet(loading, second), problem });
  }
}

function readRegistry(loading: Loading): SchemaRegistryConfig | null {
  const { schemaRegistryUrl: url, schemaRegistryUsername, schemaRegistration: registration } = loading.values;
  const auth = readLogin(schemaRegistryUsername, 'schemaRegistryPassword', loading);
  const tls = readTls('schemaRegistry', loading);
  const hasFiles = tls.value.ca !== null || tls.value.cert !== null;
  const bearer = readBearer(loading, tls);
  return url === null ? null : { url, auth, bearer, registration, tls: () => (hasFiles ? tls.value : null) };
}

/** The token for the registry: the one that is set, or one that a token server gives. */
function readBearer(loading: Loading, tls: Live<TlsTexts>): RegistryBearer | null {
  const set = readSecret(loading, `${bearerAuth}Token`);
  const token = set === null ? readGrant(loading, bearerAuth, tls) : (set.secret ?? set);
  const cluster = loading.values[`${bearerAuth}LogicalCluster`];
  const pool = loading.values[`${bearerAuth}IdentityPoolId`];
  const headers = {
    ...(cluster && { 'target-sr-cluster': cluster }),
    ...(pool && { 'Confluent-Identity-Pool-Id': pool }),
  };
  return token && { token, headers };
}
