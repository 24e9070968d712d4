import { writeFileSync } from 'node:fs';
import fastify, { type FastifyInstance } from 'fastify';
import { parseJson } from '../../src/json/parse-json';
import { commandsHere } from '../support/cli';
import type { Values } from '../support/published';

/** Answers as they leave the server, byte by byte: numbers, charsets and words that JSON.parse would change or refuse. */

const { file, done } = commandsHere();
let server: FastifyInstance;
let address: string;
/** JSON texts of the rows. */
let rows: string[];
const cursors = new Set<string>();
/** A list of one row is written as that row. */
let isLoneRowBare: boolean;
let charset: string | null;
let encode: (text: string) => Buffer;

const orNull = (name: string, type: unknown) => ({ name, type: ['null', type], default: null });
const itemSchema = {
  type: 'record',
  name: 'Item',
  namespace: 'marketdata.items',
  fields: [
    { name: 'id', type: 'string' },
    { name: 'updated', type: 'long' },
    orNull('parent', 'long'),
    orNull('ratio', 'double'),
    orNull('price', 'string'),
    orNull('name', 'string'),
    orNull('sub', { type: 'record', name: 'Sub', fields: [orNull('total', 'long')] }),
    { name: 'extra', type: { type: 'map', values: 'string' }, default: {} },
  ],
};

beforeEach(async () => {
  rows = [];
  isLoneRowBare = false;
  charset = null;
  encode = (text) => Buffer.from(text);
  server = fastify({ forceCloseConnections: true });
  server.get('/items', (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const isFirst = (query.offset ?? '0') === '0' && query.cursor === undefined;
    if (query.cursor !== undefined) cursors.add(query.cursor);
    const next = isFirst && query.offset === undefined ? ',"next":653247040368672769' : '';
    const shown = isFirst ? rows : [];
    const list = isLoneRowBare && shown.length === 1 ? shown[0] : `[${shown.join(',')}]`;
    const body = `{"items":${list}${next}}`;
    const type = charset === null ? 'application/json' : `application/json; charset=${charset}`;
    return reply.header('content-type', type).send(encode(body));
  });
  server.addHook('onSend', async (_, reply) => void reply.header('date', new Date().toUTCString()));
  address = await server.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(() => server.close());

/** @param readBy whether the rows become bytes at once, or objects first: the end of the pages is in the body then */
function declare(readBy: 'bytes' | 'objects', more: object = {}, schema: object = itemSchema): void {
  const paging =
    readBy === 'bytes' ? { style: 'offset' } : { style: 'cursor', parameter: 'cursor', from: 'next' };
  const feed = {
    path: '/items',
    responseKey: 'items',
    schema: 'item.avsc',
    parameters: {
      ...(readBy === 'bytes' ? { page: 'offset' } : {}),
      pageSize: 'limit',
      updatedSince: 'since',
    },
    paging,
    ...more,
  };
  writeFileSync(file('highwater.yaml'), JSON.stringify({ feeds: { items: feed } }));
  writeFileSync(file('item.avsc'), JSON.stringify(schema));
}

async function highwater(...args: string[]) {
  const env = {
    HIGHWATER_API_URL: address,
    HIGHWATER_API_TOKEN: 'some-token',
    HIGHWATER_FEEDS: 'items',
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_RETRY_TIME: '1s',
  };
  return done(args, env);
}

/** Everything in a topic, as `tail --json` prints it, with all digits. */
async function topic(name: string): Promise<Values[]> {
  const { out } = await highwater('tail', name, '--from-beginning', '--no-follow', '--json');
  const lines = out.split('\n').filter((line) => line !== '');
  return lines.map((line) => parseJson(line, (digits) => `#${digits}`) as Values);
}
const imagesOf = async () =>
  Object.fromEntries((await topic('items')).map(({ key, value }) => [key, value.after]));

it('an id may be a long of 64 bits, and its text is the key', async () => {
  const [, updated, ...others] = itemSchema.fields;
  const schema = { ...itemSchema, fields: [{ name: 'no', type: 'long' }, updated, ...others] };
  declare('objects', { idField: 'no' }, schema);
  const row = (no: string, name: string, at: number) => `{"no":${no},"updated":${at},"name":"${name}"}`;
  const now = Math.floor(Date.now() / 1000);
  rows = [
    row('653247040368672769', 'a', now - 9),
    row('653247040368672770', 'b', now - 8),
    row('"653247040368672771"', 'c', now - 7),
    row('18446744073709551615', 'd', now - 6),
  ];
  await highwater('run', '--once');
  rows[1] = row('653247040368672770', 'B', now);
  await highwater('run', '--once');
  expect(
    (await topic('items')).map(({ key, value }) => [value.op, key, value.after.no, value.after.name]),
  ).toEqual([
    ['r', '653247040368672769', '#653247040368672769', 'a'],
    ['r', '653247040368672770', '#653247040368672770', 'b'],
    ['r', '653247040368672771', '#653247040368672771', 'c'],
    ['u', '653247040368672770', '#653247040368672770', 'B'],
  ]);
  expect((await topic('items.dead-letters')).map(({ value }) => value.reason)).toEqual([
    `the row cannot be decoded: the id "18446744073709551615" is not a whole number of the schema's long`,
  ]);
});

describe.each(['bytes', 'objects'] as const)('rows that become %s', (readBy) => {
  const now = Math.floor(Date.now() / 1000);
  beforeEach(() => declare(readBy));

  it('may be one row without a list around it, as programs write that make JSON of XML', async () => {
    isLoneRowBare = true;
    const row = (id: string, name: string, updated: number) =>
      `{"id":"${id}","updated":${updated},"name":"${name}"}`;
    rows = [row('a', 'A', now - 50), row('b', 'B', now - 49)];
    await highwater('run', '--once');
    rows = [row('b', 'C', now)];
    await highwater('run', '--once');
    expect((await topic('items')).map(({ key, value }) => [value.op, key, value.after.name])).toEqual([
      ['r', 'a', 'A'],
      ['r', 'b', 'B'],
      ['u', 'b', 'C'],
    ]);
  });

  it('keep every digit of their numbers, and a change by one is a change', async () => {
    const row = (id: string, parent: string, updated: number) =>
      `{"id":${id},"updated":${updated},"parent":${parent},"ratio":1e400,"price":12345678.123456789012,` +
      `"unknown":[12345678901234567891,5.00],"name":"n"}`;
    rows = [
      row('9007199254740993', '653247040368672769', now - 50),
      row('9007199254740992', '-9223372036854775808', now - 49),
      `{"id":"plain","updated":${now - 48},"parent":7,"ratio":0.5,"price":"5","name":"n"}`,
    ];
    await highwater('run', '--once');
    expect(await imagesOf()).toMatchObject({
      '9007199254740993': {
        id: '9007199254740993',
        parent: '#653247040368672769',
        ratio: null,
        price: '12345678.123456789012',
        extra: { ratio: '1e400', unknown: '[12345678901234567891,5]' },
      },
      '9007199254740992': { parent: '#-9223372036854775808' },
      plain: { parent: 7, ratio: 0.5, price: '5', extra: {} },
    });

    // The same numbers, written in another way.
    rows[0] = row('9007199254740993', '653247040368672769.0', now)
      .replace('1e400', '10E399')
      .replace('5.00', '5.0');
    await highwater('run', '--once');
    expect(await topic('items')).toHaveLength(3);
    rows[0] = row('9007199254740993', '653247040368672770', now).replace('7891,', '7892,');
    await highwater('run', '--once');
    expect((await topic('items')).at(-1)).toMatchObject({
      key: '9007199254740993',
      value: {
        op: 'u',
        before: { parent: '#653247040368672769' },
        after: { parent: '#653247040368672770' },
        changed_fields: ['parent', 'extra.unknown'],
      },
    });
    const { said } = await highwater('tail', 'items', '--from-beginning', '--no-follow');
    expect(said).toContain('653247040368672770');
  });

  it('without a usable id are dead letters with all digits, each its own', async () => {
    rows = ['769', '770'].map((end) => `{"id":null,"updated":${now},"parent":653247040368672${end}}`);
    rows.push(`{"id":"a","updated":${now}}`);
    await highwater('run', '--once');
    const letters = await topic('items.dead-letters');
    expect(letters.map(({ value }) => value.raw).sort()).toEqual([
      `{"id":null,"parent":653247040368672769,"updated":${now}}`,
      `{"id":null,"parent":653247040368672770,"updated":${now}}`,
    ]);
  });

  it('with two members of one dotted path keep both', async () => {
    rows = [`{"id":"a","updated":${now},"sub.note":1,"sub":{"note":2,"total":"x"},"other.note":3}`];
    await highwater('run', '--once');
    expect((await imagesOf()).a.extra).toEqual({
      'sub\\.note': '1',
      'sub.note': '2',
      'sub.total': '"x"',
      'other.note': '3',
    });
  });

  it.each([
    ['"ISO-8859-1"', '"ISO-8859-1"', 'latin1'],
    ['no charset', null, 'utf8'],
  ] as const)('are read in the charset of the answer: %s', async (_, declared, encoding) => {
    charset = declared;
    encode = (text) => Buffer.from(text, encoding);
    rows = [`{"id":"Ä1","updated":${now},"name":"Größe"}`, `{"id":"b","updated":${now},"name":"x"}`];
    await highwater('run', '--once');
    expect(await imagesOf()).toMatchObject({ Ä1: { name: 'Größe' }, b: { name: 'x' } });
  });

  if (readBy === 'objects')
    it('lead to the next page by a number with all its digits', async () => {
      rows = [`{"id":"a","updated":${now}}`];
      cursors.clear();
      await highwater('run', '--once');
      expect([...cursors]).toEqual(['653247040368672769']);
    });

  it.each([
    ['no charset', null, 'bytes that are not UTF-8, at byte 50, after …'],
    ['another charset', 'Shift_JIS', 'bytes that are not Shift_JIS'],
    ['a charset that nobody knows', 'x-ours', 'text in the charset "x-ours", which is not known'],
  ])('in ISO-8859-1 under %s are refused by name, and not published', async (_, declared, says) => {
    charset = declared;
    encode = (text) => Buffer.from(text, 'latin1');
    rows = [`{"id":"a","updated":${now},"name":"Gr\xf6\xdfe\xff"}`];
    const { said } = await highwater('run', '--once');
    expect(said).toContain('SOURCE_CHARSET');
    expect(said).toContain(says.slice(0, 30));
    expect(await topic('items')).toStrictEqual([]);
  });

  it.each(['NaN', 'Infinity', '-Infinity', 'undefined', '01', '+1', '.5', '"\t"', '"\\x41"'])(
    'with the value %s are dead letters by their place, and the others are published',
    async (word) => {
      const bad = `{"id":"b" , "updated":${now},"sub":{"list":[1,{"ratio":${word}}]}}`;
      rows = [`{"id":"a","updated":${now}}`, bad, `{"id":"c","updated":${now}}`];
      const { code } = await highwater('run', '--once');
      expect(code).toBe(0);
      expect(Object.keys(await imagesOf())).toEqual(['a', 'c']);
      const [letter, ...others] = await topic('items.dead-letters');
      expect(others).toStrictEqual([]);
      expect(letter!.value).toMatchObject({
        raw: bad,
        reason: expect.stringMatching(
          /^row 2 of the page \(id "b"\) is not JSON: .* at sub\.list\[1\]\.ratio$/,
        ),
      });
      await highwater('run', '--once');
      expect(await topic('items.dead-letters')).toHaveLength(1);
      expect((await highwater('dead-letters', 'retry', 'items')).said).toContain('1 stay');
    },
  );

  it('whose ends are uncertain are refused with the text around the fault', async () => {
    rows = [`{"id":"a","updated":${now},"name":"long ${'x'.repeat(300)}"}`, `{"id":"b" "updated":${now}}`];
    const { said } = await highwater('run', '--once');
    expect(said).toContain('SOURCE_BODY_DAMAGED');
    expect(said).toMatch(/at byte \d+, after ….*xxx"\},\{"id":"b" comes "updated":/);
    expect(await topic('items')).toStrictEqual([]);
  });
});
