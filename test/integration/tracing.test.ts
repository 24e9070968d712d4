import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type CliProcess, commandLine, nodePrograms } from '../support/cli';
import { startReceiver } from '../support/receiver';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** Spans and trace headers, in real processes with a real OpenTelemetry SDK. */

const start = commandLine();
const program = nodePrograms();
const folder = tempFolder();
const api = simulatedApi({ ipos: 20, analysts: 20 });

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code: number; readonly message?: string };
  readonly linked: readonly string[];
}

const file = () => path.join(folder(), 'spans.jsonl');
const tracing = () => ({
  NODE_OPTIONS: `--require ${path.join(__dirname, '..', 'support', 'tracing.cjs')}`,
  SPANS: file(),
});

function highwater(args: readonly string[], env: Readonly<Record<string, string>>): CliProcess {
  const cwd = folder();
  return start(args, { cwd, env: { ...apiEnv(api()), ...env } });
}

function spans(): readonly Span[] {
  const lines = readFileSync(file(), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

const named = (name: string) => spans().filter((span) => span.name === name);

async function ended(run: CliProcess): Promise<void> {
  await run.stop();
}

/** What a program of a user prints, a line of JSON for each event or batch, until it has seen so many. */
async function printed(handling: string, count: number, env: Readonly<Record<string, string>>) {
  const script = path.join(folder(), 'consumer.cjs');
  const text = `
    const { connect } = require(process.env.DIST + '/consumer');
    const log = connect({ dataDir: ${JSON.stringify(path.join(folder(), 'data'))} });
    const options = { group: 'desk', topics: ['ipos'], from: 'beginning' };
    const print = (value) => console.log(JSON.stringify(value));
    process.on('SIGTERM', () => log.close());
    void ${handling};`;
  writeFileSync(script, text);
  const run = program([script], { env: { ...env, FLUSH: 'yes' } });
  const lines = () => run.stdout().split('\n').slice(0, -1);
  await until(() => lines().length >= count);
  await ended(run);
  return lines().map((line) => JSON.parse(line));
}

it('a trace leads from the poll over its requests and its event to the handler and the webhook', async () => {
  const receiver = await startReceiver();
  writeFileSync(
    path.join(folder(), 'highwater.yaml'),
    'deliveries:\n  desk:\n    topics: [ipos.deal-status]\n    to: { webhook: { urlEnv: HOOK } }\n',
  );
  const args = ['run', '--deliver', '--feeds', 'ipos', '--poll-interval', '100ms'];
  const run = highwater(args, { ...tracing(), HOOK: `${receiver.url}/a-secret-path` });
  await run.sees(/snapshot complete/, 'stderr');
  const [id, record] = [...api().truth('ipos')][0]!;
  const { updated: _, ...rest } = record;
  api().stores.ipos.upsert({ ...rest, id, deal_status: 'Withdrawn' } as never);
  await until(() => receiver.received.length === 1);
  await ended(run);

  expect(readFileSync(file(), 'utf8')).not.toContain('a-secret-path');
  const [delivery] = named('deliver desk');
  const { headers, body } = receiver.received[0]!;
  expect(headers.traceparent).toBe(`00-${delivery!.traceId}-${delivery!.spanId}-01`);
  const [handler] = named('process ipos.deal-status');
  expect(delivery!.parent).toBe(handler!.spanId);
  const poll = named('poll ipos').find(({ spanId }) => spanId === handler!.parent)!;
  expect(JSON.parse(body).traceparent).toBe(`00-${poll.traceId}-${poll.spanId}-01`);
  expect(poll).toMatchObject({ attributes: { 'highwater.changes': 1, 'highwater.complete': true } });
  const within = spans().filter(({ parent }) => parent === poll.spanId);
  expect(within.map(({ name }) => name).sort()).toEqual([
    'GET /api/v2.1/calendar/ipos',
    'commit ipos',
    'process ipos.deal-status',
  ]);
  expect(new Set([delivery, handler, ...within].map((span) => span!.traceId))).toEqual(
    new Set([poll.traceId]),
  );
});

it('requests that wait for each other belong to the poll that asked for them', async () => {
  const env = { ...tracing(), HIGHWATER_CONCURRENT_REQUESTS: '1' };
  const run = highwater(['run', '--once', '--feeds', 'ipos,analysts'], env);
  expect(await run.ended()).toMatchObject({ code: 0 });
  const polls = new Map(['ipos', 'analysts'].map((feed) => [named(`poll ${feed}`)[0]!.spanId, feed]));
  const requests = spans().filter(({ name }) => name.startsWith('GET '));
  expect(requests.length).toBeGreaterThan(8);
  for (const { parent, attributes } of requests)
    expect(polls.get(parent!)).toBe(attributes['highwater.feed']);
});

it('a poll that fails names its error, and no span shows the token', async () => {
  const token = 'a-token-that-nobody-may-see';
  const run = highwater(['run', '--once', '--feeds', 'ipos'], { ...tracing(), HIGHWATER_API_TOKEN: token });
  expect(await run.ended()).toMatchObject({ code: 1 });
  const [request] = spans().filter(({ name }) => name.startsWith('GET '));
  expect(request).toMatchObject({
    attributes: { 'http.response.status_code': 401, 'error.type': 'SOURCE_UNAUTHORIZED' },
    status: { code: 2, message: expect.stringContaining('answered 401') },
  });
  expect(named('poll ipos')).toMatchObject([{ attributes: { 'error.type': 'SOURCE_UNAUTHORIZED' } }]);
  expect(readFileSync(file(), 'utf8')).not.toContain(token);
});

it('a batch has a trace of its own, with a link to the poll of each event', async () => {
  await highwater(['run', '--once', '--feeds', 'ipos'], tracing()).ended();
  const [poll] = named('poll ipos');
  const handling = 'log.consumeBatches(options, (events) => events.forEach(({ id }) => print(id)))';
  expect(await printed(handling, 20, tracing())).toHaveLength(20);
  const batches = named('process ipos');
  expect(batches.length).toBeGreaterThan(0);
  for (const { linked, parent, attributes } of batches.filter(({ linked }) => linked.length > 0)) {
    expect(linked).toEqual([poll!.spanId]);
    expect(parent).toBeUndefined();
    expect(attributes).toMatchObject({ 'messaging.consumer.group.name': 'desk' });
  }
});

it('without an SDK events have no trace, and are handled as ever', async () => {
  await highwater(['run', '--once', '--feeds', 'ipos'], {}).ended();
  const handled = await printed('log.consume(options, ({ headers }) => print(headers))', 20, {});
  expect(handled).toHaveLength(20);
  for (const headers of handled) expect(headers).not.toHaveProperty('traceparent');
});
