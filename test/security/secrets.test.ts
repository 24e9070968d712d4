import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { renderError } from '../../src/cli/process/render-error';
import { loadConfig } from '../../src/config/load-config';
import { freePort } from '../../tools/servers/ports';
import { type CarelessApi, startCarelessApi } from '../support/careless-api';
import { type CliProcess, commandLine, nodePrograms } from '../support/cli';
import { type HttpServer, sendJson, startHttpServer } from '../support/http-server';
import {
  everySpelling,
  filesUnder,
  findSecrets,
  type MarkedSecret,
  markedSecret,
  type Place,
} from '../support/marked-secrets';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

type Env = Readonly<Record<string, string>>;

const cli = commandLine();
const program = nodePrograms();
const folder = tempFolder();

const token = markedSecret('HIGHWATER_API_TOKEN');
const httpToken = markedSecret('HIGHWATER_HTTP_TOKEN', '._~+/-');
const saslPassword = markedSecret('KAFKA_SASL_PASSWORD', ` /+"%&=?\\<~'`);
const keyPassword = markedSecret('KAFKA_SSL_KEY_PASSWORD', ` /+"%&=?\\<~'`);
const registryPassword = markedSecret('SCHEMA_REGISTRY_PASSWORD', ` /+"%&=?\\<~'`);
const proxyPassword = markedSecret('the password of a proxy');
const urlPassword = markedSecret('the password in an address');
const secrets = [token, httpToken, saslPassword, keyPassword, registryPassword, proxyPassword, urlPassword];

/** A server that answers every request by 500 and repeats its headers and address, each time in another spelling. */
let echo: HttpServer;
let api: CarelessApi;
beforeAll(async () => {
  let spoken = 0;
  api = await startCarelessApi();
  echo = await startHttpServer(({ headers, url = '' }, response) => {
    const [, encoded = ''] = (headers['proxy-authorization'] ?? headers.authorization ?? '').split(' ');
    const password = Buffer.from(encoded, 'base64')
      .toString()
      .replace(/^[^:]*:/, '');
    const spellings = [encoded, ...everySpelling(password === '' ? url : password)];
    const said = spellings[spoken++ % spellings.length]!;
    sendJson(response, { message: said, error_code: 50_001 }, 500);
  });
});
afterAll(() => Promise.all([api.server.stop(), echo.stop()]));

/** All secrets, and a registry that refuses to answer otherwise than by repeating them. */
const marked = (): Env => ({
  HIGHWATER_API_TOKEN: token.value,
  HIGHWATER_HTTP_TOKEN: httpToken.value,
  KAFKA_SASL_USERNAME: 'highwater',
  KAFKA_SASL_PASSWORD: saslPassword.value,
  KAFKA_SSL_KEY_PASSWORD: keyPassword.value,
  SCHEMA_REGISTRY_USERNAME: 'highwater',
  SCHEMA_REGISTRY_PASSWORD: registryPassword.value,
  SCHEMA_REGISTRY_URL: echo.url,
  HTTPS_PROXY: withUser('http://', '127.0.0.1:9', proxyPassword),
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
  HIGHWATER_POLL_INTERVAL: '100ms',
  HIGHWATER_REQUEST_TIMEOUT: '300ms',
  HIGHWATER_RETRY_TIME: '400ms',
});

function withUser(scheme: string, place: string, { value }: MarkedSecret): string {
  return `${scheme}highwater:${encodeURIComponent(value)}@${place}`;
}

const printed = (name: string, process: CliProcess): Place[] => [
  { name: `stdout of ${name}`, content: process.stdout() },
  { name: `stderr of ${name}`, content: process.stderr() },
];

function expectSilence(places: readonly Place[]): void {
  expect(findSecrets(secrets, places)).toStrictEqual([]);
}

async function done(args: readonly string[], env: Env, cwd = folder()): Promise<CliProcess> {
  const process = cli(args, { cwd, env });
  await process.ended();
  return process;
}

/** Throws at SIGWINCH an error that holds every secret in every spelling, in its message, its members, its cause and its stack. */
function fault(): Env {
  const program = path.join(folder(), 'fault.cjs');
  const texts = secrets.filter((one) => one !== urlPassword).flatMap(({ value }) => everySpelling(value));
  writeFileSync(
    program,
    `const texts = ${JSON.stringify(texts)};
process.on('SIGWINCH', () => {
  throw Object.assign(new TypeError('cannot read ' + texts.join(' and '), { cause: new Error(texts.join('\\n')) }), { texts });
});`,
  );
  return { NODE_OPTIONS: `--require ${program} --report-on-signal --report-uncaught-exception` };
}

/** Whatever is encoded ends in an error of nobody's, which holds every secret. */
function brokenEncoder(): Env {
  const program = path.join(folder(), 'broken-encoder.cjs');
  const texts = secrets.filter((one) => one !== urlPassword).flatMap(({ value }) => everySpelling(value));
  writeFileSync(
    program,
    `require(${JSON.stringify(require.resolve('avsc'))}).Type.prototype.encode = () => {
  throw new TypeError(${JSON.stringify(texts.join(' and '))});
};`,
  );
  return { NODE_OPTIONS: `--require ${program}` };
}

const consumerProgram = `
const { connect } = require(process.env.DIST + '/consumer');
connect().consume({ group: 'desk', topics: ['ipos'], from: 'beginning', retry: { attempts: 1 } }, (event) => {
  console.dir(event, { depth: 9 });
  throw new Error('no');
});
`;

/** With time for a machine that has much to do. */
const debug = {
  HIGHWATER_LOG_LEVEL: 'debug',
  HIGHWATER_REQUEST_TIMEOUT: '2s',
  HIGHWATER_RETRY_TIME: '1500ms',
};
const levels = ['error', 'warn', 'info', 'debug'] as const;

describe('secrets stay out of all that is printed, written and served (I10)', () => {
  it.each(levels)(
    'of a publisher at level %s: faults of the API, metrics, a report, a crash, and what is on the disk',
    async (level) => {
      const crash = fault();
      await Promise.all((['pretty', 'json'] as const).map((format) => session(level, format, crash)));
    },
  );

  const dates = ['--from', '2024-01-01', '--to', '2024-01-02'];

  it('of the other commands, at an API and a registry that repeat their requests', async () => {
    const env = {
      ...marked(),
      ...debug,
      HIGHWATER_LOG_FORMAT: 'json',
      HIGHWATER_API_URL: api.address('fine'),
    };
    const first = await done(['run', '--once'], env);
    expect(first.stderr()).toContain('read page');
    const readers = [
      ['status'],
      ['status', '--json'],
      ['tail', 'ipos', '--no-follow', '--json'],
      ['tail', 'analysts.source-offset', '--no-follow'],
      ['dead-letters', 'list', '--json'],
    ];
    const publishers = [
      ['backfill', 'ipos', ...dates, '--json'],
      ['reconcile', 'analysts', '--dry-run', '--json'],
      ['dead-letters', 'retry', 'ipos'],
      ['doctor'],
      ['doctor', '--json'],
      ['schemas', 'check'],
    ];
    const ended = [first, ...(await Promise.all(readers.map((args) => done(args, env))))];
    expect(ended[3]!.stdout()).toContain('[redacted]');
    for (const args of publishers) ended.push(await done(args, env));
    ended.push(await done(['reconcile', 'analysts', '--json'], { ...env, ...brokenEncoder() }));
    expect(ended.at(-1)!.stdout()).toContain('"code":"UNEXPECTED"');
    const written = filesUnder(folder()).filter(({ name }) => name !== 'broken-encoder.cjs');
    expectSilence([...ended.flatMap((one, i) => printed(`command ${i}`, one)), ...written]);
  });

  it('of commands behind a proxy that repeats its password, named by a whole address or without its scheme', async () => {
    const env = { ...marked(), ...debug, HIGHWATER_API_URL: api.address('fine') };
    const first = await done(['run', '--once'], env);
    expect(first.stderr()).toContain('read page');
    const proxied = (scheme: string) => withUser(scheme, new URL(echo.url).host, proxyPassword);
    const ended: CliProcess[] = [];
    for (const scheme of ['http://', ''])
      ended.push(await done(['run', '--once'], { ...env, http_proxy: proxied(scheme) }));
    for (const args of [
      ['backfill', 'ipos', ...dates, '--json'],
      ['doctor', '--json'],
      ['schemas', 'check'],
    ])
      ended.push(await done(args, { ...env, http_proxy: proxied('http://') }));
    for (const one of ended) expect(one.stdout() + one.stderr()).toContain('answered 500');
    ended.push(first, await done(['status', '--json'], env));
    expectSilence([...ended.flatMap((one, i) => printed(`command ${i}`, one)), ...filesUnder(folder())]);
  });

  it('of settings that are wrong, and of flags that take no secrets', async () => {
    const { value } = urlPassword;
    const encoded = encodeURIComponent(value);
    const addresses = [
      `http://highwater:${encoded}@api.example.com`,
      `http:/highwater:${value}@api.example.com`,
      `highwater:${value}@api.example.com:80`,
      `//highwater:${encoded}@x`,
      `https://api.example.com/?token=${encoded}`,
      `https://api.example.com/#${encoded}`,
    ];
    const wrong: Env[] = [
      ...addresses.flatMap((address) => [
        { HIGHWATER_API_URL: address },
        { SCHEMA_REGISTRY_URL: address },
        { KAFKA_BROKERS: `${address}:9092`, SCHEMA_REGISTRY_URL: echo.url },
      ]),
      { HIGHWATER_API_TOKEN: `${token.value} and more` },
      { HIGHWATER_API_TOKEN: '', HIGHWATER_API_TOKEN_FILE: token.value.replaceAll('/', '-') },
      { HIGHWATER_API_TOKEN_FILE: token.value.replaceAll('/', '-') },
      { KAFKA_SASL_USERNAME: '' },
      {
        HTTPS_PROXY: withUser('http://', 'proxy:x', proxyPassword),
        HIGHWATER_API_URL: 'https://api.invalid',
      },
    ];
    const ended: Place[] = [];
    for (const one of wrong) ended.push(...load({ HIGHWATER_API_URL: echo.url, ...marked(), ...one }));
    const flags = [
      ['run', `--api-token=${token.value}`],
      ['run', '--api-token', token.value],
      ['run', '--api-url', addresses[0]!],
      ['tail', `--kafka-sasl-password=${saslPassword.value}`, 'ipos'],
      ['doctor', '--json', '--api-url', addresses[2]!],
    ];
    const yaml = path.join(folder(), 'wrong.yaml');
    writeFileSync(
      yaml,
      JSON.stringify({ kafkaBrokers: [addresses[2]], apiUrl: [addresses[0]], apiToken: [token.value] }),
    );
    flags.push(['run', '--config', yaml]);
    const processes = await Promise.all(flags.map((args) => done(args, marked())));
    for (const process of processes) expect((await process.ended()).code).toBeGreaterThan(0);
    expectSilence([...ended, ...processes.flatMap((one, i) => printed(`command line ${i}`, one))]);
  });

  /** In this process, since there are many: every form of the error that they end by. */
  function load(env: Env): Place[] {
    try {
      loadConfig({ flags: {}, env, cwd: folder() }, 'api');
      return [];
    } catch (error) {
      return [
        { name: 'error', content: `${inspect(error, { depth: 9 })}${renderError(error, { color: false })}` },
      ];
    }
  }

  it('of the demo, and of a program on highwater/consumer whose error Node prints', async () => {
    const file = path.join(folder(), 'program.cjs');
    writeFileSync(file, consumerProgram);
    const demo = await done(['demo', '--for', '3s', '--interval', '200ms', '--data-dir', 'data'], marked());
    expect(demo.stdout()).toContain('events published');
    const failing = program([file], { cwd: folder(), env: marked() });
    await failing.ended();
    expect(failing.stdout()).toContain('marketdata.ipos');
    expect(failing.stderr()).toContain('CONSUMER_HANDLER_FAILED');
    expectSilence([...printed('demo', demo), ...printed('program', failing), ...filesUnder(folder())]);
  });

  async function session(level: string, format: string, crash: Env): Promise<void> {
    const [name, cwd, port] = [`${level}-${format}`, path.join(folder(), format), await freePort()];
    mkdirSync(cwd);
    const { HIGHWATER_API_TOKEN, ...others } = marked();
    const file = path.join(folder(), 'token');
    writeFileSync(file, `${HIGHWATER_API_TOKEN}\n`);
    const env = {
      ...others,
      ...crash,
      HIGHWATER_API_URL: api.address(name),
      HIGHWATER_HTTP_PORT: String(port),
      ...(format === 'json'
        ? { HIGHWATER_API_TOKEN_FILE: file }
        : { HIGHWATER_API_TOKEN: HIGHWATER_API_TOKEN! }),
    };
    const publisher = cli(['run', '--log-level', level, '--log-format', format], { cwd, env });
    await until(() => api.asked(name) >= 8);
    // The publisher also knows the last answer.
    await publisher.sees(/SOURCE_UNAUTHORIZED/, 'stderr');
    const pages = await Promise.all(
      [
        ...['/metrics', '/livez', '/readyz', '/', '/page.js', '/page.css', '/events', '/nothing'],
        `/${encodeURIComponent(httpToken.value)}`,
      ].flatMap((page) => [
        shown(`http://127.0.0.1:${port}${page}`, httpToken.value),
        shown(`http://127.0.0.1:${port}${page}?token=${encodeURIComponent(token.value)}`, token.value),
      ]),
    );
    const dashboard = pages.find(({ name, content }) => name === '/events' && content.includes('event: '));
    expect(dashboard!.content.toString()).toContain('SOURCE_UNAUTHORIZED');
    publisher.signal('SIGUSR2');
    await until(() => filesUnder(cwd).some((one) => /^report\./.test(one.name)));
    publisher.signal('SIGWINCH');
    expect(await publisher.ended()).toEqual({ code: 1, signal: null });
    expect(publisher.stderr()).toContain('a fault in highwater itself');
    expect(publisher.stderr()).toMatch(/SOURCE_UNAUTHORIZED/);
    expect(filesUnder(cwd).map((one) => one.name)).toContain(path.join('data', 'highwater.db-wal'));
    expectSilence([...printed(name, publisher), ...pages, ...filesUnder(cwd)]);
  }

  async function shown(url: string, bearer: string): Promise<Place> {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${bearer}` } });
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of answer.body!) {
      text += decoder.decode(chunk, { stream: true });
      // The dashboard goes on for ever.
      if (text.includes('event: changes\n') && text.endsWith('\n\n')) break;
    }
    return { name: new URL(url).pathname, content: `${[...answer.headers].join('\n')}\n${text}` };
  }
});
