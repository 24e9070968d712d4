import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Config, loadConfig } from '../../src/config/load-config';
import type { HighwaterError } from '../../src/errors';
import type { TokenLogin } from '../../src/log/kafka/connection/token-login';
import { namedRows } from '../support/named-rows';
import { tempFolder } from '../support/temp-folder';

/** Settings of logins by tokens: what is refused before anything is connected to. */

const folder = tempFolder();

/** @param sasl each setting without its beginning: `MECHANISM` */
function load(sasl: Readonly<Record<string, string>>): Config {
  const named = Object.entries(sasl).map(([name, value]) => [`KAFKA_SASL_${name}`, value]);
  const address = { KAFKA_BROKERS: 'k:9092', SCHEMA_REGISTRY_URL: 'http://registry:8081' };
  const env = { ...address, ...Object.fromEntries(named) };
  return loadConfig({ flags: {}, env, cwd: folder() }, 'whatever is set');
}

function refusal(sasl: Readonly<Record<string, string>>): string {
  let refused: string | null = null;
  try {
    load(sasl);
  } catch (error) {
    const { message, now, remedy } = error as HighwaterError;
    refused = `${message}\n${now}\n${remedy}`;
  }
  if (refused === null) throw new Error('it was taken');
  return refused;
}

const region = process.env.AWS_REGION;
beforeEach(() => {
  delete process.env.AWS_REGION;
});
afterAll(() => {
  if (region !== undefined) process.env.AWS_REGION = region;
});

const oauth = { MECHANISM: 'oauthbearer' };
const client = {
  OAUTHBEARER_TOKEN_ENDPOINT_URL: 'https://login.example/token',
  OAUTHBEARER_CLIENT_ID: 'desk',
};

it.each(
  namedRows({
    'no token': [
      oauth,
      /kafkaSaslMechanism .*expected with it a token \(KAFKA_SASL_OAUTHBEARER_TOKEN_FILE\) or a client/,
    ],
    'a client without its secret': [{ ...oauth, ...client }, /kafkaSaslOauthbearerClientSecret: is not set/],
    'a token and a client': [
      { ...oauth, ...client, OAUTHBEARER_CLIENT_SECRET: 'S3cret', OAUTHBEARER_TOKEN: 'T0ken' },
      /kafkaSaslOauthbearerClientId .*and KAFKA_SASL_OAUTHBEARER_TOKEN are both set/,
    ],
    'a token without the mechanism': [
      { OAUTHBEARER_TOKEN: 'T0ken' },
      /kafkaSaslOauthbearerToken .*is not for the mechanism plain, .*\(KAFKA_SASL_MECHANISM\)/,
    ],
    'a user with tokens': [
      { ...oauth, OAUTHBEARER_TOKEN: 'T0ken', USERNAME: 'desk', PASSWORD: 'S3cret' },
      /kafkaSaslUsername .*is not for the mechanism oauthbearer/,
    ],
    'a region with a user': [
      { USERNAME: 'desk', PASSWORD: 'S3cret', AWS_REGION: 'eu-north-1' },
      /kafkaSaslAwsRegion .*is not for the mechanism plain/,
    ],
    'an address with a user in it': [
      { ...oauth, ...client, OAUTHBEARER_TOKEN_ENDPOINT_URL: 'https://desk:S3cret@login.example/token' },
      /kafkaSaslOauthbearerTokenEndpointUrl .*without user/,
    ],
    'MSK without a region': [
      { MECHANISM: 'aws-msk-iam' },
      /kafkaSaslAwsRegion: is not set, expected KAFKA_SASL_AWS_REGION or AWS_REGION/,
    ],
    'MSK without the package': [
      { MECHANISM: 'aws-msk-iam', AWS_REGION: 'eu-north-1' },
      /kafkaSaslMechanism .*which needs .*npm install aws-msk-iam-sasl-signer-js/,
    ],
  }),
)('%s is refused, and the setting is named', (_, sasl, says) => {
  const said = refusal(sasl);
  expect(said).toMatch(says);
  expect(said).not.toMatch(/S3cret|T0ken/);
});

/** A package of that name beside the settings. */
function installSigner(body: string): void {
  const home = path.join(folder(), 'node_modules', 'aws-msk-iam-sasl-signer-js');
  mkdirSync(home, { recursive: true });
  writeFileSync(path.join(home, 'package.json'), '{ "main": "index.js" }');
  writeFileSync(
    path.join(home, 'index.js'),
    `exports.generateAuthToken = async ({ region }) => { ${body} };`,
  );
}

function tokenLogin(
  sasl: Readonly<Record<string, string>>,
): TokenLogin & { readonly secrets: readonly string[] } {
  const { kafka, secrets } = load(sasl);
  if (kafka?.sasl?.mechanism !== 'oauthbearer') throw new Error('no login by token');
  return { ...kafka.sasl, secrets };
}

it('each login at MSK has a token that is signed for the region, and hidden', async () => {
  installSigner("return { token: 'signed-' + region };");
  process.env.AWS_REGION = 'eu-north-1';
  const login = tokenLogin({ MECHANISM: 'aws-msk-iam' });
  expect(await login.oauthBearerProvider()).toStrictEqual({ value: 'signed-eu-north-1' });
  expect(login.secrets).toContain('signed-eu-north-1');
});

it('a signer without credentials is a refused login, with what to do', async () => {
  installSigner('throw new Error("Could not load credentials from any providers");');
  const login = tokenLogin({ MECHANISM: 'aws-msk-iam', AWS_REGION: 'eu-north-1' });
  await expect(login.oauthBearerProvider()).rejects.toMatchObject({
    code: 'KAFKA_UNAUTHENTICATED',
    message: 'aws-msk-iam-sasl-signer-js signed no token: Could not load credentials from any providers',
    remedy: expect.stringContaining('AWS_PROFILE'),
  });
});

it('a token goes with what Confluent Cloud asks for', async () => {
  const cloud = { OAUTHBEARER_LOGICAL_CLUSTER: 'lkc-1', OAUTHBEARER_IDENTITY_POOL_ID: 'pool-2' };
  const login = tokenLogin({ ...oauth, OAUTHBEARER_TOKEN: 'T0ken', ...cloud });
  expect(await login.oauthBearerProvider()).toStrictEqual({
    value: 'T0ken',
    extensions: { logicalCluster: 'lkc-1', identityPoolId: 'pool-2' },
  });
});
