import { cpSync, renameSync, rmSync } from 'node:fs';
import { commandsInFolder, jsonLines } from '../../support/cli';
import { apiEnv, simulatedApi } from '../../support/simulated-api';

const { file, start, here, done } = commandsInFolder();
const api = simulatedApi({ insights: 30, analysts: 300, ipos: 60 });

const publishing = () => ({
  ...apiEnv(api()),
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
  HIGHWATER_POLL_INTERVAL: '100ms',
});
const publish = (...args: string[]) => start(['run', ...args], publishing());

async function published(...args: string[]): Promise<void> {
  expect((await done(['run', '--once', ...args], publishing())).code).toBe(0);
}

const tail = (...args: string[]) => here(['tail', ...args]);

async function lines(...args: string[]): Promise<string[]> {
  const { code, out } = await done(['tail', ...args]);
  expect(code).toBe(0);
  return out.split('\n').slice(0, -1);
}

async function json(...args: string[]): Promise<Record<string, unknown>[]> {
  return (await lines(...args, '--json')).map((line) => JSON.parse(line));
}

it('prints records as JSON, to the letter of the contract', async () => {
  await published('--feeds', 'ipos');
  const [line = ''] = await lines('ipos', '--from-beginning', '--no-follow', '--json', '--limit', '1');
  const record = JSON.parse(line);
  expect(Object.keys(record)).toEqual([
    'topic',
    'partition',
    'offset',
    'timestamp',
    'key',
    'type',
    'headers',
    'value',
  ]);
  expect(record).toMatchObject({
    topic: 'ipos',
    partition: expect.any(Number),
    offset: 0,
    timestamp: expect.any(Number),
    type: 'marketdata.ipos.Envelope',
    headers: { op: 'r', ce_type: 'marketdata.ipos.read' },
  });
  const truth = api().truth('ipos').get(record.key)!;
  expect(record.value).toMatchObject({
    before: null,
    after: { id: record.key, name: truth.name, updated: truth.updated },
    op: 'r',
    source: { seq: expect.any(Number) },
  });
  expect(line).not.toMatch(/"type":"Buffer"|\d+n/);
});

it('shows every record once, and of a compacted topic the latest of each key', async () => {
  await published();
  expect(await json('ipos', '--no-follow', '--from-beginning')).toHaveLength(60);
  const current = await json('ipos.current', '--no-follow', '--from-beginning');
  expect(new Set(current.map(({ key }) => key)).size).toBe(60);
  expect(current[0]).toMatchObject({ type: 'marketdata.ipos.Ipo' });
});

it('filters by op and key and ends after exactly so many', async () => {
  await published('--feeds', 'ipos');
  expect(await json('ipos', '--no-follow', '--op', 'c,u')).toStrictEqual([]);
  const all = await json('ipos', '--no-follow', '--op', 'r');
  expect(all).toHaveLength(60);
  const [{ key } = { key: '' }] = all;
  expect(await json('ipos', '--no-follow', '--key', String(key))).toEqual([all[0]]);
  expect(await lines('ipos', '--from-beginning', '--limit', '7')).toHaveLength(7);
});

it('begins with the last records of several topics, or with those since a time, and names the topic of each', async () => {
  await published('--feeds', 'ipos,analysts');
  const every = await json('ipos', 'analysts', '--no-follow');
  expect(every).toHaveLength(360);
  const last = await json('ipos', 'analysts', '--no-follow', '--last', '5');
  expect(last).toHaveLength(5);
  const newest = Math.max(...every.map(({ timestamp }) => Number(timestamp)));
  expect(last.at(-1)).toMatchObject({ timestamp: newest });
  expect(await json('ipos', '--no-follow', '-n', '100')).toHaveLength(60);
  expect(await json('ipos', '--no-follow', '-n', '3', '--op', 'c')).toStrictEqual([]);
  expect(await json('ipos', '--no-follow', '--since', '1h')).toHaveLength(60);
  expect(await json('ipos', '--no-follow', '--since', '10ms')).toStrictEqual([]);
  expect((await lines('ipos', 'analysts', '--no-follow', '-n', '1'))[0]).toMatch(
    /^\d\d:\d\d:\d\d {2}(ipos|analysts) +· read /,
  );

  const following = tail('ipos', '--last', '2', '--json', '--limit', '3');
  await following.sees(/(\n.*){2}/);
  publish('--feeds', 'ipos');
  api().marketDay.start(50);
  expect(await following.ended()).toEqual({ code: 0, signal: null });
  const records = jsonLines<{ headers: { op: string } }>(following.stdout());
  const seen = records.map(({ headers }) => headers.op);
  expect(seen.slice(0, 2)).toEqual(['r', 'r']);
  expect(seen[2]).not.toBe('r');
});

it('refuses two beginnings', async () => {
  const { code, err } = await done(['tail', 'ipos', '--last', '2', '--since', '1m']);
  expect([code, err]).toEqual([2, expect.stringContaining('--last and --since are different beginnings')]);
});

it('shows in words what highwater writes for itself', async () => {
  await published('--feeds', 'ipos');
  const [line = ''] = await lines('ipos.source-offset', '--no-follow');
  expect(line).toMatch(/ = position +ipos {2}read to 20\S+Z · 60 records · seq 60 · commit \d+$/);
});

it('follows a publisher in another process, live, for people without a terminal: no colour, nothing cut', async () => {
  const publisher = publish();
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  await publisher.sees(/insights: (first )?snapshot complete/, 'stderr');
  const transitions = tail('insights.rating-changes');
  const changes = tail('ipos', '--op', 'c,u');
  // They say nothing when they have begun, so the market goes on until they have seen something.
  api().marketDay.start(50);
  await transitions.sees(/UPGRADE +\S+ +\S.*: .* → .*, pt .* → /);
  await changes.sees(/~ updated +\S+ +\S.* deal_status .+ → .+/);
  await changes.sees(/\+ created /);
  expect(transitions.stdout() + changes.stdout()).not.toContain('\u001b');
  expect(await changes.stop('SIGINT')).toEqual({ code: 130, signal: null });
});

it('waits for a folder, a topic and a publisher that are not there yet', async () => {
  const waiting = tail('ipos', '--from-beginning', '--limit', '1');
  await waiting.sees(/no log in .* yet\. Waiting/, 'stderr');
  const lost = tail('ipso');
  await lost.sees(/no topic ipso; did you mean ipos\? there are .*ipos\.deal-status.*Waiting/, 'stderr');
  await published('--feeds', 'ipos');
  expect(await waiting.ended()).toEqual({ code: 0, signal: null });
});

it('names the topics there are when it is not to wait for one', async () => {
  const missing = await done(['tail', 'ipos', '--no-follow']);
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('LOG_MISSING')]);
  const unknown = await done(['tail', 'iposs', '--no-follow']);
  expect(unknown.code).toBe(2);
  expect(unknown.err).toMatch(/no topic iposs; did you mean ipos\? there are analysts, .*ipos\.current/);
});

it('puts the prefix before a name that lacks it', async () => {
  await published('--feeds', 'ipos', '--topic-prefix', 'staging.');
  for (const name of ['ipos', 'staging.ipos']) {
    const [record] = await json(name, '--topic-prefix', 'staging.', '--no-follow', '--limit', '1');
    expect(record).toMatchObject({ topic: 'staging.ipos' });
  }
});

it('puts it before a name that another installation has as it is, and names the topic in each line', async () => {
  await published('--feeds', 'ipos');
  await published('--feeds', 'ipos', '--topic-prefix', 'staging.');
  const args = ['--topic-prefix', 'staging.', '--no-follow', '--limit', '1'];
  expect(await json('ipos', ...args)).toEqual([expect.objectContaining({ topic: 'staging.ipos' })]);
  expect((await lines('ipos', ...args))[0]).toMatch(/ {2}staging\.ipos {2}/);
  expect((await lines('staging.ipos', ...args))[0]).not.toMatch(/staging\.ipos {2}/);
});

it.each([
  ['was put back from a copy', true],
  ['was removed', false],
])(
  'ends when the log that it follows %s, instead of waiting for records that never come',
  async (_what, back) => {
    await published('--feeds', 'ipos');
    const data = file('data');
    cpSync(data, `${data}.copy`, { recursive: true });
    const process = tail('ipos', '--from-beginning');
    await process.sees(/./, 'stdout');
    rmSync(data, { recursive: true });
    if (back) renameSync(`${data}.copy`, data);
    expect(await process.ended()).toMatchObject({ code: 1 });
    expect(process.stderr()).toMatch(/LOG_POSITION_LOST.*Start this program again/s);
  },
);

it('says that it cannot reach the log and tries again, if it follows', async () => {
  const env = { KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };
  const following = here(['tail', 'ipos'], env);
  await following.sees(/KAFKA_UNREACHABLE.*Trying again until it works/, 'stderr');
  await following.stop('SIGINT');
  expect((await done(['tail', 'ipos', '--no-follow'], env)).code).toBe(1);
});

it('puts it before a name that only begins alike, and whatever else is set wrong', async () => {
  await published('--feeds', 'ipos', '--topic-prefix', 'i');
  const args = ['tail', 'ipos', '--topic-prefix', 'i', '--no-follow', '--limit', '1', '--json'];
  const { code, out } = await done(args, { HIGHWATER_POLL_INTERVAL: 'often' });
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ topic: 'iipos' })]);
});

it('ends quietly when nobody reads on', async () => {
  await published('--feeds', 'analysts');
  const piped = start(['tail', 'analysts', '--from-beginning', '--json']);
  await piped.sees(/\n/);
  piped.close('stdout');
  // The next output meets a closed pipe at the latest now.
  publish('--feeds', 'analysts');
  api().marketDay.start(50);
  expect(await piped.ended()).toEqual({ code: 0, signal: null });
  expect(piped.stderr()).toBe('');
});

it.each(['SIGINT', 'SIGTERM'] as const)(
  'ends by %s though its reader stands still, and at the second at once',
  async (name) => {
    await published('--feeds', 'analysts');
    const args = ['tail', 'analysts', '--from-beginning', '--json'];
    const stalled = () => start(args, {}, { stalled: true });
    const [patient, hurried] = [stalled(), stalled()];
    await Promise.all([patient.printing(), hurried.printing()]);
    // While another one starts and reads all, they have come to stand before a full pipe.
    expect(await lines('analysts', '--no-follow', '--json')).toHaveLength(300);
    patient.signal(name);
    hurried.signal(name);
    const again = setInterval(() => hurried.signal(name), 150);
    try {
      expect(await hurried.ended()).toEqual({ code: null, signal: name });
      expect(await patient.ended()).toEqual({ code: null, signal: name });
    } finally {
      clearInterval(again);
    }
  },
);
