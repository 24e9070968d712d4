import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import Database from 'libsql';
import { build } from '../../support/build';
import { type CliProcess, commandsInFolder } from '../../support/cli';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { until } from '../../support/until';

/** How each command ends at Ctrl-C: `docs/commands.md`, "Exit codes". */

const commands = commandsInFolder();
const { folder } = commands;
const api = simulatedApi({ ipos: 20 });
/** Takes connections and says nothing: as an API, a broker, a registry or a publisher. */
let silent: Server & { readonly place?: string };
let asked: number;

beforeEach(async () => {
  asked = 0;
  silent = createServer((socket) => {
    asked++;
    socket.on('error', () => undefined).resume();
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => silent.close(resolve)));

const port = () => (silent.address() as { readonly port: number }).port;
const place = () => `127.0.0.1:${port()}`;
const withApi = () => apiEnv(api());
const silentApi = () => ({ HIGHWATER_API_URL: `http://${place()}`, HIGHWATER_API_TOKEN: 'some-token' });
const silentKafka = () => ({
  ...withApi(),
  KAFKA_BROKERS: place(),
  SCHEMA_REGISTRY_URL: `http://${place()}`,
});

function hangingApi() {
  api().fault({ fault: { kind: 'hang' }, probability: 1 } as never);
  asked = api().requests('ipos').length;
  return withApi();
}
const isHanging = () => until(() => api().requests('ipos').length > asked);

type Env = Readonly<Record<string, string>>;
const start = (line: string, env: Env) =>
  commands.start(line.split(' '), { HIGHWATER_FEEDS: 'ipos', ...env });

async function published(): Promise<void> {
  expect((await start('run --once', withApi()).ended()).code).toBe(0);
}

const isAsked = () => until(() => asked > 0);
const ended = {
  inOrder: { code: 0, signal: null },
  bySignal: { code: null, signal: 'SIGINT' },
} as const;

interface Case {
  readonly line: string;
  readonly env: () => Env;
  /** Resolves when the command is in the middle of its work. */
  readonly atWork: (process: CliProcess) => Promise<unknown>;
  readonly end: keyof typeof ended;
  readonly needsLog?: true;
}

const seen =
  (pattern: RegExp, stream: 'stdout' | 'stderr' = 'stdout') =>
  (process: CliProcess) =>
    process.sees(pattern, stream);

const onKafka = [
  ...['tail ipos', 'tail ipos --no-follow', 'status', 'topics', 'groups', 'dead-letters list', 'pause ipos'],
  ...['resume --all', 'reset ipos --yes', 'snapshot ipos', 'reconcile ipos', 'dead-letters retry ipos'],
  ...['backfill ipos --from 2020-01-01 --to 2020-01-02', 'schemas check', 'schemas register', 'doctor'],
];
const cases: readonly Case[] = [
  { line: 'run', env: withApi, atWork: seen(/snapshot complete/, 'stderr'), end: 'inOrder' },
  { line: 'run', env: silentApi, atWork: isAsked, end: 'inOrder' },
  { line: 'run', env: silentKafka, atWork: isAsked, end: 'inOrder' },
  { line: 'demo', env: () => ({}), atWork: seen(/~ ipos/), end: 'inOrder' },
  { line: 'simulate', env: () => ({}), atWork: seen(/address/), end: 'inOrder' },
  { line: 'run --once', env: silentApi, atWork: isAsked, end: 'bySignal' },
  { line: 'run --once', env: silentKafka, atWork: isAsked, end: 'bySignal' },
  { line: 'doctor', env: silentApi, atWork: isAsked, end: 'bySignal' },
  { line: 'tail ipos --from-beginning', env: withApi, atWork: seen(/\n/), end: 'bySignal', needsLog: true },
  { line: 'status -w', env: withApi, atWork: seen(/FEED/), end: 'bySignal', needsLog: true },
  { line: 'reconcile ipos', env: hangingApi, atWork: isHanging, end: 'bySignal', needsLog: true },
  {
    line: 'backfill ipos --from 2020-01-01 --to 2020-01-02',
    env: hangingApi,
    atWork: isHanging,
    end: 'bySignal',
    needsLog: true,
  },
  ...onKafka.map((line): Case => ({ line, env: silentKafka, atWork: isAsked, end: 'bySignal' })),
];

it.each(cases)('`$line` ends $end at Ctrl-C', async ({ line, env, atWork, end, needsLog }) => {
  if (needsLog) await published();
  const process = start(line, env());
  await atWork(process);
  process.signal('SIGINT');
  expect([await process.ended(), process.stderr()]).toEqual([
    ended[end],
    expect.not.stringMatching(/a fault in highwater|^ +at /m),
  ]);
});

it.each([
  ['init', () => `init http://${place()}/orders`],
  ['healthcheck', () => `healthcheck --http-port ${port()}`],
])('`%s` ends bySignal at Ctrl-C', async (_, line) => {
  const process = start(line(), {});
  await isAsked();
  expect(await process.stop('SIGINT')).toEqual(ended.bySignal);
});

it.each(['backup copy.db', 'backup -', 'restore copy.db'])(
  '`%s` ends by Ctrl-C and leaves no file behind',
  async (line) => {
    await published();
    const data = commands.file('data');
    // So large that the copy takes seconds.
    const db = new Database(path.join(data, 'highwater.db'));
    db.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
     INSERT INTO records SELECT 'ballast', 0, i, 0, i, '{}', zeroblob(1000000) FROM n`,
    );
    db.close();
    if (line.startsWith('restore')) {
      expect((await start('backup copy.db', {}).ended()).code).toBe(0);
    }
    // SQLite's own two files beside the log stay after a reader that a signal ended; the next one takes them over.
    const files = () =>
      [folder(), data].flatMap((one) => readdirSync(one)).filter((name) => !/-(shm|wal)$/.test(name));
    const before = files();
    const process = start(line, {});
    const isCopying = () =>
      readdirSync(folder(), { recursive: true, encoding: 'utf8' }).some((name) =>
        /partial$|restoring\/./.test(name),
      );
    await until(isCopying);
    expect(await process.stop('SIGINT')).toEqual(ended.bySignal);
    expect(files()).toEqual(before);
  },
);

it('a loop of a shell ends with the command that Ctrl-C ends', async () => {
  const main = path.join(await build(), 'cli', 'main.js');
  // The shell gives the signal to its own group, as a terminal does.
  const script = `set -m; (for i in 1 2 3; do echo $i; node ${main} doctor --json >/dev/null; done; echo over) & sleep 3; kill -INT -$!; wait $!; echo $?`;
  const { stdout } = spawnSync('bash', ['-c', script], {
    env: { PATH: process.env.PATH, ...silentApi() },
    encoding: 'utf8',
    cwd: folder(),
  });
  expect(stdout).toBe('1\n130\n');
});
