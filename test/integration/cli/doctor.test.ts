import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { connect } from '../../../src/log/local/file/sqlite';
import type { BehaviourChange } from '../../../src/simulator/behaviour';
import type { FaultRule } from '../../../src/simulator/http/faults';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import { commandsInFolder } from '../../support/cli';
import { askDoctor, type DoctorLine } from '../../support/doctor';
import { namedRows } from '../../support/named-rows';
import { fillDisk, hasSmallDisks, onSmallDisk } from '../../support/small-disk';
import { until as eventually, until } from '../../support/until';

const environment = () => ({
  HIGHWATER_API_URL: simulator.url,
  HIGHWATER_API_TOKEN: token,
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
});
const { folder, file, start, here, done } = commandsInFolder(environment);
const token = 'tok-EnFRvMd5hX8s';
let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator({ records: { insights: 400, analysts: 400, ipos: 400 }, tokens: [token] });
});
afterEach(() => simulator.stop());

const doctor = (args: readonly string[] = [], env?: Readonly<Record<string, string>>) =>
  askDoctor(here, args, env);

it('finds nothing wrong where nothing is, with one line a check, and leaves no trace', async () => {
  const { code, out, err } = await done(['doctor']);
  expect([code, err]).toEqual([0, '']);
  const lines = out.trim().split('\n');
  expect(lines.at(-1)).toBe('18 fine.');
  const checks = lines.slice(0, -2).filter((line) => line !== '');
  const titles = ['Settings', 'API', 'Log', 'Schemas', 'Feeds'];
  expect(checks.filter((line) => !line.startsWith('✓ '))).toEqual(titles);
  expect(checks).toHaveLength(18 + titles.length);
  expect(readdirSync(folder())).toStrictEqual([]);
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

describe.each(
  namedRows<[BehaviourChange | FaultRule, Partial<DoctorLine>, RegExp, RegExp]>({
    'ignores the page parameter': [
      { ignorePaging: true },
      { state: 'failed', code: 'SCAN_PAGING_IGNORED' },
      /parameter page is ignored/,
      /paging parameters in highwater.yaml/,
    ],
    'ignores the updated filter': [
      { ignoreUpdated: true },
      { state: 'failed' },
      /parameter parameters\[updated\] is ignored/,
      /parameters\.updatedSince/,
    ],
    'gives no order': [{ order: 'shuffled' }, { state: 'warning' }, /not ordered by updated/, /order/],
    'leaves out ids': [
      { drift: { withoutId: 0.1 } },
      { state: 'warning' },
      /\d+ of 400 records have no usable id or updated/,
      /ipos\.dead-letters/,
    ],
    'answers under another key': [
      { fault: { kind: 'wrong-key' }, feed: 'ipos', times: 100 },
      { state: 'failed', code: 'SOURCE_WRONG_SHAPE' },
      /ipos/,
      /responseKey/,
    ],
    'answers with a page for people': [
      { fault: { kind: 'status', status: 200, shape: 'html' }, feed: 'ipos', times: 100 },
      { state: 'failed', code: 'SOURCE_NOT_JSON' },
      /ipos/,
      /HIGHWATER_API_URL/,
    ],
    'has no such path': [
      { fault: { kind: 'no-route' }, feed: 'ipos', times: 100 },
      { state: 'failed', code: 'SOURCE_NOT_FOUND' },
      /404/,
      /path/,
    ],
    'fails behind the first page': [
      { fault: { kind: 'status', status: 500 }, feed: 'ipos', skip: 1, times: 100 },
      { state: 'failed', code: 'SOURCE_UNAVAILABLE' },
      /500/,
      /vendor/,
    ],
  }),
)('a feed whose server %s', (_, change, expected, found, remedy) => {
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
  const publisher = start(['run', '--poll-interval', '100ms']);
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  const beside = await doctor();
  expect(beside.code).toBe(0);
  expect(beside.of('owner').found).toContain(`process ${publisher.pid} on`);
  expect(beside.of('owner').found).toMatch(/publishes analysts, insights, ipos/);
  expect(beside.of('log-file').found).toContain('14 topics');
  expect(beside.of('schemas', 'ipos').found).toContain('registered: ipos-value 1');
  expect(beside.of('command-schema')).toMatchObject({
    state: 'ok',
    found: 'new, the first command registers them: highwater.commands-value',
  });
  await done(['pause', 'ipos']);
  const { found } = (await doctor()).of('command-schema');
  expect(found).toBe('registered: highwater.commands-value 1');
  const asked = simulator.requests().length;
  await until(() => simulator.requests().length > asked + 3);
  expect(publisher.stderr()).not.toMatch(/ERROR|WARN/);

  await publisher.stop('SIGKILL');
  expect((await doctor()).of('owner').found).toMatch(/^nobody: .* ended without a word$/);
});

it('warns of a feed that no publisher has while another feed has one', async () => {
  const publisher = start(['run', '--feeds', 'analysts', '--poll-interval', '100ms']);
  await publisher.sees(/analysts: (first )?snapshot complete/, 'stderr');
  const { code, of } = await doctor();
  expect(code).toBe(0);
  expect(of('status', 'analysts').state).toBe('ok');
  const left = { state: 'warning', found: expect.stringContaining('no live instance has it') as string };
  expect(of('status', 'ipos')).toMatchObject(left);
});

it('fails for a feed that is parked, warns of one that is paused, and has nothing against the others', async () => {
  const publisher = start(['run', '--poll-interval', '1s']);
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  await publisher.sees(/analysts: (first )?snapshot complete/, 'stderr');
  await done(['pause', 'ipos']);
  simulator.fault({ fault: { kind: 'status', status: 403 }, feed: 'analysts', probability: 1 } as FaultRule);
  await eventually(async () => {
    const { out } = await done(['status', '--json', '--feeds', 'analysts']);
    return (JSON.parse(out) as { parked: string | null }).parked !== null;
  });
  simulator.clearFaults();

  const { code, of } = await doctor();
  expect(code).toBe(1);
  expect(of('feed', 'analysts').state).toBe('ok');
  expect(of('status', 'analysts')).toMatchObject({
    state: 'failed',
    code: 'SOURCE_FORBIDDEN',
    do: expect.stringContaining('token'),
    found: expect.stringMatching(/^parked by SOURCE_FORBIDDEN, tried again slowly: .*403/),
  });
  expect(of('status', 'ipos')).toMatchObject({ state: 'warning', do: '`highwater resume ipos`' });
  expect(of('status', 'insights').found).toMatch(/^(completely read|last completely|not completely)/);
});

it('names a log that cannot be written or read', async () => {
  const data = file('data');
  writeFileSync(data, 'a file where the folder belongs');
  const blocked = await doctor();
  expect(blocked.code).toBe(1);
  expect(blocked.of('data-folder')).toMatchObject({ state: 'failed', code: 'LOG_UNWRITABLE' });

  // It claims to be writable, at least to some users.
  const claimed = await doctor(['--data-dir', '/proc/highwater']);
  expect(claimed.of('data-folder')).toMatchObject({ state: 'failed', code: 'LOG_UNWRITABLE' });

  const other = file('other');
  mkdirSync(other);
  writeFileSync(path.join(other, 'highwater.db'), 'this is no database at all. '.repeat(100));
  const corrupt = await doctor(['--data-dir', other]);
  expect(corrupt.code).toBe(1);
  expect(corrupt.of('log-file')).toMatchObject({ state: 'failed', code: 'LOG_CORRUPT' });
  expect(existsSync(path.join(other, 'publisher.lock'))).toBe(false);
});

describe('a log that no publisher can use fails', () => {
  const data = (...names: string[]) => file('data', ...names);
  beforeEach(async () => {
    expect((await done(['run', '--once'])).code).toBe(0);
  });

  (hasSmallDisks ? it : it.skip)('when its disk is full', async () => {
    const under = onSmallDisk(data(), 16, fillDisk);
    const { code, of } = await askDoctor((args) => start(args, environment(), { under }));
    expect(of('data-folder')).toMatchObject({ state: 'failed', code: 'LOG_FULL' });
    expect(code).toBe(1);
  });

  it('when the database is cut in half while the newest pages are in its write-ahead log', async () => {
    const publisher = start(['run', '--poll-interval', '100ms']);
    simulator.marketDay.step();
    await until(() => (statSync(data('highwater.db-wal'), { throwIfNoEntry: false })?.size ?? 0) > 40_000);
    await publisher.stop('SIGKILL');
    truncateSync(data('highwater.db'), statSync(data('highwater.db')).size / 2);
    const { code, of } = await doctor();
    expect(of('log-file')).toMatchObject({ state: 'failed', code: 'LOG_CORRUPT' });
    expect(code).toBe(1);
  });

  it('when a page behind those that every command reads is damaged', async () => {
    const bytes = readFileSync(data('highwater.db'));
    const page = bytes.readUInt16BE(16);
    bytes.fill(0xaa, bytes.length - page);
    writeFileSync(data('highwater.db'), bytes);
    const { code, of } = await doctor();
    expect(of('log-file')).toMatchObject({ state: 'failed', code: 'LOG_CORRUPT' });
    expect(code).toBe(1);
  });

  it('when an image cannot be decoded', async () => {
    const db = connect(data('highwater.db'), 5_000);
    // The id of its schema stays as it is.
    db.exec(
      `UPDATE records SET value = substr(value, 1, 5) || x'ffffffffffff' WHERE rowid IN
         (SELECT rowid FROM records WHERE topic = 'ipos.current' LIMIT 1)`,
    );
    db.close();
    const { code, of } = await doctor();
    expect(of('log-file').state).toBe('ok');
    expect(of('status', 'ipos')).toMatchObject({
      state: 'failed',
      code: 'STATE_DAMAGED',
      found: expect.stringMatching(/^1 of 400 images cannot be decoded: .*ipos\.current/),
    });
    expect(of('status', 'insights').state).not.toBe('failed');
    expect(code).toBe(1);
  });

  it.each([
    ['source-offset', /holds images, and the topic ipos\.source-offset is gone/],
    ['current', /ipos\.current is gone, and the source offset counts 400 images/],
  ])('when the topic ipos.%s is gone', async (kind, found) => {
    const db = connect(data('highwater.db'), 5_000);
    db.exec(
      `DELETE FROM records WHERE topic = 'ipos.${kind}'; DELETE FROM topics WHERE topic = 'ipos.${kind}'`,
    );
    db.close();
    const { code, of } = await doctor();
    const lost = { state: 'failed', code: 'STATE_DAMAGED', found: expect.stringMatching(found) as string };
    expect(of('status', 'ipos')).toMatchObject(lost);
    expect(of('status', 'insights').state).not.toBe('failed');
    expect(code).toBe(1);
  });

  it('when publisher.lock holds something, and says that the log itself is not concerned', async () => {
    writeFileSync(data('publisher.lock'), 'garbage '.repeat(200));
    const { code, of } = await doctor();
    expect(of('log-file').state).toBe('ok');
    expect(of('owner')).toMatchObject({ state: 'failed', code: 'LOG_CORRUPT' });
    expect(code).toBe(1);

    const once = await done(['run', '--once']);
    expect(once.code).toBe(1);
    expect(once.err).toMatch(/LOG_CORRUPT.*publisher\.lock(.|\n)*do: .*delete publisher\.lock/);
    expect(once.err).not.toContain('empty folder');
    rmSync(data('publisher.lock'));
    const again = await done(['run', '--once']);
    expect(again.code).toBe(0);
    expect(again.err).not.toContain('first snapshot');
  });
});
