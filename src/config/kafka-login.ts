import { HighwaterError } from '../errors';
import type { KafkaConfig } from '../log/kafka/connection/client';
import type { TokenLogin } from '../log/kafka/connection/token-login';
import { type BearerToken, readyToken } from '../secrets/bearer-token';
import type { Live, Secret } from '../secrets/rotation';
import { readSecret, type SetSecret } from './files/secrets';
import type { TlsTexts } from './files/tls-files';
import { type Loading, whereSet } from './raw-settings';
import { type SettingKey, settingKeys, settings } from './settings';
import { readGrant } from './token-client';

const { env: mechanismVariable } = settings.kafkaSaslMechanism;

/** How to log in to the brokers; null: not at all. */
export function readKafkaLogin(loading: Loading, tls: Live<TlsTexts>): KafkaConfig['sasl'] {
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername } = loading.values;
  checkMechanism(loading);
  if (mechanism === 'oauthbearer') return readTokenLogin(loading, tls);
  if (mechanism === 'aws-msk-iam') return readMskLogin(loading);
  const login = readLogin(kafkaSaslUsername, 'kafkaSaslPassword', loading);
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
  const problem = `is not for the mechanism ${mechanism}, which is set or is the default (${mechanismVariable})`;
  mistakes.push({ key, where: whereSet(loading, key), problem });
}

const withoutToken = {
  certificate: 'KAFKA_CERTIFICATE',
  refused: 'KAFKA_UNAUTHENTICATED',
  unavailable: 'KAFKA_UNREACHABLE',
} as const;

const tokenServerRemedy =
  'Nothing, if it passes. Otherwise check the address of the token server (KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL), the network, and whether it runs.';

/** Null if neither a token nor a token server is set. */
function readTokenLogin(loading: Loading, tls: Live<TlsTexts>): TokenLogin | null {
  const set = readSecret(loading, 'kafkaSaslOauthbearerToken');
  const token = set === null ? readGrant(loading, 'kafkaSaslOauthbearer', tls) : readForEachLogin(set);
  if (token === null) return null;
  const { kafkaSaslOauthbearerLogicalCluster: cluster, kafkaSaslOauthbearerIdentityPoolId: pool } =
    loading.values;
  const extensions = { ...(cluster && { logicalCluster: cluster }), ...(pool && { identityPoolId: pool }) };
  // A token server has its own time limit.
  const { signal } = new AbortController();
  return {
    mechanism: 'oauthbearer',
    oauthBearerProvider: async () => ({
      value: await readyToken(token, signal, withoutToken, tokenServerRemedy),
      extensions,
    }),
    isReplaced: (refused) => token.isReplaced(refused),
  };
}

/** Nobody says when a token in a file or from a command ends. */
function readForEachLogin(set: SetSecret): BearerToken & Pick<Secret, 'isReplaced'> {
  const { secret } = set;
  return {
    get value() {
      return set.value;
    },
    async ready() {
      await secret?.isReplaced(secret.value);
      return null;
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
function readMskLogin(loading: Loading): TokenLogin | null {
  const { values, rotation, mistakes, cwd } = loading;
  const lack = (key: SettingKey, problem: string): null => {
    mistakes.push({ key, where: whereSet(loading, key), problem });
    return null;
  };
  const region = values.kafkaSaslAwsRegion ?? process.env.AWS_REGION;
  if (!region) {
    const since = `since ${mechanismVariable} is aws-msk-iam`;
    return lack('kafkaSaslAwsRegion', `is not set, expected KAFKA_SASL_AWS_REGION or AWS_REGION, ${since}`);
  }
  let file: string;
  try {
    file = require.resolve(signer, { paths: [cwd, __dirname] });
  } catch {
    const problem = 'is aws-msk-iam, which needs a package that is not installed, expected after';
    return lack('kafkaSaslMechanism', `${problem} npm install ${signer}`);
  }
  const hide = rotation.granted('tokens of the brokers');
  return {
    mechanism: 'oauthbearer',
    async oauthBearerProvider() {
      try {
        const { token } = await (require(file) as Signer).generateAuthToken({ region });
        hide(token);
        return { value: token };
      } catch (error) {
        const what = `${signer} signed no token: ${error instanceof Error ? error.message : error}`;
        throw new HighwaterError('KAFKA_UNAUTHENTICATED', what, {
          remedy: 'Give this process credentials of AWS: a role, AWS_PROFILE, or AWS_ACCESS_KEY_ID.',
        });
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
