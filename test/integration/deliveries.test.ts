import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import Database from 'libsql';
import { Webhook } from 'standardwebhooks';
import { openLog } from '../../src/consumer/open-log';
import { deliver as deliver_ } from '../../src/delivery/deliver';
import { openLocalLog } from '../../src/log/local/local-log';
import { startSimulator } from '../../src/simulator/simulator';
import { authority } from '../support/certificates';
import { type ChangeWriter, changeWriter } from '../support/change-writer';
import { commandsInFolder, jsonLines, outcome } from '../support/cli';
import { askDoctor } from '../support/doctor';
import { endsWithTest } from '../support/ends';
import { openEvents } from '../support/event-stream';
import { startHttpServer } from '../support/http-server';
import { ok, type Received, startReceiver } from '../support/receiver';
import { apiEnv } from '../support/simulated-api';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

/** `highwater deliver`, against real receivers. */

const { folder, file, here, done, start } = commandsInFolder();
const [SECRET, NEXT] = ['a', 'b'].map(
  (letter) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`,
);

async function publisher(): Promise<ChangeWriter> {
  const { commitLog, registry } = openLocalLog({ dataDir: folder() });
  endsWithTest(() => commitLog.close());
  const writer = await changeWriter({ commitLog, registry }, '');
  endsWithTest(() => writer.close());
  return writer;
}

/** @param receivers of the deliveries, by name, as YAML */
function deliveries(
  receivers: Readonly<Record<string, string>>,
  { topic = 'ipos.deal-status', dataDir = folder(), more = [] as readonly string[] } = {},
): void {
  const sections = Object.entries(receivers).flatMap(([name, to]) => [
    `  ${name}:`,
    ...[`topics: [${topic}]`, 'from: beginning', `to: ${to}`, ...more].map((line) => `    ${line}`),
  ]);
  const lines = [`dataDir: ${dataDir}`, ...(sections.length > 0 ? ['deliveries:', ...sections] : [])];
  writeFileSync(file('highwater.yaml'), `${lines.join('\n')}\n`);
}

/** @param to of the delivery `desk`, as YAML; @param more lines of its section */
const settings = (to: string, ...more: string[]) => deliveries({ desk: to }, { more });

/** Events of a new publisher, and a receiver of the delivery `desk`. */
async function desk(answer?: Parameters<typeof startReceiver>[0]) {
  const { write, incarnation } = await publisher();
  const receiver = await startReceiver(answer);
  settings(`{ webhook: "${receiver.url}" }`);
  return { write, incarnation, receiver };
}

/** What a command prints in the end. */
const printed = async (args: readonly string[], env?: Readonly<Record<string, string>>) =>
  (await done(args, env)).out;

const tail = ['tail', 'delivery-desk.dead-letters', '--json', '--no-follow'];
const lastLine = (text: string) => JSON.parse(text.trim().split('\n').at(-1)!);
const statusOfFeed = (env?: Readonly<Record<string, string>>) =>
  printed(['status', '--feeds', 'ipos', '--json'], env).then(lastLine);

function deliver(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  return here(['deliver', ...args], { HOOK_SECRET: SECRET!, ...env });
}

const verified = ({ body, headers }: Received, secret: string) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

it('a withdrawn IPO arrives as a signed CloudEvent, and other statuses do not', async () => {
  const { write, incarnation } = await publisher();
  const receiver = await startReceiver();
  settings(
    `{ webhook: "${receiver.url}/hooks/ipo", secretEnv: HOOK_SECRET }`,
    'where: { status: Withdrawn }',
  );
  await write(
    { id: 'a', status: 'Rumored' },
    { id: 'b', status: 'Priced' },
    { id: 'a', status: 'Withdrawn' },
  );
  deliver();
  await until(() => receiver.received.length === 1);
  const [received] = receiver.received;
  const id = `ipos:${incarnation()}:3:deal_status`;
  expect(received).toMatchObject({
    url: '/hooks/ipo',
    headers: { 'webhook-id': id, 'content-type': 'application/cloudevents+json; charset=utf-8' },
  });
  expect(verified(received!, SECRET!)).toMatchObject({
    specversion: '1.0',
    id,
    source: '/highwater/ipos',
    type: 'marketdata.ipos.deal-status-changed',
    subject: 'a',
    datacontenttype: 'application/json',
    topic: 'ipos.deal-status',
    partitionkey: 'a',
    data: { id: 'a', previous_status: 'Rumored', status: 'Withdrawn', ticker: 'A' },
  });
  expect(() => verified(received!, NEXT!)).toThrow('signature');
});

it('each secret of a file signs, and a file that is replaced counts at once', async () => {
  const { write } = await publisher();
  const receiver = await startReceiver();
  writeFileSync(file('hook-secret'), `${NEXT}\n${SECRET}\n`);
  settings(`{ webhook: "${receiver.url}", secretFile: hook-secret }`);
  await write({ id: 'a', status: 'Rumored' });
  const run = deliver();
  await until(() => receiver.received.length === 1);
  for (const secret of [SECRET, NEXT]) verified(receiver.received[0]!, secret!);
  writeFileSync(file('hook-secret'), `${NEXT}\n`);
  const signatures = () => String(receiver.received.at(-1)!.headers['webhook-signature']).split(' ');
  for (let id = 0; signatures().length > 1; id++) {
    const { length } = receiver.received;
    await write({ id: `x${id}`, status: 'Rumored' });
    await until(() => receiver.received.length > length);
  }
  verified(receiver.received.at(-1)!, NEXT!);
  expect(run.stderr()).not.toContain(SECRET);
});

it('Slack gets one line in the words of the feed, and its address is never shown', async () => {
  const { write } = await publisher();
  const receiver = await startReceiver((response, _, index) => {
    response.writeHead(index === 0 ? 403 : 200).end('Cannot POST /services/T1/B2/verysecret');
  });
  settings('{ slack: { urlEnv: DESK_SLACK } }', 'where: { status: [Withdrawn, Postponed] }');
  await write({ id: 'a', status: 'Rumored' }, { id: 'a', status: 'Withdrawn' });
  const run = deliver([], {
    DESK_SLACK: `${receiver.url}/services/T1/B2/verysecret`,
    HIGHWATER_LOG_LEVEL: 'debug',
  });
  await until(() => receiver.received.length === 2);
  expect(receiver.received.map(({ body }) => JSON.parse(body))).toEqual(
    Array(2).fill({ text: '*⚠ WITHDRAWN*  Issuer a (A): Rumored → Withdrawn' }),
  );
  expect(run.stderr()).toContain('Delivering ipos.deal-status as desk to http://127.0.0.1');
  expect(run.stderr()).not.toContain('verysecret');
});

it('an event is sent again with the same id until the receiver takes it, and the next one waits', async () => {
  const { write, receiver } = await desk((response, _, index) => {
    response
      .writeHead([500, 503, 302, 404, 200][index] ?? 200, { location: `${receiver.url}/elsewhere` })
      .end('no');
  });
  await write({ id: 'a', status: 'Rumored' }, { id: 'a', status: 'Priced' });
  deliver();
  await until(() => receiver.received.length === 6);
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids.slice(0, 5)).size).toBe(1);
  expect(ids[5]).not.toBe(ids[0]);
  expect(receiver.received.every(({ url }) => url === '/')).toBe(true);
});

it.each([
  ['for three seconds is asked no earlier', { status: 429, seconds: '3', refusals: 1 }, 2_900],
  ['for no time is left alone for a while', { status: 503, seconds: '0', refusals: 2 }, 1_900],
])('a receiver that asks to wait %s', async (_, { status, seconds, refusals }, ms) => {
  const asked: number[] = [];
  const { write } = await desk((response) => {
    asked.push(performance.now());
    response.writeHead(asked.length > refusals ? 200 : status, { 'retry-after': seconds }).end();
  });
  await write({ id: 'a', status: 'Rumored' });
  deliver();
  await until(() => asked.length === refusals + 1);
  expect(asked.at(-1)! - asked[0]!).toBeGreaterThan(ms);
});

it('an event that the receiver refuses becomes a dead letter after five tries, and the next one is delivered', async () => {
  const { write, receiver } = await desk((response, { body }) => {
    response.writeHead(body.includes('"Broken"') ? 422 : 200).end('status is not in the enum');
  });
  await write({ id: 'a', status: 'Broken' }, { id: 'a', status: 'Priced' });
  const run = deliver();
  await until(() => receiver.received.length === 6);
  const bodies = receiver.received.map(
    ({ body }) => (JSON.parse(body) as { data: { status: string } }).data.status,
  );
  expect(bodies).toEqual([...Array(5).fill('Broken'), 'Priced']);
  expect(run.stderr()).toContain('DELIVERY_REFUSED');
  expect(JSON.parse(await printed(tail))).toMatchObject({
    headers: {
      'error.message': `webhook ${receiver.url} answered 422: status is not in the enum`,
      'error.attempts': '5',
      'error.topic': 'ipos.deal-status',
    },
    value: { status: 'Broken' },
  });
  // Another delivery sends it again, once the receiver has been mended.
  receiver.answers(ok);
  deliveries(
    { again: `{ webhook: "${receiver.url}/again" }` },
    { topic: 'delivery-desk.dead-letters', more: ['where: { status: Broken }'] },
  );
  deliver(['again']);
  await until(() => receiver.received.at(-1)!.url === '/again');
  expect(receiver.received.at(-1)!.headers['webhook-id']).toBe(receiver.received[0]!.headers['webhook-id']);
}, 120_000);

it('a delivery goes on where it stopped', async () => {
  const { write, receiver } = await desk();
  await write({ id: 'a', status: 'Rumored' }, { id: 'b', status: 'Rumored' });
  const first = deliver();
  await until(() => receiver.received.length === 2);
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  await write({ id: 'c', status: 'Rumored' });
  deliver();
  await until(() => receiver.received.length === 3);
  expect(receiver.keys().sort()).toEqual(['a', 'b', 'c']);
  expect(receiver.received[0]!.headers['webhook-signature']).toBeUndefined();
});

it('an answer without end, and one that breaks off, count by their status', async () => {
  const { write, receiver } = await desk((response, _, index) => {
    response.writeHead(200);
    if (index === 0) response.write('x');
    else if (index === 1) response.write('x', () => response.destroy());
    else response.end();
  });
  await write({ id: 'a', status: '1' }, { id: 'a', status: '2' }, { id: 'a', status: '3' });
  deliver();
  await until(() => receiver.received.length === 3);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
});

it('a receiver that is not there, gives no answer or has a foreign certificate is named once within 10 s', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Rumored' });
  const signed = await (await authority('nobody')).sign({ name: 'hook' });
  const secure = await startHttpServer((_, response) => response.end(), signed);
  endsWithTest(secure.stop);
  const mute = await startHttpServer(() => undefined);
  endsWithTest(() => mute.stop());
  const gone = await startHttpServer(() => undefined);
  await gone.stop();
  const places = [
    [secure.url, 'a certificate that is not trusted'],
    [mute.url, 'no answer has come yet'],
    [gone.url, 'ECONNREFUSED'],
  ] as const;
  deliveries(Object.fromEntries(places.map(([url], i) => [`d${i}`, `{ webhook: "${url}" }`])));
  const run = deliver();
  for (const [i, [, why]] of places.entries())
    await run.sees(
      new RegExp(
        `The delivery d${i} of ipos.deal-status, partition \\d, to \\S+ has not succeeded for 10 s[^]*?${why}`,
      ),
      'stderr',
    );
  expect(run.stderr().match(/The delivery d2 of/g)).toHaveLength(1);
}, 120_000);

it('a dozen deliveries in one process, whose topic is not there yet, say so by name, and Node.js warns of no leak', async () => {
  await publisher();
  const names = Array.from({ length: 12 }, (_, i) => `d${i}`);
  deliveries(Object.fromEntries(names.map((name) => [name, '{ webhook: "http://127.0.0.1:1" }'])), {
    topic: 'offerings',
  });
  const run = start(['deliver']);
  for (const name of names)
    await run.sees(new RegExp(`offerings does not exist yet.*group=delivery-${name}\\b`), 'stderr');
  await run.stop();
  expect(run.stderr()).not.toContain('MaxListeners');
});

it('prints what would be sent, sends nothing and keeps no position', async () => {
  const { write } = await publisher();
  const receiver = await startReceiver();
  settings(
    `{ webhook: "${receiver.url}" }`,
    'where: { status: { not: Rumored }, previous_status: [~, Priced] }',
  );
  await write(
    { id: 'a', status: 'Rumored' },
    { id: 'a', status: 'Priced' },
    { id: 'a', status: 'Closed' },
    { id: 'b', status: 'Filed' },
  );
  const { code, out, err } = await outcome(deliver(['desk', '--dry-run']));
  expect(code).toBe(0);
  // biome-ignore lint/suspicious/noExplicitAny: as loose as a script's JSON
  const lines = jsonLines<any>(out);
  const moved = lines.map(({ body }) => `${body.data.previous_status} ${body.data.status}`).sort();
  expect(moved).toEqual(['Priced Closed', 'null Filed']);
  expect(lines[0]).toMatchObject({
    delivery: 'desk',
    to: receiver.url,
    headers: { 'webhook-id': expect.any(String) },
  });
  expect(err).toContain('desk would send 2 events.');
  expect(receiver.received).toEqual([]);
});

it('a publisher delivers what it publishes', async () => {
  const receiver = await startReceiver(ok);
  settings(`{ webhook: "${receiver.url}" }`);
  const api = await startSimulator({ records: { ipos: 20 } });
  endsWithTest(() => api.stop());
  const flags = ['--feeds', 'ipos', '--poll-interval', '100ms'];
  const run = here(['run', '--deliver', ...flags], apiEnv(api));
  await run.sees(/complete/, 'stderr');
  api.marketDay.step();
  await until(() => receiver.received.length > 0);
  expect(await run.stop()).toEqual({ code: 0, signal: null });
});

it.each([
  [['--once', '--deliver'], '--deliver goes on until a signal, and --once ends after one poll'],
  [['--deliver'], 'no deliveries are set'],
])('run %j is refused: %s', async (flags, message) => {
  const env = { HIGHWATER_API_URL: 'http://127.0.0.1:9', HIGHWATER_API_TOKEN: 'token' };
  const { code, err } = await done(['run', ...flags], env);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});

it('a delivery that does not exist, or whose variable is not set, is named', async () => {
  settings('{ slack: { urlEnv: DESK_SLACK } }');
  const refused = async (...names: string[]) => {
    const { code, err } = await outcome(deliver(names));
    expect(code).toBe(2);
    return err;
  };
  expect(await refused('dekc')).toContain('there is no delivery dekc; there are desk');
  expect(await refused()).toContain('deliveries.desk.to.slack: the variable DESK_SLACK is not set');
  // The secret itself in the place of its variable.
  settings(`{ webhook: "http://127.0.0.1:9", secretEnv: ${SECRET!.replace(/^whsec_|=+$/g, '')} }`);
  const mistaken = await refused();
  expect(mistaken).toContain('deliveries.desk.to.secret: the variable of that name is not set');
  expect(mistaken).not.toContain(SECRET!.slice(6, 26));
});

it('doctor connects to each receiver and sends nothing', async () => {
  await publisher();
  const receiver = await startReceiver();
  const gone = await startHttpServer(() => undefined);
  await gone.stop();
  const receivers = [
    `{ webhook: "${receiver.url}", secretEnv: HOOK_SECRET }`,
    `{ webhook: "${receiver.url}" }`,
    `{ webhook: "${gone.url}" }`,
    '{ slack: { urlEnv: DESK_SLACK } }',
  ];
  deliveries(Object.fromEntries(receivers.map((to, i) => [`d${i}`, to])));
  const { lines } = await askDoctor(here, [], { HOOK_SECRET: SECRET! });
  const found = lines.filter(({ check }) => check === 'delivery');
  expect(found.map(({ feed, state, found: what }) => [feed, state, what])).toEqual([
    ['d0', 'ok', `${receiver.url} can be reached; nothing was sent`],
    ['d1', 'warning', `${receiver.url} can be reached, but requests are not signed`],
    ['d2', 'failed', expect.stringContaining(`${gone.url} cannot be reached (connect ECONNREFUSED`)],
    ['d3', 'failed', 'deliveries.d3.to.slack: the variable DESK_SLACK is not set'],
  ]);
  expect(receiver.received).toEqual([]);
});

it('status, metrics and the page say how far each delivery is and what it waits for', async () => {
  const api = await startSimulator({ records: { ipos: 20 } });
  endsWithTest(() => api.stop());
  const receiver = await startReceiver((response) => response.writeHead(503).end());
  settings(`{ webhook: "${receiver.url}" }`);
  const env = { ...apiEnv(api), HIGHWATER_HTTP_PORT: '0' };
  const flags = ['--feeds', 'ipos', '--poll-interval', '100ms'];
  const run = here(['run', '--deliver', ...flags], env);
  const [, url] = await run.sees(/Dashboard at (http:\S+)\//, 'stderr');
  await run.sees(/snapshot complete/, 'stderr');
  const status = () => printed(['status', '--feeds', 'ipos'], env);
  const delivery = () => statusOfFeed(env);
  expect(await status()).toMatch(/^DELIVERY +LAG +DEAD LETTERS +WAITS FOR\ndesk +(0|never ran) +0 +-$/m);
  api.marketDay.step();
  await until(async () => (await delivery()).waits_for !== null);
  const why = `webhook ${receiver.url} answered 503`;
  expect(await delivery()).toEqual({
    delivery: 'desk',
    lag: expect.any(Number),
    waits_for: why,
    dead_letters: 0,
  });
  expect((await delivery()).lag).toBeGreaterThan(0);
  expect(await status()).toContain('answered 503');
  const metrics = async () => (await fetch(`${url}/metrics`)).text();
  await until(async () => (await metrics()).includes('highwater_delivery_waiting{delivery="desk"} 1'));
  expect(await metrics()).toMatch(/^highwater_delivery_lag_events\{delivery="desk"\} [1-9]/m);
  const stream = await openEvents(url!, {});
  endsWithTest(() => stream.close());
  await stream.sees(({ deliveries }) => deliveries[0]?.waits_for === why);
  receiver.answers(ok);
  await until(async () => (await delivery()).lag === 0);
  expect(await delivery()).toEqual({ delivery: 'desk', lag: 0, waits_for: null, dead_letters: 0 });
  await until(async () => (await metrics()).includes('highwater_delivery_waiting{delivery="desk"} 0'));
}, 120_000);

it('a delivery whose next events are gone says so, in status as well, and goes on after a reset', async () => {
  const { write, receiver } = await desk();
  await write({ id: 'a', status: 'Filed' });
  const first = deliver();
  await until(() => receiver.keys().includes('a'));
  await first.stop();
  await write({ id: 'a', status: 'Priced' });
  // As retention does in the course of time.
  const db = new Database(file('highwater.db'));
  db.exec("DELETE FROM records WHERE topic = 'ipos.deal-status'");
  db.close();
  await write({ id: 'a', status: 'Withdrawn' });

  const reset = 'highwater groups reset delivery-desk --to beginning';
  const second = deliver();
  await second.sees(/The delivery desk rests/, 'stderr');
  expect(second.stderr()).toContain(reset);
  const status = await statusOfFeed();
  expect(status.waits_for).toMatch(/^events of ipos.deal-status, partition \d, that were removed before/);
  expect(status.waits_for).toContain(reset);
  await printed(['groups', 'reset', 'delivery-desk', '--to', 'beginning', '--yes']);
  await until(() => receiver.received.length === 2);
  expect(String(receiver.received[1]!.body)).toContain('Withdrawn');
}, 120_000);

it('a delivery of a compacted topic has lost nothing if a later record took the place of an earlier one', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  const receiver = await startReceiver();
  deliveries({ desk: `{ webhook: "${receiver.url}" }` }, { topic: 'ipos.current' });
  const first = deliver();
  await until(() => receiver.received.length === 1);
  await first.stop();
  for (const status of ['Priced', 'Amended', 'Withdrawn']) await write({ id: 'a', status });
  expect(await statusOfFeed()).toMatchObject({ waits_for: null });
  deliver();
  await until(() => String(receiver.received.at(-1)!.body).includes('Withdrawn'));
}, 120_000);

describe('a receiver that fails for some events only', () => {
  const definition = (topics: readonly string[], retryForMs: number) => ({
    name: 'desk',
    topics,
    where: {},
    from: 'beginning' as const,
    retryForMs,
    to: { kind: 'webhook' as const, url: '', secret: null },
  });

  /** Delivers in this process, with any `retryFor`. */
  function delivering(url: string, retryForMs: number) {
    const logger = quietLogger();
    const stop = new AbortController();
    const target = { kind: 'webhook' as const, url: { value: url }, shown: url, secrets: { value: [] } };
    const open = () => openLog({ dataDir: folder(), logger });
    const deps = { open, logger, secrets: [], feedOf: () => null, signal: stop.signal };
    const ended = deliver_(definition(['ipos.deal-status'], retryForMs), target, deps);
    endsWithTest(async () => {
      stop.abort();
      await ended;
    });
    return logger;
  }

  const statusOf = ({ body }: Received) =>
    (JSON.parse(body) as { data: { id: string; status: string } }).data;
  const letters = async () => jsonLines<{ key: string }>(await printed(tail));

  it('gives up an event that always fails after retryFor, while other partitions get on', async () => {
    const { write } = await publisher();
    const receiver = await startReceiver((response, received) => {
      response.writeHead(statusOf(received).status === 'Poison' ? 500 : 200).end();
    });
    deliveries({});
    delivering(receiver.url, 3_000);
    await write({ id: 'a', status: 'Poison' });
    // Ids of all partitions, again and again.
    let round = 0;
    await until(async () => {
      await write(...['b', 'c', 'd', 'e', 'f'].map((id) => ({ id, status: `${round}` })));
      round += 1;
      return round % 20 === 0 && (await letters().catch(() => [])).length === 1;
    });
    expect((await letters()).map(({ key }) => key)).toEqual(['a']);
  }, 120_000);

  it('tries a later event anew, also if the one before was given up', async () => {
    const { write } = await publisher();
    let isDown = true;
    const receiver = await startReceiver((response, _, index) => {
      if (isDown) response.writeHead(503).end();
      else if (index === failsAt) response.destroy();
      else response.writeHead(200).end();
    });
    let failsAt = -1;
    deliveries({});
    delivering(receiver.url, 1_500);
    await write({ id: 'a', status: 'Filed' });
    await until(async () => (await letters().catch(() => [])).length === 1);
    isDown = false;
    failsAt = receiver.received.length;
    await write({ id: 'a', status: 'Priced' });
    await until(() => receiver.received.length === failsAt + 2);
    expect(statusOf(receiver.received.at(-1)!).status).toBe('Priced');
    expect(await letters()).toHaveLength(1);
  }, 120_000);
});

it('a damaged file of a group is named, and the feeds are shown all the same', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  settings('{ webhook: "http://127.0.0.1:9" }');
  mkdirSync(file('consumers'));
  const status = () => done(['status', '--feeds', 'analysts']);
  writeFileSync(
    file('consumers', 'other.db'),
    'not a database, but long enough to be read as one'.repeat(50),
  );
  const never = expect.stringMatching(/^analysts.*^desk +never ran/ms);
  expect(await status()).toMatchObject({ out: never, err: '' });
  writeFileSync(file('consumers', 'delivery-desk.db'), 'not a database either'.repeat(100));
  const { out, err } = await status();
  expect(out).toMatch(/^analysts/m);
  expect(err).toContain('LOG_CORRUPT');
});

it('a delivery reads on when another log has taken the place of its log', async () => {
  const dataDir = file('data');
  const receiver = await startReceiver();
  deliveries({ desk: `{ webhook: "${receiver.url}" }` }, { dataDir });
  const publish = async (id: string) => {
    const { commitLog, registry } = openLocalLog({ dataDir });
    const writer = await changeWriter({ commitLog, registry }, '');
    await writer.write({ id, status: 'Filed' });
    await writer.close();
    await commitLog.close();
  };
  await publish('a');
  const run = deliver();
  await until(() => receiver.keys().includes('a'));
  renameSync(dataDir, `${dataDir}.old`);
  await publish('b');
  await until(() => receiver.keys().includes('b'));
  expect(run.stderr()).toContain('The delivery desk rests');
});
