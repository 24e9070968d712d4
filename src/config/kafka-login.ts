import { sharedController } from '../async/wait';
import { HighwaterError } from '../errors';
import type { KafkaConfig } from '../log/kafka/connection/client';
import type { TokenLogin } from '../log/kafka/connection/token-login';
import type { TlsTexts } from '../net/certificate-failures';
import { readyToken } from '../secrets/bearer-token';
import type { Live } from '../secrets/rotation';
import type { Grant } from '../source/api-access';
import type { GrantedToken } from '../source/granted-token';
import { readSecret } from './files/secrets';
import { type Loading, whereSet } from './raw-settings';
import { settingKeys } from './settings';

/** How to log in to the brokers; null: not at all. Secrets of other mechanisms are read too, so that they are hidden. */
export function readKafkaLogin(loading: Loading, tls: Live<TlsTexts>): KafkaConfig['sasl'] {
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername } = loading.values;
  checkMechanism(loading);
  const byToken = readTokenLogin(loading, tls);
  const login = readLogin(kafkaSaslUsername, 'kafkaSaslPassword', loading);
  if (mechanism === 'oauthbearer') return byToken;
  if (mechanism === 'aws-msk-iam') return loading.values.kafkaBrokers && readMskLogin(loading);
  return login && Object.assign(login, { mechanism });
}

/** What a mechanism needs, if not a user. */
const ownSettings: Readonly<Record<string, RegExp>> = {
  oauthbearer: /^kafkaSaslOauthbearer/,
  'aws-msk-iam': /^kafkaSaslAws/,
};

/** Settings of another mechanism would be left out unseen. */
function checkMechanism(loading: Loading): void {
  const { values, origins, mistakes } = loading;
  const mechanism = values.kafkaSaslMechanism;
  const own = ownSettings[mechanism] ?? /^kafkaSasl(Username|Password)/;
  const key = settingKeys.find(
    (one) => /^kafkaSasl(?!Mechanism)/.test(one) && origins.has(one) && !own.test(one),
  );
  if (key === undefined) return;
  const problem = `is not for the mechanism ${mechanism}, which is set or is the default (KAFKA_SASL_MECHANISM)`;
  mistakes.push({ key, where: whereSet(loading, key), problem });
}

const withoutToken = {
  certificate: 'KAFKA_CERTIFICATE',
  refused: 'KAFKA_UNAUTHENTICATED',
  unavailable: 'KAFKA_UNREACHABLE',
} as const;

/** A request to a token server has its own time limit. */
const { signal: unlimited } = sharedController();
const tokenServerRemedy =
  'Nothing, if it passes. Otherwise check the address of the token server (KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL), the network, and whether it runs.';

/** Null if neither a token nor a token server is set. */
function readTokenLogin(loading: Loading, tls: Live<TlsTexts>): TokenLogin | null {
  const { kafkaSaslOauthbearerLogicalCluster: cluster, kafkaSaslOauthbearerIdentityPoolId: pool } =
    loading.values;
  const set = readSecret(loading, 'kafkaSaslOauthbearerToken');
  const granted = set === null ? readGrant(loading, 'kafkaSaslOauthbearer', tls) : null;
  const token = set ?? granted;
  if (token === null) return null;
  const secret = granted ?? set?.secret;
  const extensions = { ...(cluster && { logicalCluster: cluster }), ...(pool && { identityPoolId: pool }) };
  return {
    mechanism: 'oauthbearer',
    async oauthBearerProvider() {
      if (granted !== null) await readyToken(granted, unlimited, withoutToken, tokenServerRemedy);
      // Nobody says when a token in a file or from a command ends.
      else await secret?.isReplaced(secret.value);
      return { value: token.value, extensions };
    },
    isReplaced: async (refused) => (await secret?.isReplaced(refused)) ?? false,
  };
}

/** Not a dependency: it brings half of the AWS SDK. */
const signer = 'aws-msk-iam-sasl-signer-js';

interface Signer {
  generateAuthToken(of: { readonly region: string }): Promise<{ readonly token: string }>;
}

/** Each login has a token of its own, which is signed here with the credentials that the AWS SDK finds. Null if something is missing. */
function readMskLogin({ values, origins, rotation, mistakes, cwd }: Loading): TokenLogin | null {
  const region = values.kafkaSaslAwsRegion ?? process.env.AWS_REGION;
  let file = '';
  try {
    file = require.resolve(signer, { paths: [cwd, __dirname] });
  } catch {
    const problem = `is aws-msk-iam, which needs a package that is not installed, expected after npm install ${signer}`;
    const where = whereSet({ origins }, 'kafkaSaslMechanism');
    mistakes.push({ key: 'kafkaSaslMechanism', where, problem });
  }
  if (!region) {
    const problem = 'is not set, expected KAFKA_SASL_AWS_REGION or AWS_REGION with aws-msk-iam';
    mistakes.push({ key: 'kafkaSaslAwsRegion', where: null, problem });
  }
  if (file === '' || !region) return null;
  const hide = rotation.granted('tokens of the brokers');
  return {
    mechanism: 'oauthbearer',
    async oauthBearerProvider() {
      try {
        const { token: value } = await (require(file) as Signer).generateAuthToken({ region });
        hide(value);
        return { value };
      } catch (error) {
        const what = `${signer} signed no token: ${error instanceof Error ? error.message : error}`;
        const remedy = 'Give this process credentials of AWS: a role, AWS_PROFILE, or AWS_ACCESS_KEY_ID.';
        throw new HighwaterError('KAFKA_UNAUTHENTICATED', what, { remedy });
      }
    },
  };
}

/** Null if user or password is not set. */
export function readLogin(
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

/** The clients of token servers, by the beginning of the names of their settings. */
const clients = {
  schemaRegistryBearerAuth: {
    url: 'schemaRegistryBearerAuthIssuerEndpointUrl',
    tokens: 'tokens of the registry',
    leastMarginMs: 0,
  },
  kafkaSaslOauthbearer: {
    url: 'kafkaSaslOauthbearerTokenEndpointUrl',
    tokens: 'tokens of the brokers',
    // A session ends with its token. kafkajs logs in again 10 s before that, and at each request if the session is shorter.
    leastMarginMs: 20_000,
  },
} as const;

/** Null if the settings of the token server are not complete. */
export function readGrant(
  loading: Loading,
  client: keyof typeof clients,
  tls: Live<TlsTexts>,
): GrantedToken | null {
  const { values, rotation } = loading;
  const { url, tokens, leastMarginMs } = clients[client];
  const key = `${client}ClientSecret` as const;
  const found = readSecret(loading, key);
  const [tokenUrl, clientId] = [values[url], values[`${client}ClientId`]];
  if (found === null || tokenUrl === null || clientId === null) return null;
  const grant: Grant = {
    ...{ scheme: 'oauth2', id: client, tokenUrl, clientId, parameters: {}, clientAuth: 'basic' },
    scope: values[`${client}Scope`] ?? undefined,
    ...{ key: whereSet(loading, key) ?? `${key}File`, clientSecret: found.value, secret: found.secret },
    leastMarginMs,
    hide: rotation.granted(tokens),
  };
  const trust = {
    get ca() {
      return tls.value.ca;
    },
  };
  // Loaded only if needed, as all clients of servers are.
  const { grantedToken }: typeof import('../source/granted-token') = require('../source/granted-token');
  return grantedToken(grant, trust, Number.POSITIVE_INFINITY);
}
