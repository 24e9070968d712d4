import { renameSync } from 'node:fs';
import path from 'node:path';
import { startKafka } from '../../tools/servers/kafka';
import { commandLine, nodePrograms } from '../support/cli';
import { askDoctor } from '../support/doctor';
import { endsWithTest } from '../support/ends';
import { sendJson } from '../support/http-server';
import { kafkaWorld } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { replaceFile, tempFolder } from '../support/temp-folder';
import { clientId, startTokenServer, type TokenServer } from '../support/token-server';
import { unsecuredToken } from '../support/unsecured-token';
import { until } from '../support/until';

/** Real brokers that take unsecured tokens, and end each session with its token. */

const cli = commandLine();
const program = nodePrograms();
const folder = tempFolder();
const secret = 'clientS3cret+/%42';
/** Used for all but 20 s of it. kafkajs logs in again 10 s before the end of a session. */
const LIFE_S = 32;

const listeners = { tokens: { login: { mechanisms: ['OAUTHBEARER'] as const, users: [] } } };
const properties = { 'connections.max.reauth.ms': 60_000 };
const kafka = kafkaWorld(() => startKafka({ listeners, properties }), { registry: true });
const api = simulatedApi({ ipos: 20 });
let tokens: TokenServer;
/** Each token of this test. */
let issued: string[];

beforeEach(async () => {
  issued = [];
  tokens = await startTokenServer(secret);
  endsWithTest(() => tokens.stop());
  tokens.members = { expires_in: LIFE_S };
  tokens.issue = () => issue(LIFE_S);
});

function issue(livesS: number): string {
  issued.push(unsecuredToken(livesS));
  return issued.at(-1)!;
}

const write = (name: string, text: string) => replaceFile(folder(), name, text);

/** @param login each setting without its beginning: `TOKEN_FILE` */
function environment(login: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const named = Object.entries(login).map(([name, value]) => [`KAFKA_SASL_OAUTHBEARER_${name}`, value]);
  return {
    ...kafka.env(),
    ...apiEnv(api()),
    KAFKA_BROKERS: kafka.server().brokers[0]!.listeners.tokens!,
    KAFKA_SASL_MECHANISM: 'oauthbearer',
    HIGHWATER_APP_ID: `${kafka.prefix()}app`,
    HIGHWATER_POLL_INTERVAL: '500ms',
    ...Object.fromEntries(named),
  };
}

const client = () => ({
  TOKEN_ENDPOINT_URL: tokens.url,
  CLIENT_ID: clientId,
  CLIENT_SECRET_FILE: write('secret', secret),
});

const publish = (env: Readonly<Record<string, string>>, ...more: string[]) =>
  cli(['run', '--feeds', 'ipos', ...more], { cwd: folder(), env });

const consumer = `
const { connect } = require(process.env.DIST + '/consumer');
connect().consume({ group: 'desk', topics: ['ipos'], from: 'beginning' }, ({ key }) => console.log('read', key));
`;
const read = (env: Readonly<Record<string, string>>) =>
  program([write('consumer.cjs', consumer)], { cwd: folder(), env });

let changes = 0;

/** @returns the id of a new record */
function change(): string {
  const { updated: _, ...known } = [...api().truth('ipos').values()][0]!;
  const id = `new-${++changes}`;
  api().stores.ipos.upsert({ ...known, id } as never);
  return id;
}

/** No token, secret or stack may be seen. */
function expectHidden(...said: string[]): void {
  const all = said.join('\n');
  expect([secret, ...issued].filter((one) => all.includes(one))).toEqual([]);
  expect(all).not.toMatch(/S3cret|^ +at |node:/m);
}

it('a publisher, a consumer and doctor live on the tokens of a client, over logins and an outage of the token server', async () => {
  const env = environment(client());
  const publisher = publish(env);
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  const reader = read(env);
  await reader.sees(new RegExp(`read ${[...api().truth('ipos').keys()][0]}`));
  const doctor = await askDoctor(cli, ['--feeds', 'ipos'], { cwd: folder(), env });
  expect(doctor.of('login')).toMatchObject({ state: 'ok', found: 'by a token (oauthbearer)' });

  const [asked, saidBefore] = [tokens.asked.length, publisher.stderr().length];
  await until(() => tokens.asked.length >= asked + 6);
  await reader.sees(new RegExp(`read ${change()}`));
  expect(publisher.stderr().slice(saidBefore) + reader.stderr()).not.toMatch(/WARN|ERROR/);

  tokens.answer = (response) => sendJson(response, { error: 'server_error' }, 503);
  await Promise.all(
    [publisher, reader].map((one) => one.sees(/POST \S+ answered 503 with server_error/, 'stderr')),
  );
  const missed = change();
  tokens.answer = null;
  await reader.sees(new RegExp(`read ${missed}`));
  const keys = [...reader.stdout().matchAll(/read (\S+)/g)].map(([, key]) => key!);
  expect([...keys].sort()).toEqual([...api().truth('ipos').keys()].sort());
  publisher.signal('SIGTERM');
  expect((await publisher.ended()).code).toBe(0);
  expectHidden(publisher.stderr(), reader.stderr(), doctor.said);
});

it('a token server that is down at the start, and one that refuses the client, are named, and the publisher goes on after them', async () => {
  tokens.answer = () => undefined;
  const env = environment({ ...client(), CLIENT_SECRET_FILE: write('secret', 'S3cret-of-another') });
  const publisher = publish(env);
  await publisher.sees(/POST \S+ took longer than 8000 ms/, 'stderr');
  tokens.answer = (response) => sendJson(response, 'down for today', 503);
  await publisher.sees(/POST \S+ answered 503 with .*down for today.* code=KAFKA_UNREACHABLE/, 'stderr');
  await publisher.sees(/do: .*KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL/, 'stderr');
  tokens.answer = null;
  await publisher.sees(/ERROR .*invalid_client: No such client.* code=KAFKA_UNAUTHENTICATED/, 'stderr');
  const [once, doctor] = await Promise.all([
    publish(env, '--once').ended(),
    askDoctor(cli, ['--feeds', 'ipos'], { cwd: folder(), env }),
  ]);
  expect(once.code).toBe(1);
  expect(doctor.of('login')).toMatchObject({
    ...{ state: 'failed', code: 'KAFKA_UNAUTHENTICATED' },
    found: expect.stringMatching(
      /the client is "desk:1 \+", and its secret comes from kafkaSasl\w+SecretFile/,
    ),
    do: expect.stringContaining('KAFKA_SASL_OAUTHBEARER_'),
  });
  write('secret', secret);
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  expectHidden(publisher.stderr(), doctor.said);
});

it('a token that the brokers refuse is replaced by another of the token server', async () => {
  tokens.issue = () => issue(issued.length === 0 ? -60 : 3_600);
  const publisher = publish(environment(client()));
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  expect(publisher.stderr()).not.toMatch(/KAFKA_UNAUTHENTICATED/);
});

it('a token file is read again for each login', async () => {
  const env = environment({ TOKEN_FILE: write('token', issue(-60)) });
  const publisher = publish(env);
  const refused = /ERROR .*the brokers refused the token .*invalid_token.* code=KAFKA_UNAUTHENTICATED/;
  await publisher.sees(refused, 'stderr');
  await publisher.sees(/do: .*KAFKA_SASL_OAUTHBEARER_/, 'stderr');
  write('token', issue(LIFE_S));
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  const reader = read(env);
  const saidBefore = publisher.stderr();
  const ends = Date.now() + LIFE_S * 1_000;
  write('token', issue(3_600));
  await until(() => Date.now() > ends);
  await reader.sees(new RegExp(`read ${change()}`));
  expect(publisher.stderr().slice(saidBefore.length) + reader.stderr()).not.toMatch(/WARN|ERROR/);
  expectHidden(publisher.stderr(), reader.stderr());
});

it('a command that prints tokens runs again before a login, and is named if it fails', async () => {
  const printed = write('printed', issue(-60));
  const trouble = path.join(folder(), 'trouble');
  const TOKEN_COMMAND = `cat ${printed}; test ! -e ${trouble} || { echo the vault is sealed >&2; exit 3; }`;
  const env = environment({ TOKEN_COMMAND });
  write('trouble', '');
  const atStart = publish(env);
  expect((await atStart.ended()).code).toBe(2);
  expect(atStart.stderr()).toMatch(/kafkaSaslOauthbearerTokenCommand .*exit code 3.*the vault is sealed/);

  renameSync(trouble, `${trouble}.over`);
  const publisher = publish(env);
  await publisher.sees(/ERROR .*the brokers refused the token .*invalid_token.* code=KAFKA_UN/, 'stderr');
  write('printed', issue(3_600));
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  expectHidden(atStart.stderr(), publisher.stderr());
});
