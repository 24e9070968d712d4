import { request } from 'node:http';
import { Writable } from 'node:stream';
import { type Admin, startAdmin } from '../../src/admin/admin';
import type { AdminOptions } from '../../src/admin/dashboard/dashboard';
import type { FeedView } from '../../src/admin/dashboard/view';
import type { LocalLog } from '../../src/log/local/local-log';
import { createLogger } from '../../src/logging/logger';
import { createRedactor } from '../../src/secrets/redaction';
import type { Simulator } from '../../src/simulator/simulator';
import { endsWithTest } from '../support/ends';
import { type EventStream, openEvents, type Told } from '../support/event-stream';
import { publishedIn } from '../support/published';
import { writeAgain } from '../support/records';
import { until } from '../support/until';
import { type WorkerWorld, workerWorld } from '../support/world';

const settings = {
  HIGHWATER_POLL_INTERVAL: '100ms',
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
  HIGHWATER_RETRY_TIME: '300ms',
};
let world: WorkerWorld;
let api: Simulator;
let log: LocalLog;

beforeEach(async () => {
  world = await workerWorld({ records: { ipos: 30, insights: 30, analysts: 30 } });
  ({ api, log } = world);
});

async function serve(
  http: { port?: number; host?: string; token?: string } = {},
  given: Partial<AdminOptions> = {},
): Promise<Admin> {
  const { feeds, topicPrefix, api: asked, dataDir, secrets } = world.config(settings);
  const admin = await startAdmin(
    { host: '127.0.0.1', port: 0, token: null, ...http },
    {
      feeds,
      topicPrefix,
      logger: world.logger,
      api: asked,
      log: log.commitLog,
      registry: log.registry,
      instance: 'box:1',
      place: dataDir,
      build: { version: '1.2.3', log: 'embedded' },
      redact: createRedactor(secrets),
      ...given,
    },
  );
  endsWithTest(() => admin.close());
  return admin;
}

const publish = (tell: Admin['tell']) => void world.run(settings, { tell });

async function look(url: string, headers: Readonly<Record<string, string>> = {}): Promise<EventStream> {
  const stream = await openEvents(url, headers);
  endsWithTest(() => stream.close());
  return stream;
}

const isUpToDate = ({ feeds }: Told) =>
  feeds.length > 0 && feeds.every(({ condition }) => condition === 'up-to-date');
const feed = ({ feeds }: Told, name: string): FeedView => feeds.find((one) => one.feed === name)!;
const anIpo = () => [...api.truth('ipos').values()][0] as unknown as { id: string; name: string };

/** Vendor's side: one more change of one record. */
function change(fields: object, id = anIpo().id): void {
  const { ipos } = api.stores;
  writeAgain(ipos, ipos.get(id) === undefined ? anIpo().id : id, { ...fields, id });
}

/** Two decimals are shown. */
const short = (value: unknown) =>
  typeof value === 'string' ? value.replace(/^(-?\d+\.\d\d)0+$/, '$1') : value;

interface Logged {
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly op: string;
  readonly changed_fields: readonly string[];
  readonly source: { readonly seq: number; readonly updated: number };
}

async function logged(topic: string): Promise<Map<number, Logged & { readonly key: string }>> {
  const records = await publishedIn(log, topic);
  return new Map(records.map(({ key, decoded }) => [decoded!.source.seq, { ...(decoded as Logged), key }]));
}

it('tells what just changed as the log has it, before and after, with the events of their own', async () => {
  const admin = await serve();
  publish(admin.tell);
  const { told, sees } = await look(admin.url);
  await sees(isUpToDate);
  expect(told.events.slice(0, 2)).toEqual(['publisher', 'feeds']);
  expect(told.publisher).toMatchObject({
    instance: 'box:1',
    version: '1.2.3',
    log: world.dataDir,
    logKind: 'embedded',
    api: api.url,
  });
  const { id } = anIpo();
  change({ deal_status: 'Rumored' }, id);
  await sees(({ changes }) => changes.some(({ op }) => op === 'u'));
  change({ deal_status: 'Withdrawn', notes: '<b>no</b> \u202e' }, id);
  change({}, 'one-more');
  await sees(({ changes }) => changes.some(({ key, op }) => key === 'one-more' && op === 'c'));

  const inLog = await logged('ipos');
  const shown = told.changes.filter((one) => one.feed === 'ipos' && one.op !== 'r');
  expect(shown.map(({ seq }) => seq)).toEqual([...inLog.keys()].filter((seq) => inLog.get(seq)!.op !== 'r'));
  for (const { seq, key, op, updated, fields } of shown) {
    const { before, after, changed_fields, source, ...rest } = inLog.get(seq)!;
    expect({ key, op, updated }).toEqual({ key: rest.key, op: rest.op, updated: source.updated });
    if (op === 'u') expect(fields.map(({ field }) => field).sort()).toEqual([...changed_fields].sort());
    for (const one of fields) {
      const [from, to] = [before?.[one.field] ?? null, after?.[one.field] ?? null];
      if (one.field === 'notes') expect(one.after).toBe('<b>no</b>  ');
      else if (typeof (to ?? from) === 'string')
        expect([one.before, one.after]).toEqual([from, to].map(short));
    }
  }
  const withdrawn = shown.find(({ fields }) => fields.some(({ after }) => after === 'Withdrawn'))!;
  expect(withdrawn.transitions).toEqual([
    { type: 'DealStatusChanged', mark: '⚠', tone: 'alarm', before: 'Rumored', after: 'Withdrawn' },
  ]);
  await sees((all) => feed(all, 'ipos').records === 31);
  const { changesPerMinute, requests, owner, isOwn } = feed(told, 'ipos');
  // The 30 records of the snapshot are none.
  expect(changesPerMinute.reduce((sum, count) => sum + count, 0)).toBe(shown.length);
  expect(requests.lastMinute).toBeGreaterThan(1);
  expect(requests.allowedPerMinute).toBe(60_000);
  expect([owner, isOwn]).toEqual(['box:1', true]);
});

it('goes on after a lost connection where it was, and after a restart of the server with the last ones of the log', async () => {
  const first = await serve();
  publish(first.tell);
  const before = await look(first.url);
  await before.sees(isUpToDate);
  change({ name: 'one' });
  await before.sees(({ changes }) => changes.some(({ title }) => title === 'one'));
  before.close();
  change({ name: 'two' });
  const headers = { 'last-event-id': before.told.lastEventId };
  const again = await look(first.url, headers);
  await again.sees(({ changes }) => changes.some(({ title }) => title === 'two'));
  expect(again.told.changes.map(({ title }) => title)).toEqual(['two']);
  expect(again.told.freshStarts).toBe(0);

  const { port } = new URL(first.url);
  await first.close();
  await again.ended;
  const second = await serve({ port: Number(port) });
  const later = await look(second.url, { 'last-event-id': again.told.lastEventId });
  await later.sees(({ freshStarts }) => freshStarts === 1);
  expect(later.told.changes.length).toBe(92);
  expect(later.told.changes.slice(-2).map(({ title }) => title)).toEqual(['one', 'two']);
  // In the order in which they were seen, of all feeds together.
  const seen = later.told.changes.map(({ observedAtMs }) => observedAtMs);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
});

it('shows what is wrong and what to do, and that it has passed', async () => {
  const admin = await serve();
  publish(admin.tell);
  const { told, sees } = await look(admin.url);
  await sees(isUpToDate);
  api.fault({ fault: { kind: 'status', status: 401 }, feed: 'ipos', probability: 1 } as never);
  await sees((all) => feed(all, 'ipos').condition === 'parked');
  const { problem, errors } = feed(told, 'ipos');
  expect(problem).toMatchObject({ code: 'SOURCE_UNAUTHORIZED', what: expect.stringContaining('401') });
  expect(problem!.remedy).toContain('HIGHWATER_API_TOKEN');
  // Newest first. On a slow machine a request may have timed out before.
  expect(errors[0]).toMatchObject({ code: 'SOURCE_UNAUTHORIZED', times: 1, lasts: true });
  expect(feed(told, 'insights').problem).toBeNull();
  expect(JSON.stringify(told)).not.toContain(api.token);

  api.fault({ fault: { kind: 'status', status: 503 }, feed: 'insights', probability: 1 } as never);
  await sees((all) => feed(all, 'insights').problem !== null);
  expect(feed(told, 'insights')).toMatchObject({
    condition: 'behind',
    problem: { code: 'SOURCE_UNAVAILABLE', what: expect.stringContaining('503') },
  });
  api.clearFaults();
  await sees((all) => feed(all, 'insights').problem === null);
  const passed = feed(told, 'insights').errors;
  expect(passed.map(({ code }) => code)).toContain('SOURCE_UNAVAILABLE');
  expect(passed.every(({ lasts }) => !lasts)).toBe(true);
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** `fetch` does not let anybody choose the host. */
function ask(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(new URL(path, url), { headers, method }, (answer) => {
      let text = '';
      const done = () => resolve({ status: answer.statusCode!, text, headers: answer.headers });
      answer.setEncoding('utf8').on('data', (more: string) => {
        text += more;
        if (path === '/events') {
          asking.destroy();
          done();
        }
      });
      answer.on('end', done);
    });
    asking.on('error', reject).end();
  });
}

const everything = ['/', '/page.js', '/page.css', '/events', '/metrics', '/livez', '/readyz', '/nothing'];
const page = ['/', '/page.js', '/page.css'];

it('answers nobody who asks for it by another name while it has no token', async () => {
  const { url } = await serve();
  const { port } = new URL(url);
  for (const path of everything) {
    for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`]) {
      const { status, text } = await ask(url, path, { host });
      expect([path, host, status]).toEqual([path, host, 403]);
      expect(JSON.parse(text)).toEqual({ error: expect.stringContaining(`http://127.0.0.1:${port}/`) });
    }
    const { status } = await ask(url, path, { host: `localhost:${port}` });
    expect([path, [200, 404, 503].includes(status)]).toEqual([path, true]);
  }
});

it('gives the page to everybody and what it shows to who has the token, by any name', async () => {
  const { url } = await serve({ token: 'a-token' });
  const host = 'dash.example';
  for (const path of everything) {
    const { status } = await ask(url, path, { host });
    const isOpen = page.includes(path) || path.endsWith('z');
    expect([path, status === 401]).toEqual([path, !isOpen]);
  }
  for (const authorization of ['', 'Bearer', 'Bearer a-tokenx', 'Basic a-token', 'a-token']) {
    const wrong = await ask(url, '/events', { host, authorization });
    expect([authorization, wrong.status, wrong.headers['www-authenticate']]).toEqual([
      authorization,
      401,
      'Bearer',
    ]);
  }
  const told = await ask(url, '/events', { host, authorization: 'Bearer a-token' });
  expect(told).toMatchObject({ status: 200, text: expect.stringMatching(/^event: publisher\n/) });
});

it('a hundred wrong tokens are two warnings with their number and address, and without the tokens', async () => {
  let logged = '';
  const stream = new Writable({
    write(line, _, done) {
      logged += line;
      done();
    },
  });
  const told = createLogger({ level: 'info', format: 'json', secrets: [], stream });
  const admin = await serve({ token: 'a-token' }, { logger: told });
  const lines = () => logged.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  for (let n = 0; n < 100; n++)
    expect((await ask(admin.url, '/metrics', { authorization: `Bearer guess-${n}` })).status).toBe(401);
  // The page asks without a token, to learn whether it needs one.
  expect((await ask(admin.url, '/events', {})).status).toBe(401);
  await until(() => lines().length === 1);
  await admin.close();
  await until(() => lines().length === 2);
  const warning = (requests: string) => ({
    level: 'warn',
    message: `Dashboard and metrics refused ${requests} with a wrong token.`,
    addresses: ['127.0.0.1'],
  });
  expect(lines()).toMatchObject([warning('1 request'), warning('99 requests')]);
  expect(logged).not.toContain('guess');
});

it.each(['/metrics', '/nothing', '/readyz'])(
  'a POST to %s with a huge body is refused as too large',
  async (path) => {
    const { url } = await serve();
    const headers = { 'content-type': 'application/json', 'content-length': '99999999999999' };
    const answer = await ask(url, path, headers, 'POST');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([413, { error: 'this request is refused' }]);
  },
);

it('lets the page load its own files alone, and browsers keep them by what they hold', async () => {
  const { url } = await serve();
  for (const path of everything) {
    const { headers } = await ask(url, path, {});
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';script-src 'self';/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(headers['cache-control']).toBe(page.includes(path) ? 'no-cache' : 'no-store');
  }
  const { headers, text } = await ask(url, '/page.js', {});
  expect(headers['content-type']).toMatch(/^(text|application)\/javascript; charset=utf-8$/);
  expect(text.length).toBeGreaterThan(1_000);
  const same = await ask(url, '/page.js', { 'if-none-match': String(headers.etag) });
  expect([same.status, same.text]).toEqual([304, '']);
});

it('ends at once though somebody looks, and reads nothing of the log before anybody does', async () => {
  const followed: (readonly string[])[] = [];
  const admin = await serve(
    {},
    {
      log: {
        ...log.commitLog,
        read(topics, options) {
          if (options.follow) followed.push(topics);
          return log.commitLog.read(topics, options);
        },
      },
    },
  );
  publish(admin.tell);
  await until(async () => (await fetch(`${admin.url}/readyz`)).status === 200);
  expect(followed).toEqual([]);
  const looking = await Promise.all([look(admin.url), look(admin.url)]);
  await Promise.all(looking.map(({ sees }) => sees(({ changes }) => changes.length > 0)));
  // Both look at what one reader has read.
  expect(followed).toEqual([expect.arrayContaining(['ipos', 'ipos.deal-status', 'insights'])]);
  const began = performance.now();
  await admin.close();
  await Promise.all(looking.map(({ ended }) => ended));
  // A server that waits for its viewers never ends.
  expect(performance.now() - began).toBeLessThan(20_000);
});
