import { once } from 'node:events';
import { statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import Database from 'libsql';
import type { FaultRule } from '../../../src/simulator/http/faults';
import { type CliProcess, commandsInFolder } from '../../support/cli';
import { endsWithTest } from '../../support/ends';
import { samplesOf } from '../../support/metrics-text';
import { writeAgain } from '../../support/records';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { until } from '../../support/until';

const apiOf = () => ({ ...apiEnv(api()), HIGHWATER_REQUESTS_PER_SECOND: '1000' });
const { file, start, done } = commandsInFolder(apiOf);
const token = 'tok~en+MARKED/9f8e7d6c';
const api = simulatedApi({ insights: 20, analysts: 20, ipos: 40 }, { tokens: [token] });

function run(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): CliProcess {
  const settings = { HIGHWATER_POLL_INTERVAL: '1s', HIGHWATER_RETRY_TIME: '1s', HIGHWATER_HTTP_PORT: '0' };
  return start(['run', ...args], { ...apiOf(), ...settings, ...env });
}

async function addressOf(publisher: CliProcess): Promise<string> {
  const [, url] = await publisher.sees(/INFO {2}Metrics at (http:\S+)\/metrics, health at/, 'stderr');
  return url!.replace('0.0.0.0', '127.0.0.1');
}

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function get(address: string, headers: Record<string, string> = {}): Promise<Page> {
  const answer = await fetch(address, { headers });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

interface Ready {
  readonly ok: boolean;
  readonly reasons: readonly string[];
  readonly feeds: Record<string, { ready: boolean; condition: string; reason: string }>;
}

const readyz = async (url: string) => JSON.parse((await get(`${url}/readyz`)).text) as Ready;
const isReady = async (url: string) => (await get(`${url}/readyz`)).status === 200;

/** Sum over the samples of the feed ipos that have these labels too. */
async function metric(
  url: string,
  name: string,
  labels: Record<string, string> = {},
): Promise<number | null> {
  const wanted = Object.entries({ feed: 'ipos', ...labels });
  const found = samplesOf((await get(`${url}/metrics`)).text, name).filter((sample) =>
    wanted.every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}

it('metrics move as changes are published, and the heartbeat goes on when nothing does', async () => {
  const url = await addressOf(run());
  await until(() => isReady(url));
  expect(await metric(url, 'highwater_feed_owned')).toBe(1);
  expect(await metric(url, 'highwater_tracked_records')).toBe(40);
  expect(await metric(url, 'highwater_state_bytes')).toBeGreaterThan(40 * 50);
  expect(await metric(url, 'highwater_changes_total', { op: 'r' })).toBe(40);
  expect(await metric(url, 'highwater_observation_latency_seconds_count')).toBe(0);
  expect(await metric(url, 'highwater_api_requests_total', { status: '2xx' })).toBeGreaterThan(0);
  expect(await metric(url, 'highwater_transaction_duration_seconds_count')).toBeGreaterThan(0);
  expect((await get(`${url}/metrics`)).text).toContain(
    'highwater_build_info{version="0.1.0",log="embedded"} 1',
  );

  const { ipos } = api().stores;
  const key = ipos.keys()[0]!;
  writeAgain(ipos, key, { id: 'new-ipo' });
  await until(async () => (await metric(url, 'highwater_changes_total', { op: 'c' })) === 1);
  expect(await metric(url, 'highwater_tracked_records')).toBe(41);
  const latency = await metric(url, 'highwater_observation_latency_seconds_sum');
  expect(latency).toBeGreaterThanOrEqual(0);
  expect(latency).toBeLessThan(30);

  writeAgain(ipos, key, { deal_status: 'Withdrawn' });
  await until(async () => (await metric(url, 'highwater_changes_total', { op: 'u' })) === 1);
  expect(await metric(url, 'highwater_transitions_total', { type: 'DealStatusChanged' })).toBeGreaterThan(0);

  // A write in the second of the change before it does not move `updated`.
  await until(async () => {
    writeAgain(ipos, key, { deal_status: 'Withdrawn' });
    return (await metric(url, 'highwater_touches_total'))! > 0;
  });

  writeAgain(ipos, key, { id: 'drifted', not_in_schema: { a: 1 } });
  await until(async () => (await metric(url, 'highwater_drifted_values_total')) === 1);

  ipos.remove('new-ipo');
  expect((await done(['reconcile', 'ipos', '--allow-deletes', '1'])).code).toBe(0);
  expect(await metric(url, 'highwater_changes_total', { op: 'd' })).toBe(1);

  // Nothing changes from here on.
  const changed = await metric(url, 'highwater_last_change_timestamp_seconds');
  const beat = (await metric(url, 'highwater_heartbeat_timestamp_seconds'))!;
  await until(async () => (await metric(url, 'highwater_heartbeat_timestamp_seconds'))! >= beat + 2);
  expect(await metric(url, 'highwater_last_change_timestamp_seconds')).toBe(changed);
  expect(await metric(url, 'highwater_seconds_since_complete_scan')).toBeLessThan(10);
});

it('metrics and `status` say how much of the file the log takes, and how much of it retention has freed', async () => {
  expect((await done(['run', '--once', '--feeds', 'ipos'])).code).toBe(0);
  const log = file('data', 'highwater.db');
  const outside = new Database(log);
  outside.exec("UPDATE records SET timestamp = 1 WHERE topic = 'ipos'");
  outside.close();
  const publisher = run(['--feeds', 'ipos'], { HIGHWATER_RETENTION_AGE: '1h' });
  const url = await addressOf(publisher);
  const inFile = () => {
    const db = new Database(log, { readonly: true });
    const number = (name: string) => Number((db.pragma(name) as [Record<string, number>])[0][name]);
    const [total, free] = ['page_count', 'freelist_count'].map(
      (pages) => number(pages) * number('page_size'),
    );
    db.close();
    return { total: total!, free: free! };
  };
  await until(() => inFile().free > 0);
  expect(inFile().total).toBeGreaterThan(inFile().free);
  const whole = () => inFile().total + statSync(`${log}-wal`).size;

  // Retention works in steps, so the file is looked at again each time.
  const told = async (name: string) => samplesOf((await get(`${url}/metrics`)).text, name)[0]?.value;
  await until(async () => (await told('highwater_log_free_bytes')) === inFile().free);
  await until(async () => (await told('highwater_log_bytes')) === whole());
  await until(async () => {
    const { out } = await done(['status', '--json', '--feeds', 'ipos'], {});
    const { log_bytes, log_free_bytes } = JSON.parse(out) as Record<string, number>;
    return log_bytes === whole() && log_free_bytes === inFile().free;
  });
  // Not as a full disk would be spoken of.
  expect((await done(['status', '--feeds', 'ipos'], {})).out).toMatch(
    /^The log takes \d\S* MB on the disk(; \S+ MB of it are empty and filled first)?\.$/m,
  );
});

it('a feed is behind while the API is down, and comes back with it', async () => {
  const url = await addressOf(run());
  await until(() => isReady(url));
  api().fault({ fault: { kind: 'status', status: 503 }, probability: 1 } as FaultRule);
  await until(async () =>
    Object.values((await readyz(url)).feeds).every(({ condition }) => condition === 'behind'),
  );
  expect((await readyz(url)).feeds.ipos!.reason).toMatch(
    /^last completely read \d+ s ago, last failure: SOURCE_UNAVAILABLE$/,
  );
  expect((await get(`${url}/livez`)).status).toBe(200);
  expect(await metric(url, 'highwater_failures_total', { reason: 'SOURCE_UNAVAILABLE' })).toBeGreaterThan(0);
  api().clearFaults();
  await until(() => isReady(url));
});

it('status, health, metrics and doctor say why polls do not count, until one counts', async () => {
  const url = await addressOf(run(['--feeds', 'ipos']));
  await until(() => isReady(url));
  const status = async () => {
    const { code, out } = await done(['status', '--json', '--feeds', 'ipos']);
    return { code, ...(JSON.parse(out) as { last_error: string | null; problems: { code: string }[] }) };
  };
  const said = 'the API shows 0 of 40 records';
  api().fault({ feed: 'ipos', fault: { kind: 'short', rows: 0 }, probability: 1 });
  await until(async () => (await readyz(url)).feeds.ipos!.condition === 'behind');
  expect((await readyz(url)).reasons).toEqual([
    expect.stringMatching(/last completely read \d+ s ago, last failure: POLL_NOT_COUNTED$/),
  ]);
  const { code, last_error, problems } = await status();
  expect([code, last_error]).toEqual([3, expect.stringContaining(`POLL_NOT_COUNTED: ${said}`)]);
  expect(problems).toMatchObject([{ code: 'POLL_NOT_COUNTED', what: expect.stringContaining(said) }]);
  expect((await done(['doctor', '--feeds', 'ipos'])).out.replace(/\s+/g, ' ')).toContain(
    `POLL_NOT_COUNTED: ${said}`,
  );
  const complete = await metric(url, 'highwater_polls_total', { result: 'complete' });
  const incomplete = await metric(url, 'highwater_polls_total', { result: 'incomplete' });
  await until(
    async () => (await metric(url, 'highwater_polls_total', { result: 'incomplete' }))! > incomplete!,
  );
  expect(await metric(url, 'highwater_polls_total', { result: 'complete' })).toBe(complete);
  api().clearFaults();
  await until(() => isReady(url));
  await until(async () => (await status()).last_error === null);
});

it('does not listen where other machines reach it without a token, and names the setting', async () => {
  const refused = run([], { HIGHWATER_HTTP_HOST: '0.0.0.0' });
  expect(await refused.ended()).toEqual({ code: 2, signal: null });
  expect(refused.stderr()).toMatch(/CONFIG_INVALID[\s\S]*httpToken: is not set.*HIGHWATER_HTTP_TOKEN_FILE/);
  expect(api().requests()).toStrictEqual([]);
});

it('names a port that another program has, and starts nothing', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  endsWithTest(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const refused = run(['--http-port', String(port)]);
  expect(await refused.ended()).toEqual({ code: 1, signal: null });
  expect(refused.stderr()).toContain('PORT_UNAVAILABLE');
  expect(refused.stderr()).toContain(`port ${port} of 127.0.0.1 cannot be used: another program listens`);
  expect(api().requests()).toStrictEqual([]);
});

it('ends at a signal though somebody does not end a request', async () => {
  const publisher = run();
  const url = await addressOf(publisher);
  await until(() => isReady(url));
  const half = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  await once(half, 'connect');
  half.write('GET /metrics HTTP/1.1\r\nHost: ');
  // A later request on another connection was also handled later.
  expect((await get(`${url}/livez`)).status).toBe(200);
  expect(await publisher.stop()).toEqual({ code: 0, signal: null });
  await expect(fetch(`${url}/livez`)).rejects.toThrow();
});

it('has no page with --once, nor without a port', async () => {
  const without = run([], { HIGHWATER_HTTP_PORT: '' });
  await without.sees(/ipos: (first )?snapshot complete/, 'stderr');
  expect(without.stderr()).not.toContain('/metrics');
  await without.stop();
  // On a busy machine an answer may take longer than the short retry time of the other tests.
  const single = run(['--once'], { HIGHWATER_RETRY_TIME: '45s' });
  expect(await single.ended()).toEqual({ code: 0, signal: null });
  expect(single.stderr()).not.toContain('/metrics');
});
