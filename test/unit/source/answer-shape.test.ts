import type { RowReader } from '../../../src/source/source';
import { sendJson } from '../../support/http-server';
import { failureOf, feed, never, page, server, source, stopAll } from './client-fixture';

afterEach(stopAll);

/** What a client makes of two answers in a row. */
async function second(answers: readonly object[], responseKey: string, readRows?: RowReader) {
  const left = [...answers];
  const api = await server((_, response) => sendJson(response, (left.length > 1 ? left.shift() : left[0])!));
  const client = source(api.url);
  const of = { ...feed, responseKey };
  const asked = { ...page, ...(readRows && { readRows }) };
  await client.fetchPage(of, asked, never);
  return client.fetchPage(of, asked, never);
}

const bundle = { resourceType: 'Bundle', type: 'searchset', total: 1, link: [{ relation: 'self' }] };
const users = { kind: 'admin#directory#users', etag: '"a1/x"', nextPageToken: 'abc' };

it.each([
  ['entry', { ...bundle, entry: [{ id: 'a' }] }, { ...bundle, total: 0, link: [] }],
  ['users', { ...users, users: [{ id: 'a' }] }, { kind: users.kind, etag: '"b2/y"' }],
  [
    'data.list.users',
    { ok: 'yes', data: { list: { page: 1, users: [] }, total: 4 } },
    { ok: 'yes', data: { total: 0 } },
  ],
  ['data.users', { code: 0, message: 'OK', data: { users: [] } }, { code: 0, message: 'OK', data: [] }],
  ['data.users', { code: 0, message: 'OK', data: { users: [] } }, { code: 0, message: 'OK' }],
  ['data.users', { time: 1, data: { users: [] } }, { time: 2 }],
  [
    '_embedded.orders',
    {
      _embedded: { orders: [{ id: 'a' }] },
      page: { size: 20, totalElements: 1, number: 0, numberOfElements: 1 },
    },
    { page: { size: 20, totalElements: 1, number: 1, numberOfElements: 0 } },
  ],
])(
  'an answer without %s is an empty list if all that it holds stood beside the list before',
  async (key, one, two) => {
    for (const readRows of [undefined, () => null])
      expect(await second([one, two], key, readRows)).toMatchObject({ rows: [], isVague: true });
  },
);

it.each<[string, object, object]>([
  ['a list of rows by the name of a count', { ...bundle, entry: [] }, { ...bundle, records: [{ id: 'b' }] }],
  ['one that was empty before', { ...bundle, entry: [], rows: [] }, { ...bundle, rows: [{ id: 'b' }] }],
  ['a text by such a name', { ...bundle, entry: [] }, { ...bundle, found: 'Server is busy' }],
  ['such a list in an object', { ...bundle, entry: [] }, { page: { items: [{ id: 'b' }] } }],
  ['another member', { ...bundle, entry: [] }, { ...bundle, items: [{ id: 'b' }] }],
  ['another word', { ...bundle, entry: [] }, { ...bundle, resourceType: 'OperationOutcome' }],
  ['another word beside its holder', { is: 'up', entry: { entry: [] } }, { is: 'down' }],
  ['another word in an object', { meta: { now: 'up' }, entry: [] }, { meta: { now: 'down' } }],
  ['another number', { ret: 0, entry: [] }, { ret: -1 }],
  ['another number as a text', { result: '00', entry: [] }, { result: '22' }],
  ['a text where there was none', { notice: null, entry: [] }, { notice: 'Server is busy' }],
  ['a flag', { isLimitReached: false, entry: [] }, { isLimitReached: true }],
  ['the id of an error', { errorId: 0, entry: [] }, { errorId: 17 }],
  ['a list that had rows beside it', { entry: [], old: [{ id: 'a' }] }, { old: [{ id: 'a' }] }],
  ['an object at its place', { ...bundle, entry: [] }, { ...bundle, entry: { id: 'b' } }],
])('it is not if there is %s', async (_, one, two) => {
  expect(await failureOf(second([one, two], 'entry'))).toMatchObject({ code: 'SOURCE_WRONG_SHAPE' });
});

it('it is not if no answer came before, nor if it reports an error', async () => {
  const other = { ...bundle, resourceType: 'X' };
  expect(await failureOf(second([other, bundle], 'entry'))).toMatchObject({ code: 'SOURCE_WRONG_SHAPE' });
  const coded = { code: 200, time: 1 };
  expect(
    await failureOf(
      second(
        [
          { ...coded, entry: [] },
          { ...coded, code: 503 },
        ],
        'entry',
      ),
    ),
  ).toMatchObject({
    code: 'SOURCE_REPORTED_ERROR',
  });
});

it('a reader of rows that needs no parser lets the first answer be parsed', async () => {
  const bodies: number[] = [];
  const readRows: RowReader = (body) => {
    bodies.push(body.length);
    return null;
  };
  const answers = [
    { ...bundle, entry: [{ id: 'a' }] },
    { ...bundle, entry: [{ id: 'bcd' }] },
  ];
  await second(answers, 'entry', readRows);
  expect(bodies).toEqual([JSON.stringify(answers[1]).length]);
});
