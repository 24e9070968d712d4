import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fastify, { type FastifyInstance } from 'fastify';
import { commandsInFolder, jsonLines, outcome } from '../support/cli';
import type { Values } from '../support/published';
import { expectSample } from '../support/samples';

/** The feed of docs/adding-a-feed.md, unchanged, used only by the command line. */
const docs = path.join(__dirname, '..', '..', 'docs');
const page = readFileSync(path.join(docs, 'adding-a-feed.md'), 'utf8');
const block = (language: string) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)![1]!;

type Row = Record<string, unknown> & { readonly id: string; ex_date: string; updated: number };
type Query = Readonly<Record<string, string>>;

const settings = (feeds: string) => ({
  HIGHWATER_API_URL: address,
  HIGHWATER_API_TOKEN: 'some-token',
  HIGHWATER_FEEDS: feeds,
  HIGHWATER_POLL_INTERVAL: '50ms',
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
});
const { file, start } = commandsInFolder(() => settings('dividends'));
const now = () => Math.floor(Date.now() / 1000);
let server: FastifyInstance;
let address: string;
let rows: Row[];
let queries: Query[];

/** The page's answer of the endpoint, many times. */
const [sample] = JSON.parse(block('json')).dividends as [Row];
const row = (n: number, change: Partial<Row> = {}): Row => ({
  ...sample,
  id: `d${n}`,
  ex_date: `2026-${String(1 + (n % 12)).padStart(2, '0')}-10`,
  updated: now() - 100_000 + n,
  ...change,
});

beforeEach(async () => {
  for (const name of readdirSync(path.join(docs, 'adding-a-feed')))
    copyFileSync(path.join(docs, 'adding-a-feed', name), file(name));
  writeFileSync(file('highwater.yaml'), block('yaml'));

  rows = Array.from({ length: 50 }, (_, n) => row(n));
  queries = [];
  server = fastify({ forceCloseConnections: true });
  server.get('/api/v2.1/calendar/dividends', (request) => {
    const query = request.query as Query;
    queries.push(query);
    const from = Number(query.page) * Number(query.pagesize);
    const dividends = rows
      .filter(({ updated }) => updated >= Number(query['parameters[updated]']))
      .filter(({ ex_date }) => ex_date >= query['parameters[date_from]']!)
      .filter(({ ex_date }) => ex_date <= query['parameters[date_to]']!)
      .sort((a, b) => a.updated - b.updated);
    return { dividends: dividends.slice(from, from + Number(query.pagesize)) };
  });
  server.addHook('onSend', async (_, reply) => void reply.header('date', new Date().toUTCString()));
  address = await server.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(() => server.close());

async function highwater(...args: string[]): Promise<string> {
  const { code, out, said } = await outcome(start(args));
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}\n${said}`);
  return out;
}

async function topic(name: string): Promise<Values[]> {
  return jsonLines<Values>(await highwater('tail', name, '--from-beginning', '--no-follow', '--json'));
}
/** Events after the first snapshot. */
const changes = async () => {
  const all = await topic('dividends');
  return all.sort((a, b) => a.value.source.seq - b.value.source.seq).slice(50);
};

it('runs from its section and its schemas alone: snapshot, changes, states, reconcile, backfill', async () => {
  await highwater('run', '--once');
  const reads = await topic('dividends');
  expect(reads).toHaveLength(50);
  const { id: _, updated: __, ...content } = sample;
  expect(reads.find(({ key }) => key === 'd7')).toMatchObject({
    type: 'marketdata.dividends.Envelope',
    headers: { ce_type: 'marketdata.dividends.read', symbol: 'QNTV' },
    value: {
      op: 'r',
      before: null,
      after: {
        id: 'd7',
        amount: content.amount,
        state: 'Declared',
        share: content.share,
        payments_a_year: 4,
        _12m_yield: 2.37,
        extra: {},
      },
    },
  });
  expect(await topic('dividends.states')).toStrictEqual([]);

  // A state moves; a value is written differently; one is unknown, one of another type, one new to the schema; one is new.
  Object.assign(rows[3]!, { state: 'Cancelled', updated: now() });
  Object.assign(rows[4]!, { amount: '0.41', updated: now() });
  Object.assign(rows[5]!, { payments_a_year: 0, '12m_yield': 'n/a', franked: true, updated: now() });
  rows.push(row(50, { state: 'Proposed', updated: now() }));
  await highwater('run', '--once');
  const news = (await changes()).map(({ key, value }) => [value.op, key, value.changed_fields.join()]);
  expect(news.sort()).toEqual([
    ['c', 'd50', ''],
    ['u', 'd3', 'state'],
    ['u', 'd5', 'payments_a_year,_12m_yield,extra.12m_yield,extra.franked'],
  ]);
  const odd = (await topic('dividends')).find(({ key, value }) => key === 'd5' && value.op === 'u')!;
  expect(odd.value.after).toMatchObject({
    payments_a_year: null,
    _12m_yield: null,
    extra: { '12m_yield': '"n/a"', franked: 'true' },
  });

  const states = await topic('dividends.states');
  expect(states.map(({ key, value }) => [key, value.previous_state, value.state]).sort()).toEqual([
    ['d3', 'Declared', 'Cancelled'],
    ['d50', null, 'Proposed'],
  ]);
  const moved = states.find(({ key }) => key === 'd3')!;
  expect(moved).toMatchObject({
    type: 'marketdata.dividends.DividendStateChanged',
    headers: { ce_type: 'marketdata.dividends.state-changed' },
    value: { id: 'd3', symbol: 'QNTV', amount: sample.amount, origin: 'poll' },
  });
  expect(moved.value.event_id).toBe(`${moved.value.caused_by}:state`);
  const tail = await highwater('tail', 'dividends.states', '--from-beginning', '--no-follow');
  expectSample('cancelled-dividend', tail.split('\n').find((line) => line.includes('CANCELLED'))!);

  // Gone, and changed without a date.
  rows = rows.filter(({ id }) => id !== 'd9');
  Object.assign(rows[11]!, { currency: 'CAD' });
  await highwater('reconcile', 'dividends');
  const found = (await changes()).slice(3);
  expect(found.map(({ key, value }) => [value.op, key, value.source.origin])).toEqual([
    ['u', rows[11]!.id, 'reconcile'],
    ['d', 'd9', 'reconcile'],
  ]);
  const images = new Map((await topic('dividends.current')).map(({ key, value }) => [key, value]));
  expect([...images].flatMap(([key, value]) => (value === null ? [] : [key])).sort()).toEqual(
    rows.map(({ id }) => id).sort(),
  );

  // Records that became visible long behind the mark, within the dates and outside.
  rows.push(row(60, { ex_date: '2015-05-05' }), row(61, { ex_date: '2021-01-01' }));
  queries = [];
  await highwater('backfill', 'dividends', '--from', '2015-01-01', '--to', '2019-12-31');
  const filled = (await changes()).slice(5).filter(({ value }) => value.source.origin === 'backfill');
  expect(filled.map(({ key, value }) => [value.op, key])).toEqual([['r', 'd60']]);
  // The publisher may poll before the backfill begins.
  const asked = queries
    .map((query) => query['parameters[date_from]']!)
    .filter((date) => date !== '1970-01-01');
  expect([asked[0], new Set(asked).size > 3]).toEqual(['2015-01-01', true]);
});

it('publishes under the subjects that the page names, with schemas that can go on', async () => {
  const named = [...page.matchAll(/`(dividends\S*-value)`/g)].map(([, subject]) => subject!);
  expect(named).toHaveLength(3);
  for (const subject of named) {
    const schema = JSON.parse(await highwater('schemas', 'print', '--subject', subject));
    const doc = new RegExp(`\`${subject}\` \\|.*\`${schema.namespace}\\.${schema.name}\``);
    expect(page).toMatch(doc);
  }
});

it('two dozen feeds in one process make Node.js warn of no leak', async () => {
  const [, section] = /^ {2}dividends:\n([\s\S]*?)^ {4}transitions:/m.exec(block('yaml'))!;
  const names = Array.from({ length: 24 }, (_, n) => `dividends${n}`);
  const feeds = names.map((name) => `  ${name}:\n${section}`);
  writeFileSync(file('highwater.yaml'), `feeds:\n${feeds.join('')}`);
  const { code, said } = await outcome(start(['run', '--once'], settings(names.join())));
  expect(code).toBe(0);
  expect(said).not.toContain('MaxListenersExceededWarning');
});
