import { avroRecord } from '../support/avro';
import { commandsHere, jsonLines } from '../support/cli';
import { askDoctor } from '../support/doctor';
import { type HttpServer, startHttpServer } from '../support/http-server';
import { filesUnder, findSecrets, markedSecret } from '../support/marked-secrets';
import { declareFeed } from '../support/own-feed';

const { folder, here, done } = commandsHere();
const personal = markedSecret('what is omitted', '');
const { value: mark } = personal;
const now = Math.floor(Date.now() / 1000);

const orNull = (name: string, type: unknown) => ({ name, type: ['null', type] });
const schemaFields = {
  customer: [
    'null',
    { type: 'record', name: 'Customer', fields: [orNull('email', 'string'), orNull('city', 'string')] },
  ],
  phone: ['null', 'string'],
  total: ['null', 'long'],
};
const line = { type: 'record', name: 'Line', fields: [orNull('note', 'string'), orNull('qty', 'long')] };
const withLines = { ...schemaFields, lines: ['null', { type: 'array', items: line }] };

/** What the API answers: bytes as they leave the server. */
let answer: { body: string; status?: number };
let server: HttpServer;
beforeEach(async () => {
  server = await startHttpServer((_, response) => {
    response.writeHead(answer.status ?? 200, {
      'content-type': 'application/json',
      date: new Date().toUTCString(),
    });
    response.end(answer.body);
  });
});
afterEach(() => server.stop());

const omit = ['customer.email', 'lines.note', 'phone', 'contact', 'profile.name'];

/** @param readBy whether plain rows become bytes at once, or objects first, since the schema has a list of records */
function declare(own: object = { omit }, readBy: 'bytes' | 'objects' = 'objects'): void {
  const fields = readBy === 'bytes' ? schemaFields : withLines;
  declareFeed(folder(), 'orders', avroRecord('Order', fields), {
    apiUrl: server.url,
    parameters: { updatedSince: null, page: null, pageSize: null },
    paging: { style: 'none' },
    ...own,
  });
}

const env = { HIGHWATER_REQUESTS_PER_SECOND: '1000' };
let printed = '';
async function highwater(...args: string[]) {
  const ended = await done(args, env);
  printed += ended.said;
  return ended;
}
const found = () =>
  findSecrets([personal], [{ name: 'what was printed', content: printed }, ...filesUnder(folder())]);
beforeEach(() => {
  printed = '';
});

const records = async (topic: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: decoded records, as loose as a consumer's JSON
  jsonLines<any>((await highwater('tail', topic, '--from-beginning', '--no-follow', '--json')).out);

/** JSON text of a row with the marked value in all its places. */
const row = (id: number, more: object = {}) =>
  JSON.stringify({
    id: `o${id}`,
    updated: now - 100 + id,
    customer: { email: mark, city: 'Ulm' },
    lines: [{ note: mark, qty: 1 }],
    phone: mark,
    contact: { any: [mark] },
    profile: [{ name: mark, age: 7 }],
    total: id,
    ...more,
  });
const plain = (id: number) => row(id, { lines: undefined, contact: undefined, profile: undefined });

it.each(['bytes', 'objects'] as const)(
  'what is omitted is nowhere, whatever the rows are, read as %s',
  async (readBy) => {
    declare({ omit }, readBy);
    const bodies = [
      [row(1), row(2, { customer: 'none', lines: 'none' }), plain(3)],
      // Rows that become dead letters: without a time, too deep, not JSON, no object, and one with too many values.
      [
        row(4, { updated: undefined }),
        row(5, { deep: 0 }).replace('"deep":0', `"deep":${'['.repeat(600)}${']'.repeat(600)}`),
      ],
      [row(6).replace(`"phone":"${mark}"`, `"phone":${mark}`), row(7, { many: Array(1_000_001).fill(0) })],
      [`"${mark}"`, `[{"phone":"${mark}"}]`, row(8, { total: mark })],
    ];
    for (const rows of bodies.slice(0, 3)) {
      answer = { body: `{"orders":[${rows.join(',')}]}` };
      await highwater('run', '--once', '--log-level', 'debug');
    }
    answer = { body: `{"orders":[${bodies[3]!.slice(0, 2).join(',')},${row(8)}]}` };
    expect((await highwater('run', '--once', '--log-level', 'debug')).code).toBe(0);
    const [first] = await records('orders');
    expect(first.value.after).toMatchObject({
      customer: { email: null, city: 'Ulm' },
      ...(readBy === 'objects' && { lines: [{ note: null, qty: 1 }] }),
      phone: null,
      extra: { profile: '[{"age":7}]', ...(readBy === 'bytes' && { lines: '[{"qty":1}]' }) },
    });
    const letters = (await highwater('dead-letters', 'list', 'orders', '--json')).out.trim().split('\n');
    const shown = letters.map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(shown.map(({ reason, raw }) => [reason, raw === '' ? '' : 'text'])).toEqual([
      [expect.stringMatching(/^the record has no usable updated/), 'text'],
      [expect.stringMatching(/levels deep/), 'text'],
      [
        'row 1 of the page (id "o6") is not JSON: a value that is not shown at phone; its text is not kept, because the feed has omit',
        '',
      ],
      ['the row holds more than 1000000 values; its text is not kept, because the feed has omit', ''],
      ['the row is not an object; its text is not kept, because the feed has omit', ''],
      ['the row is not an object; its text is not kept, because the feed has omit', ''],
    ]);
    await highwater('dead-letters', 'list', 'orders');
    await highwater('doctor');
    expect(found()).toStrictEqual([]);
  },
);

it('a damaged answer is not quoted', async () => {
  answer = { body: `{"orders":[{"id":"a","phone":"${mark}"!}]}` };
  declare();
  const once = () => highwater('run', '--once', '--log-level', 'debug', '--retry-time', '2s');
  expect((await once()).code).toBe(1);
  expect(printed).toMatch(/damaged \(55 bytes\), application\/json: at byte 51\./);
  expect(found()).toStrictEqual([]);
  declare({});
  await once();
  expect(found()).not.toStrictEqual([]);
});

it('adding omit shows each record again without the values, and the latest images lose them', async () => {
  answer = { body: `{"orders":[${row(1)},${row(2)}]}` };
  declare({});
  await highwater('run', '--once');
  declare();
  answer = { body: `{"orders":[${row(1)},${row(2, { total: 9, updated: now })}]}` };
  await highwater('run', '--once');
  const events = (await records('orders')).map(({ value }) => value);
  expect(events.map(({ op, changed_fields }) => [op, ...changed_fields])).toEqual([
    ['r'],
    ['r'],
    ['r'],
    ['u', 'total'],
  ]);
  expect(
    findSecrets([personal], [{ name: 'new events', content: JSON.stringify(events.slice(2)) }]),
  ).toStrictEqual([]);
  const current = new Map((await records('orders.current')).map(({ key, value }) => [key, value]));
  expect(findSecrets([personal], [{ name: 'images', content: JSON.stringify([...current]) }])).toStrictEqual(
    [],
  );
});

it('doctor names the paths of omit and ignore that no row has', async () => {
  answer = { body: `{"orders":[${row(1)},${plain(2)}]}` };
  declare({ omit: [...omit, 'customer.emial'], ignore: ['total', 'lines.qty', 'totals'] });
  const { of, said } = await askDoctor(here, [], env);
  expect(of('feed', 'orders')).toMatchObject({
    state: 'warning',
    found: expect.stringMatching(
      /^omit: customer\.emial in none of 2 records; ignore: totals in none of 2 records; /,
    ),
    do: expect.stringContaining('Check their spelling in highwater.yaml'),
  });
  expect(findSecrets([personal], [{ name: 'doctor', content: said }])).toStrictEqual([]);
});

it('what is ignored publishes nothing by itself, also to a reconcile, and comes with the next change', async () => {
  declare({ ignore: ['total', 'lines.qty'] });
  const rows = (total: number, more: object = {}) => {
    answer = { body: `{"orders":[${row(1, { total, lines: [{ note: 'n', qty: total }], ...more })}]}` };
  };
  rows(1);
  await highwater('run', '--once');
  rows(2, { updated: now });
  await highwater('run', '--once');
  rows(3);
  await highwater('reconcile', 'orders');
  rows(4, { updated: now + 1, phone: 'new' });
  await highwater('run', '--once');
  const events = (await records('orders')).map(({ value }) => value);
  expect(
    events.map(({ op, changed_fields, before, after }) => [
      op,
      changed_fields,
      before?.total ?? null,
      after.total,
    ]),
  ).toEqual([
    ['r', [], null, 1],
    ['u', ['phone'], 1, 4],
  ]);
});

it('a record that went back is believed when two answers agree in what is not ignored', async () => {
  declare({ ignore: ['total'] });
  answer = { body: `{"orders":[${row(1)}]}` };
  await highwater('run', '--once');
  let views = 10;
  Object.defineProperty(answer, 'body', {
    get: () => `{"orders":[${row(1, { updated: now - 500, phone: 'back', total: ++views })}]}`,
  });
  await highwater('run', '--once');
  const { value } = (await records('orders')).at(-1);
  expect([value.op, value.changed_fields, value.after.phone]).toEqual(['u', ['phone'], 'back']);
});
