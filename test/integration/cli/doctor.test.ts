import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BehaviourChange } from '../../../src/simulator/behaviour';
import type { FaultRule } from '../../../src/simulator/faults';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import { commandLine, until } from '../../support/cli';
import { askDoctor, type DoctorLine } from '../../support/doctor';
import { tempFolder } from '../../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();
const token = 'tok-EnFRvMd5hX8s';
let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator({ records: { insights: 400, analysts: 400, ipos: 400 }, tokens: [token] });
});
afterEach(() => simulator.stop());

const environment = () => ({
  HIGHWATER_API_URL: simulator.url,
  HIGHWATER_API_TOKEN: token,
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
});

const doctor = (args: readonly string[] = [], env: Readonly<Record<string, string>> = environment()) =>
  askDoctor(cli, args, { cwd: folder(), env });

it('finds nothing wrong where nothing is, with one line a check, and leaves no trace', async () => {
  const running = cli(['doctor'], { cwd: folder(), env: environment() });
  expect(await running.ended(30_000)).toEqual({ code: 0, signal: null });
  const lines = running.stdout().trim().split('\n');
  expect(lines.at(-1)).toBe('15 fine.');
  const checks = lines.slice(0, -2).filter((line) => line !== '');
  expect(checks.filter((line) => !line.startsWith('✓ '))).toEqual(['Settings', 'API', 'Log', 'Schemas']);
  expect(checks).toHaveLength(15 + 4);
  expect(running.stderr()).toBe('');
  expect(readdirSync(folder())).toEqual([]);
});

it('says how each feed is served', async () => {
  simulator.behave({ pageCap: 150 }, 'insights');
  simulator.behave({ paging: 'offset' }, 'analysts');
  simulator.behave({ firstPage: 1 }, 'ipos');
  const { code, of } = await doctor();
  expect(code).toBe(0);
  expect(of('feed', 'insights').found).toContain('at most 150 records a page, where 1000 were asked for');
  expect(of('feed', 'analysts').found).toContain('records counted from 0');
  expect(of('feed', 'ipos').found).toContain('pages counted from 1');
  expect(of('feed', 'ipos').found).toContain('400 records in all');
});

describe.each<[string, BehaviourChange | FaultRule, Partial<DoctorLine>, RegExp, RegExp]>([
  [
    'ignores the page parameter',
    { ignorePaging: true },
    { state: 'failed', code: 'SCAN_PAGING_IGNORED' },
    /parameter page is ignored/,
    /paging parameters in highwater.yaml/,
  ],
  [
    'ignores the updated filter',
    { ignoreUpdated: true },
    { state: 'failed' },
    /parameter parameters\[updated\] is ignored/,
    /parameters\.updatedSince/,
  ],
  ['gives no order', { order: 'shuffled' }, { state: 'warning' }, /not ordered by updated/, /order/],
  [
    'leaves out ids',
    { drift: { withoutId: 0.1 } },
    { state: 'warning' },
    /\d+ of 400 records have no usable id or updated/,
    /ipos\.dead-letters/,
  ],
  [
    'answers under another key',
    { fault: { kind: 'wrong-key' }, feed: 'ipos', times: 100 },
    { state: 'failed', code: 'SOURCE_WRONG_SHAPE' },
    /ipos/,
    /responseKey/,
  ],
  [
    'answers with a page for people',
    { fault: { kind: 'html' }, feed: 'ipos', times: 100 },
    { state: 'failed', code: 'SOURCE_NOT_JSON' },
    /ipos/,
    /HIGHWATER_API_URL/,
  ],
  [
    'has no such path',
    { fault: { kind: 'no-route' }, feed: 'ipos', times: 100 },
    { state: 'failed', code: 'SOURCE_NOT_FOUND' },
    /404/,
    /path/,
  ],
  [
    'fails behind the first page',
    { fault: { kind: 'status', status: 500 }, feed: 'ipos', skip: 1, times: 100 },
    { state: 'failed', code: 'SOURCE_UNAVAILABLE' },
    /500/,
    /vendor/,
  ],
])('a feed whose server %s', (_, change, expected, found, remedy) => {
  it('is named, alone, with what to do', async () => {
    if ('fault' in change) simulator.fault(change);
    else if ('drift' in change) {
      await simulator.stop();
      const records = { insights: 400, analysts: 400, ipos: 400 };
      simulator = await startSimulator({ records, tokens: [token], behaviours: { ipos: change } });
    } else simulator.behave(change as BehaviourChange, 'ipos');
    const { code, of, lines } = await doctor();
    expect(of('feed', 'ipos')).toMatchObject(expected);
    expect(of('feed', 'ipos').found).toMatch(found);
    expect(of('feed', 'ipos').do).toMatch(remedy);
    expect(code).toBe(expected.state === 'failed' ? 1 : 0);
    expect(lines.filter(({ state }) => state !== 'ok')).toHaveLength(1);
  });
});

it('tells a refused token from a dead server, and never says the token', async () => {
  const refused = await doctor([], { ...environment(), HIGHWATER_API_TOKEN: 'tok-refused-0815' });
  expect(refused.code).toBe(1);
  expect(refused.of('api')).toMatchObject({ state: 'ok' });
  expect(refused.of('token')).toMatchObject({ state: 'failed', code: 'SOURCE_UNAUTHORIZED' });
  expect(refused.of('feed', 'ipos')).toMatchObject({ state: 'skipped' });
  expect(refused.said).not.toContain('tok-refused-0815');

  await simulator.stop();
  const dead = await doctor();
  expect(dead.code).toBe(1);
  expect(dead.of('api')).toMatchObject({ state: 'failed', code: 'SOURCE_UNREACHABLE' });
  expect(dead.of('token').state).toBe('skipped');
  expect(dead.of('data-folder').state).toBe('ok');
});

it('compares the clocks', async () => {
  simulator.behave({ clockSkew: -120 });
  const { code, of } = await doctor();
  expect(code).toBe(0);
  expect(of('clock')).toMatchObject({
    state: 'warning',
    found: expect.stringMatching(/1[12]\d s ahead of the API/),
  });
});

it('checks what is set and skips the rest', async () => {
  const { code, lines, of } = await doctor([], {});
  expect(code).toBe(0);
  const apart = lines.filter(({ state }) => state === 'skipped').map(({ check }) => check);
  expect(new Set(apart)).toEqual(new Set(['api', 'token', 'clock', 'feed']));
  expect(of('data-folder').state).toBe('ok');
});

it('names every mistake in the settings at once', async () => {
  const wrong = { HIGHWATER_POLL_INTERVAL: 'soon', HIGHWATER_API_TOKEN_FILE: '/nowhere/token' };
  const { code, lines } = await doctor([], wrong);
  expect(code).toBe(1);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ check: 'settings', state: 'failed', code: 'CONFIG_INVALID' });
  expect(lines[0]!.found).toContain('pollInterval');
  expect(lines[0]!.found).toContain('/nowhere/token');
});

it('names the publisher that owns the log, while it runs and when it is dead, and does not disturb it', async () => {
  const publisher = cli(['run', '--poll-interval', '100ms'], { cwd: folder(), env: environment() });
  await publisher.sees(/ipos: first snapshot complete/, 'stderr');
  const beside = await doctor();
  expect(beside.code).toBe(0);
  expect(beside.of('owner').found).toContain(`process ${publisher.pid} on`);
  expect(beside.of('owner').found).toMatch(/publishes analysts, insights, ipos/);
  expect(beside.of('log-file').found).toContain('14 topics');
  expect(beside.of('schemas', 'ipos').found).toContain('registered: ipos-value 1');
  expect(beside.of('command-schema')).toMatchObject({
    ...{ state: 'ok', found: 'new, the first command registers them: highwater.commands-value' },
  });
  await cli(['pause', 'ipos'], { cwd: folder(), env: environment() }).ended(30_000);
  const { found } = (await doctor()).of('command-schema');
  expect(found).toBe('registered: highwater.commands-value 1');
  const asked = simulator.requests().length;
  await until(() => simulator.requests().length > asked + 3);
  expect(publisher.stderr()).not.toMatch(/ERROR|WARN/);

  publisher.signal('SIGKILL');
  await publisher.ended();
  expect((await doctor()).of('owner').found).toMatch(/^nobody: .* ended without a word$/);
});

it('names a log that cannot be written or read', async () => {
  const data = path.join(folder(), 'data');
  writeFileSync(data, 'a file where the folder belongs');
  const blocked = await doctor();
  expect(blocked.code).toBe(1);
  expect(blocked.of('data-folder')).toMatchObject({ state: 'failed', code: 'LOG_UNWRITABLE' });

  const other = path.join(folder(), 'other');
  mkdirSync(other);
  writeFileSync(path.join(other, 'highwater.db'), 'this is no database at all. '.repeat(100));
  const corrupt = await doctor(['--data-dir', other]);
  expect(corrupt.code).toBe(1);
  expect(corrupt.of('log-file')).toMatchObject({ state: 'failed', code: 'LOG_CORRUPT' });
  expect(existsSync(path.join(other, 'publisher.lock'))).toBe(false);
});
