import { readFileSync } from 'node:fs';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import { parse } from 'yaml';
import { type CommandRun, commandsHere } from '../support/cli';
import { writeAgain } from '../support/records';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { until } from '../support/until';

/** Events and records over HTTP. Each answer is held against the OpenAPI document. */

const { here } = commandsHere();
const RECORDS = 60;
const api = simulatedApi({ ipos: RECORDS }, { compress: false });
let publisher: CommandRun;
let url: string;

beforeEach(async () => {
  publisher = run();
  [, url] = (await publisher.sees(/Dashboard at (http:\S+)\//, 'stderr')) as unknown as [string, string];
  await publisher.sees(/snapshot complete/, 'stderr');
});

function run(env: Readonly<Record<string, string>> = {}): CommandRun {
  const flags = ['--feeds', 'ipos', '--poll-interval', '100ms', '--http-port', '0'];
  return here(['run', ...flags], { ...apiEnv(api()), ...env });
}

const document = parse(readFileSync(path.join(__dirname, '..', '..', 'docs', 'openapi.yaml'), 'utf8'));
const ajv = new Ajv2020({ strict: false });
ajv.addSchema(document, 'openapi');

/** Whether the document has this answer of this path. */
function assertDescribed(template: string, status: number, type: string, body: unknown): void {
  const pointer = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1');
  const own = document.paths[template].get.responses[String(status)];
  expect(own).toBeDefined();
  const answer = own.$ref === undefined ? `#/paths/${pointer(template)}/get/responses/${status}` : own.$ref;
  const schema = `openapi${answer}/content/${pointer(type)}/schema`;
  const validate = ajv.getSchema(encodeURI(schema).replaceAll('{', '%7B')) ?? ajv.compile({ $ref: schema });
  expect([validate(body), validate.errors]).toEqual([true, null]);
}

const templateOf = (asked: string) =>
  /^\/topics/.test(asked)
    ? '/topics/{topic}/events'
    : /records\/./.test(asked)
      ? '/feeds/{feed}/records/{id}'
      : '/feeds/{feed}/records';

interface Got {
  readonly status: number;
  readonly body: {
    readonly record: { readonly deal_status: string };
    readonly records: readonly { readonly id: string }[];
    readonly next: string | null;
  };
}

async function get(asked: string, headers = {}): Promise<Got> {
  const answer = await fetch(`${url}${asked}`, { headers });
  const body = (await answer.json()) as Got['body'];
  assertDescribed(templateOf(asked), answer.status, 'application/json', body);
  return { status: answer.status, body };
}

/** Texts of a stream as they come. */
async function open(asked: string, headers: Readonly<Record<string, string>> = {}) {
  const leaving = new AbortController();
  const answer = await fetch(`${url}${asked}`, { headers, signal: leaving.signal });
  let text = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
  })().catch(() => undefined);
  return {
    type: answer.headers.get('content-type'),
    position: answer.headers.get('x-position'),
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ended: reading,
    leave: () => leaving.abort(),
  };
}

/** The vendor's store gives the change its own `updated`. */
const changeStatus = (id: string, deal_status: string) => writeAgain(api().stores.ipos, id, { deal_status });

const anId = () => [...api().truth('ipos').keys()][0]!;

it('the history is lines of JSON that end, and each is what the document says', async () => {
  const stream = await open('/topics/ipos/events?from=beginning&follow=no');
  await stream.ended;
  expect(stream.type).toBe('application/x-ndjson; charset=utf-8');
  const events = stream.lines();
  expect(events).toHaveLength(RECORDS);
  for (const event of events) assertDescribed('/topics/{topic}/events', 200, 'application/x-ndjson', event);
  expect(new Set(events.map(({ partitionkey }) => partitionkey))).toEqual(
    new Set(api().truth('ipos').keys()),
  );
  expect(events[0]).toMatchObject({ type: 'marketdata.ipos.read', data: { op: 'r', before: null } });
});

it('a reader goes on behind any event, by position or as an EventSource does', async () => {
  const whole = await open('/topics/ipos/events?from=beginning&follow=no');
  await whole.ended;
  const events = whole.lines();
  const byPartition = (all: readonly { partition: number; offset: number }[]) =>
    all.map(({ partition, offset }) => `${partition} ${offset}`).sort();
  const rest = events.slice(20);
  const byPosition = await open(`/topics/ipos/events?from=${encodeURIComponent(events[19].position)}`);
  const bySse = await open('/topics/ipos/events', {
    accept: 'text/event-stream',
    'last-event-id': events[19].position,
  });
  await until(() => byPosition.lines().length === rest.length);
  expect(byPartition(byPosition.lines())).toEqual(byPartition(rest));
  const shown = () =>
    [...bySse.text().matchAll(/^id: (\S+)\ndata: (.*)\n\n/gm)].map(([, id, data]) => ({
      ...JSON.parse(data!),
      id,
    }));
  await until(() => shown().length === rest.length);
  expect(bySse.type).toBe('text/event-stream; charset=utf-8');
  expect(byPartition(shown())).toEqual(byPartition(rest));
  byPosition.leave();
  bySse.leave();
});

it('a filter shows what it asks for, from now on', async () => {
  const id = anId();
  const become = async (status: string) => {
    changeStatus(id, status);
    await until(async () => (await get(`/feeds/ipos/records/${id}`)).body.record.deal_status === status);
  };
  await become('Before');
  const events = '/topics/ipos.deal-status/events';
  const withdrawn = await open(`${events}?where=status=Withdrawn&where=status=Postponed`);
  const others = await open(`${events}?where=status!=Withdrawn`);
  for (const status of ['Priced', 'Withdrawn', 'Postponed', 'Closed']) await become(status);
  const statuses = (stream: typeof others) => stream.lines().map(({ data }) => data.status);
  await until(() => statuses(others).length === 3 && statuses(withdrawn).length === 2);
  expect([statuses(withdrawn), statuses(others)]).toEqual([
    ['Withdrawn', 'Postponed'],
    ['Priced', 'Postponed', 'Closed'],
  ]);
  withdrawn.leave();
  others.leave();
});

it('a reader that leaves before its first event goes on from where it began', async () => {
  const sse = await open('/topics/ipos.deal-status/events', { accept: 'text/event-stream' });
  await until(() => /^id: (\S+)\n\n/.test(sse.text()));
  const [, id] = /^id: (\S+)\n\n/.exec(sse.text())!;
  const lines = await open('/topics/ipos.deal-status/events');
  expect(lines.position).toBe(id);
  sse.leave();
  lines.leave();
  changeStatus(anId(), 'Meanwhile');
  const again = await open(`/topics/ipos.deal-status/events?from=${encodeURIComponent(id!)}`);
  await until(() => again.lines().length === 1);
  expect(again.lines()[0].data.status).toBe('Meanwhile');
  again.leave();
  const whole = await open('/topics/ipos/events?from=beginning&follow=no');
  expect(whole.position).toBe('beginning');
  await whole.ended;
});

it('a position that the log does not have is the last line', async () => {
  const stream = await open('/topics/ipos/events?from=0:999999');
  await stream.ended;
  const [line] = stream.lines();
  assertDescribed('/topics/{topic}/events', 200, 'application/x-ndjson', line);
  expect(line.error.code).toBe('LOG_POSITION_LOST');
});

it('the records of a feed come in pages, each record once', async () => {
  const ids: string[] = [];
  let pages = 0;
  for (let next: string | null = null; pages === 0 || next !== null; pages++) {
    const after: string = next === null ? '' : `&after=${next}`;
    const { body } = await get(`/feeds/ipos/records?limit=25${after}`);
    ids.push(...body.records.map(({ id }) => id));
    next = body.next;
  }
  expect(pages).toBe(3);
  expect(ids.sort()).toEqual([...api().truth('ipos').keys()].sort());
  const { body } = await get(`/feeds/ipos/records/${encodeURIComponent(anId())}`);
  expect(body).toMatchObject({ id: anId(), record: { id: anId() } });
});

it.each([
  ['/topics/nothing/events', 404, 'the log has no topic nothing'],
  ['/topics/ipos/events?from=yesterday', 400, 'from is beginning, end, or the position of an event'],
  ['/topics/ipos/events?from=99:1', 400, 'from is not a position in this topic'],
  ['/topics/ipos/events?follow=no', 400, 'follow=no goes with from=beginning'],
  ['/topics/ipos/events?follow=perhaps', 400, 'follow is yes or no'],
  [
    '/topics/ipos/events?where=status',
    400,
    'where is field=value or field!=value, one of them for each field',
  ],
  [
    '/topics/ipos/events?where=op=c&where=op!=d',
    400,
    'where is field=value or field!=value, one of them for each field',
  ],
  ['/feeds/nothing/records', 404, 'there is no feed nothing'],
  ['/feeds/ipos/records/none', 404, 'ipos has no record of this id'],
  ['/feeds/ipos/records?limit=0', 400, 'limit is a number from 1 to 1000'],
  ['/feeds/ipos/records?after=x', 400, 'after is the next of a page'],
])('%s is refused with %d', async (asked, status, error) => {
  expect(await get(asked)).toEqual({ status, body: { error } });
});

it('the token is asked for', async () => {
  await publisher.stop();
  publisher = run({ HIGHWATER_HTTP_TOKEN: 'a-token' });
  [, url] = (await publisher.sees(/Dashboard at (http:\S+)\//, 'stderr')) as unknown as [string, string];
  for (const asked of ['/topics/ipos/events', '/feeds/ipos/records', `/feeds/ipos/records/${anId()}`])
    expect((await get(asked)).status).toBe(401);
  const authorization = 'Bearer a-token';
  await until(
    async () => (await fetch(`${url}/feeds/ipos/records`, { headers: { authorization } })).status === 200,
  );
});
