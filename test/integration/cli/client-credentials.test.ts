import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import { type CommandRun, commandsHere, jsonLines } from '../../support/cli';
import { endsWithTest } from '../../support/ends';
import { type HttpServer, sendJson } from '../../support/http-server';
import { replaceFile } from '../../support/temp-folder';
import { clientId, startGuardedApi, startTokenServer, type TokenServer } from '../../support/token-server';
import { until } from '../../support/until';

/** A publisher whose feeds get their tokens from a token server. */

const { folder, file, here } = commandsHere();
const secret = 'clientS3cret+/%42';
let api: Simulator;
let tokens: TokenServer;
let front: HttpServer;
/** Called before the API decides about a request. */
let onRequest: (index: number) => void;

beforeEach(async () => {
  onRequest = () => {};
  api = await startSimulator({ records: { insights: 0, analysts: 30, ipos: 30 } });
  endsWithTest(() => api.stop());
  tokens = await startTokenServer(secret);
  endsWithTest(() => tokens.stop());
  front = await startGuardedApi(api, tokens, (index) => onRequest(index));
  endsWithTest(() => front.stop());
  writeSecret(secret);
});

function writeSecret(text: string): void {
  replaceFile(folder(), 'client-secret', `${text}\n`);
}

/** A command over two feeds that share a client. */
function run(...args: readonly string[]): CommandRun {
  const auth = { scheme: 'oauth2', tokenUrl: tokens.url, clientId, clientSecretFile: 'client-secret' };
  const feeds = { ipos: { auth, pageSize: 10 }, analysts: { auth, pageSize: 10 } };
  const general = { enabledFeeds: 'ipos,analysts', apiUrl: front.url, requestsPerSecond: 1000 };
  const settings = { ...general, pollInterval: '100ms', logLevel: 'debug', feeds };
  writeFileSync(file('highwater.yaml'), stringify(settings));
  return here(args);
}

const printed = (one: CommandRun) => one.stdout() + one.stderr();

function expectSilence(...runs: readonly CommandRun[]): void {
  for (const one of runs) expect(printed(one)).not.toMatch(/S3cret|issued-|sesame/);
}

it('two feeds share one token, and a token that ends in the middle of a scan is renewed', async () => {
  onRequest = (index) => {
    if (index === 3) tokens.valid.clear();
  };
  const running = run('run');
  for (const feed of ['ipos', 'analysts'])
    await running.sees(new RegExp(`${feed}: (first )?snapshot complete`), 'stderr');
  expect(tokens.asked).toHaveLength(2);
  await running.stop('SIGINT');
  for (const feed of ['ipos', 'analysts']) {
    const tail = run('tail', feed, '--no-follow', '--json');
    await tail.ended();
    if (tail.stdout() === '') throw new Error(tail.stderr());
    const ids = jsonLines<{ key: string }>(tail.stdout()).map(({ key }) => key);
    expect([ids.length, new Set(ids).size]).toEqual([30, 30]);
    expectSilence(running, tail);
  }
  expect(printed(running)).not.toMatch(/WARN|ERROR/);
});

it('a refused client parks the feeds by name, and they go on once its secret is replaced', async () => {
  writeSecret('wrongS3cretsesame');
  const running = run('run');
  const said =
    /POST \S+\/oauth\/token answered 401 with invalid_client: No such client; .*\.clientSecretFile/;
  await running.sees(said, 'stderr');
  await until(async () => {
    const status = run('status');
    await status.ended();
    expectSilence(status);
    return /ipos +✗ parked.*✗ ipos: SOURCE_TOKEN_REFUSED/s.test(status.stdout());
  });
  writeSecret(secret);
  for (const feed of ['ipos', 'analysts'])
    await running.sees(new RegExp(`${feed}: (first )?snapshot complete`), 'stderr');
  expectSilence(running);
});

it('a token server that is down is named at once, and not the API', async () => {
  tokens.answer = (response) => sendJson(response, '<h1>down</h1>', 503);
  const running = run('run');
  await running.sees(/ipos.*POST \S+\/oauth\/token answered 503 with/, 'stderr', 60_000);
  expect(front.requests).toHaveLength(0);
  tokens.answer = null;
  await running.sees(/ipos: (first )?snapshot complete/, 'stderr');
  expectSilence(running);
});

it('doctor fetches a token and says so, and names the key of a secret that is refused', async () => {
  const good = run('doctor');
  await good.ended();
  expect(good.stdout()).toContain(`fetched from ${tokens.url}`);
  expect(good.stdout().match(/✓ token/g)).toHaveLength(1);
  expect(tokens.asked).toHaveLength(1);
  tokens.secret = 'anothersesame';
  const bad = run('doctor');
  expect((await bad.ended()).code).toBe(1);
  expect(bad.stdout().replace(/\s+/g, ' ')).toMatch(/✗ token .* feeds\.analysts\.auth\.clientSecretFile/);
  expect(bad.stdout()).toMatch(/api +skipped: not asked: there is no token/);
  expectSilence(good, bad);
});

it('no token is fetched when no request needs it', async () => {
  for (const args of [['config'], ['list'], ['tail', 'ipos', '--no-follow'], ['--help']]) {
    const one = run(...args);
    await one.ended();
    expectSilence(one);
  }
  expect(tokens.asked).toHaveLength(0);
});
