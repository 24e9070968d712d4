import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import type { Certificate } from '../../tools/servers/listeners';
import { type Authority, authority, encrypted } from '../support/certificates';
import { commandLine, nodePrograms, outcome } from '../support/cli';
import { askDoctor } from '../support/doctor';
import { kafkaTools } from '../support/kafka-tools';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const cli = commandLine();
const program = nodePrograms();
const folder = tempFolder();
const secrets = { password: 'pass-0815', next: 'pass-1234', keyPassword: 'key-0815', wrong: 'pass-4711' };
/** kafkajs renews a session 10 s before its end. */
const SESSION_MS = 12_000;
const user = { username: 'highwater', password: secrets.password };

/** One broker with a listener for each way in. */
let kafka: Cluster;
let registryUrl: string;
let simulator: Simulator;
let ours: Authority;
let foreign: Authority;
let client: Certificate;
let expiredClient: Certificate;
let foreignClient: Certificate;

beforeAll(async () => {
  [ours, foreign] = [await authority('ours'), await authority('foreign')];
  const server = await ours.sign({ name: 'broker' });
  client = await ours.sign({ name: 'client' });
  expiredClient = await ours.sign({ name: 'client', expired: true });
  foreignClient = await foreign.sign({ name: 'client' });
  const login = (...mechanisms: ('PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512')[]) => ({
    tls: { server },
    login: { mechanisms, users: [user] },
  });
  const listeners = {
    tls: { tls: { server } },
    mutual: { tls: { server, clientCa: ours.cert } },
    expired: { tls: { server: await ours.sign({ name: 'broker', expired: true }) } },
    elsewhere: { tls: { server: await ours.sign({ name: 'broker', host: 'kafka.example' }) } },
    login: login('PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'),
    scram: login('SCRAM-SHA-512'),
    replaced: {
      tls: { server, clientCa: ours.cert },
      login: { mechanisms: ['SCRAM-SHA-512'] as const, users: [{ ...user, username: 'replaced' }] },
    },
  };
  [kafka, { registryUrl }, simulator] = await Promise.all([
    startKafka({
      listeners,
      properties: { 'listener.name.scram.connections.max.reauth.ms': SESSION_MS },
    }),
    sharedServers(),
    startSimulator({ records: { insights: 0, analysts: 0, ipos: 20 } }),
  ]);
});
afterAll(() => Promise.all([kafka?.stop(), simulator?.stop()]));

type Settings = Readonly<Record<string, string>>;

function environment(settings: Settings): Settings {
  const prefix = uniquePrefix();
  return {
    SCHEMA_REGISTRY_URL: registryUrl,
    HIGHWATER_TOPIC_PREFIX: prefix,
    HIGHWATER_APP_ID: `${prefix}app`,
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
    ...settings,
  };
}

let files = 0;

/** The setting that names a new file with this text. */
function file(setting: 'CA' | 'CERT' | 'KEY', text: string): Settings {
  const name = path.join(folder(), `${++files}.pem`);
  writeFileSync(name, text);
  return { [`KAFKA_SSL_${setting}_FILE`]: name };
}

const at = (listener: string): Settings => ({ KAFKA_BROKERS: kafka.brokers[0]!.listeners[listener]! });
const trusting = (listener: string): Settings => ({ ...at(listener), ...file('CA', ours.cert) });
const showing = ({ cert, key }: Certificate): Settings => ({ ...file('CERT', cert), ...file('KEY', key) });
const as = (username: string, password: string, mechanism: string): Settings => ({
  KAFKA_SASL_USERNAME: username,
  KAFKA_SASL_PASSWORD: password,
  KAFKA_SASL_MECHANISM: mechanism,
});

const runOnce = (env: Settings) => outcome(cli(['run', '--once', '--feeds', 'ipos'], { cwd: folder(), env }));

const ways: Readonly<Record<string, Readonly<Record<string, () => Settings>>>> = {
  TLS: {
    'TLS alone': () => trusting('tls'),
    'a certificate of the client, whose key is encrypted': () => ({
      ...trusting('mutual'),
      KAFKA_SSL_KEY_PASSWORD: secrets.keyPassword,
      ...showing({ cert: client.cert, key: encrypted(client.key, secrets.keyPassword) }),
    }),
  },
  'a login over TLS': {
    PLAIN: () => ({ ...trusting('login'), ...as(user.username, user.password, 'plain') }),
    'SCRAM-SHA-256': () => ({ ...trusting('login'), ...as(user.username, user.password, 'scram-sha-256') }),
    'SCRAM-SHA-512': () => ({ ...trusting('login'), ...as(user.username, user.password, 'scram-sha-512') }),
  },
};

/** The outcome of each case. A failed case does not kill the others. They run at once, since most of their time is pauses. */
async function all<Case>(
  cases: Readonly<Record<string, Case>>,
  check: (name: string, one: Case) => Promise<void>,
): Promise<void> {
  const checked = Object.entries(cases).map(([name, one]) => check(name, one));
  await Promise.allSettled(checked);
  await Promise.all(checked);
}

async function comesIn(name: string, settings: () => Settings) {
  const env = environment(settings());
  const run = await runOnce(env);
  const doctor = await askDoctor(cli, ['--feeds', 'ipos'], { cwd: folder(), env });
  const said = run.said + doctor.said;
  expect({
    name,
    run: run.said,
    runCode: run.code,
    trouble: run.said.match(/WARN|ERROR/),
    doctor: doctor.lines.filter(({ state }) => state === 'failed' || state === 'warning'),
    doctorCode: doctor.code,
    topics: doctor.of('topics').found,
    secrets: Object.values(secrets).filter((secret) => said.includes(secret)),
  }).toEqual({
    name,
    run: expect.stringMatching(/ipos: (first )?snapshot complete.*records=20/),
    runCode: 0,
    trouble: null,
    doctor: [],
    doctorCode: 0,
    topics: '5 of 5 exist',
    secrets: [],
  });
}

it.each(Object.entries(ways))('a publisher and its doctor come in by %s', (_, cases) => all(cases, comesIn));

it('a publisher that always has something to write outlives the sessions that brokers limit', async () => {
  const busy = await startSimulator({ records: { insights: 0, analysts: 0, ipos: 200 }, marketDayMs: 20 });
  try {
    const env = {
      ...environment({ ...trusting('scram'), ...as(user.username, user.password, 'scram-sha-512') }),
      HIGHWATER_API_URL: busy.url,
      HIGHWATER_REQUESTS_PER_SECOND: '1000',
    };
    const running = cli(['run', '--feeds', 'ipos', '--poll-interval', '50ms'], { cwd: folder(), env });
    await running.sees(/snapshot complete/, 'stderr');
    const over = Date.now() + SESSION_MS + 1_000;
    await until(() => Date.now() > over, SESSION_MS + 5_000);
    const asked = busy.requests().length;
    await until(() => busy.requests().length > asked + 10);
    running.signal('SIGTERM');
    expect((await running.ended()).code).toBe(0);
    // On a slow machine the market may move faster than one second of it can be read.
    expect(running.stderr()).not.toMatch(/ERROR|WARN(?!.* kept changing while they were read)/);
  } finally {
    await busy.stop();
  }
});

interface Refusal {
  readonly settings: () => Settings;
  readonly code: string;
  /** The message. */
  readonly says: RegExp;
  /** The remedy's text. */
  readonly todo: RegExp;
  /** The check of doctor that fails. */
  readonly check?: 'brokers' | 'login';
}

const refusals: Readonly<Record<string, Readonly<Record<string, Refusal>>>> = {
  'certificates of brokers': {
    'no authority set': {
      settings: () => ({ ...at('tls'), KAFKA_SSL: 'yes' }),
      code: 'KAFKA_CERTIFICATE',
      says: /the certificate of the broker is not signed by an authority that is trusted here/,
      todo: /KAFKA_SSL_CA_FILE/,
    },
    'another authority': {
      settings: () => ({ ...at('tls'), ...file('CA', foreign.cert) }),
      code: 'KAFKA_CERTIFICATE',
      says: /the certificate of the broker is not signed by an authority that is trusted here/,
      todo: /KAFKA_SSL_CA_FILE/,
    },
    'a broker with the certificate of another host': {
      settings: () => trusting('elsewhere'),
      code: 'KAFKA_CERTIFICATE',
      says: /the certificate of the broker is for DNS:kafka\.example, not for 127\.0\.0\.1/,
      todo: /advertised\.listeners.*subjectAltName/,
    },
    'a broker with an expired certificate': {
      settings: () => trusting('expired'),
      code: 'KAFKA_CERTIFICATE',
      says: /the certificate of the broker, or of the authority that signed it, has expired/,
      todo: /Renew it on the brokers/,
    },
  },
  'certificates of clients': {
    'an expired certificate of the client': {
      settings: () => ({ ...trusting('mutual'), ...showing(expiredClient) }),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /the broker refused the certificate of KAFKA_SSL_CERT_FILE: it expired at \d{4}-\d\d-\d\dT/,
      todo: /KAFKA_SSL_CERT_FILE/,
    },
    'a certificate of the client by another authority': {
      settings: () => ({ ...trusting('mutual'), ...showing(foreignClient) }),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /the broker refused the certificate of KAFKA_SSL_CERT_FILE/,
      todo: /an authority that the brokers trust/,
    },
    'no certificate of the client': {
      settings: () => trusting('mutual'),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /the broker demands a certificate of its clients, and none is set/,
      todo: /KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE/,
    },
  },
  'TLS, or none': {
    'TLS to a port without': {
      settings: () => ({ KAFKA_BROKERS: kafka.bootstrap, ...file('CA', ours.cert) }),
      code: 'KAFKA_UNREACHABLE',
      says: /the broker closed the connection in place of a TLS handshake/,
      todo: /leave out KAFKA_SSL/,
    },
    'no TLS to a port with it': {
      settings: () => at('tls'),
      code: 'KAFKA_UNREACHABLE',
      says: /the broker expects TLS/,
      todo: /KAFKA_SSL=yes/,
    },
    'no login where one is demanded': {
      settings: () => trusting('login'),
      code: 'KAFKA_UNREACHABLE',
      says: /127\.0\.0\.1:\d+ closed the connection/,
      todo: /KAFKA_SASL_USERNAME/,
    },
  },
  logins: {
    'a login where none is taken': {
      settings: () => ({ ...trusting('tls'), ...as(user.username, user.password, 'plain') }),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /the brokers take no logins here/,
      todo: /leave out KAFKA_SASL_USERNAME/,
    },
    'a wrong password, by PLAIN': {
      settings: () => ({ ...trusting('login'), ...as(user.username, secrets.wrong, 'plain') }),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /SASL PLAIN authentication failed: .*Invalid username or password/,
      todo: /KAFKA_SASL_PASSWORD/,
    },
    'a wrong password, by SCRAM': {
      settings: () => ({ ...trusting('login'), ...as(user.username, secrets.wrong, 'scram-sha-256') }),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /SASL SCRAM SHA256 authentication failed: .*invalid credentials/,
      todo: /KAFKA_SASL_PASSWORD/,
    },
    'an unknown user': {
      settings: () => ({ ...trusting('login'), ...as('nobody', user.password, 'scram-sha-512') }),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /SASL SCRAM SHA512 authentication failed: .*invalid credentials/,
      todo: /KAFKA_SASL_USERNAME/,
    },
    'a mechanism that the brokers do not have': {
      settings: () => ({ ...trusting('scram'), ...as(user.username, user.password, 'plain') }),
      code: 'KAFKA_UNAUTHENTICATED',
      check: 'login',
      says: /the brokers do not take logins by this mechanism here \(UNSUPPORTED_SASL_MECHANISM\)/,
      todo: /KAFKA_SASL_MECHANISM/,
    },
  },
};

async function isRefused(name: string, { settings, code, says, todo, check = 'brokers' }: Refusal) {
  const env = environment(settings());
  const [run, seen] = await Promise.all([
    runOnce(env),
    askDoctor(cli, ['--feeds', 'ipos'], { cwd: folder(), env }),
  ]);
  const said = run.said + seen.said;
  expect({
    name,
    run: run.said,
    runCode: run.code,
    errors: run.said.match(/ERROR/g)?.length,
    doctor: seen.of(check),
    doctorCode: seen.code,
    traces: /^ +at |node:|deps\/openssl/m.exec(said),
    secrets: Object.values(secrets).filter((secret) => said.includes(secret)),
  }).toEqual({
    name,
    run: expect.stringMatching(
      new RegExp(`^[\\d:]+ ERROR .*${says.source}.* code=${code}\\n.*\\n +do: .*${todo.source}`, 'm'),
    ),
    runCode: 1,
    errors: 1,
    doctorCode: 1,
    traces: null,
    secrets: [],
    doctor: expect.objectContaining({
      state: 'failed',
      code,
      found: expect.stringMatching(says),
      do: expect.stringMatching(todo),
    }),
  });
}

it.each(Object.entries(refusals))(
  '%s: what is wrong is named, by a publisher and its doctor, in one error with what to do',
  (_, cases) => all(cases, isRefused),
);

it('a file that cannot be used ends the publisher before it connects', async () => {
  const listener = trusting('mutual');
  for (const [settings, says] of [
    [{ ...at('mutual'), ...file('CA', 'no PEM') }, /kafkaSslCaFile .*holds no certificate in PEM/],
    [
      {
        ...listener,
        KAFKA_SSL_KEY_PASSWORD: secrets.wrong,
        ...showing({ cert: client.cert, key: encrypted(client.key, secrets.keyPassword) }),
      },
      /kafkaSslKeyPassword .*does not open the key/,
    ],
    [
      { ...listener, ...showing({ cert: client.cert, key: foreignClient.key }) },
      /kafkaSslKeyFile .*is not the key of the certificate/,
    ],
  ] as const) {
    const { code, said } = await runOnce(environment(settings));
    expect(said).toMatch(/error CONFIG_INVALID/);
    expect(said).toMatch(says);
    expect(code).toBe(2);
    for (const secret of Object.values(secrets)) expect(said).not.toContain(secret);
  }
});

it('a publisher that is refused lives on, asks again ever more slowly, and ends in order', async () => {
  const env = environment({ ...trusting('login'), ...as(user.username, secrets.wrong, 'plain') });
  const running = cli(['run', '--feeds', 'ipos', '--log-level', 'debug'], { cwd: folder(), env });
  await running.sees(/ERROR ipos: .*code=KAFKA_UNAUTHENTICATED/, 'stderr');
  await running.sees(/join the group again.*failures=1\b/, 'stderr');
  running.signal('SIGTERM');
  expect((await running.ended()).code).toBe(0);
});

const consumer = `
const { connect } = require(process.env.DIST + '/consumer');
connect().consume({ group: 'desk', topics: ['ipos'], from: 'beginning' }, ({ key }) => console.log(key));
`;

it('a password and certificates that are replaced are used by the next connections', async () => {
  const at = (name: string) => path.join(folder(), name);
  const write = (texts: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(texts)) writeFileSync(at(name), text);
  };
  write({ ca: ours.cert, cert: client.cert, key: client.key, password: user.password });
  write({ 'consumer.cjs': consumer });
  const env = environment({
    KAFKA_BROKERS: kafka.brokers[0]!.listeners.replaced!,
    KAFKA_SSL_CA_FILE: at('ca'),
    KAFKA_SSL_CERT_FILE: at('cert'),
    KAFKA_SSL_KEY_FILE: at('key'),
    KAFKA_SASL_USERNAME: 'replaced',
    KAFKA_SASL_PASSWORD_FILE: at('password'),
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    HIGHWATER_POLL_INTERVAL: '500ms',
  });
  const publisher = cli(['run', '--feeds', 'ipos', '--log-level', 'debug'], { cwd: folder(), env });
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  const reader = program([at('consumer.cjs')], { cwd: folder(), env });
  const known = [...simulator.truth('ipos').values()][0]!;
  await reader.sees(new RegExp(String(known.id)));

  const run = await kafkaTools({ folder: folder() });
  const change = `--alter --entity-type users --entity-name replaced --add-config 'SCRAM-SHA-512=[password=${secrets.next}]'`;
  await run(`kafka-configs.sh --bootstrap-server ${kafka.bootstrap} ${change}`);
  const broker = path.join(kafka.folder, 'broker-1', 'replaced');
  const server = await foreign.sign({ name: 'broker' });
  writeFileSync(`${broker}.keystore.pem`, `${server.key}\n${server.cert}`);
  writeFileSync(`${broker}.truststore.pem`, foreign.cert);
  write({ ca: foreign.cert, cert: foreignClient.cert, key: foreignClient.key, password: secrets.next });
  await kafka.brokers[0]!.restart();

  const { updated: _, ...rest } = known;
  simulator.stores.ipos.upsert({ ...rest, id: 'written-after' } as never);
  await reader.sees(/written-after/);
  const said = publisher.stderr() + reader.stderr();
  expect(said).toMatch(/kafkaSaslPasswordFile has a new value/);
  for (const secret of Object.values(secrets)) expect(said).not.toContain(secret);
});
