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
    { ok: 'yes', data: { list: { page: 1, users: [] }, sum: 4 } },
    { ok: 'yes', data: { sum: 0 } },
  ],
  ['data.users', { code: 0, message: 'OK', data: { users: [] } }, { code: 0, message: 'OK', data: [] }],
  ['data.users', { code: 0, message: 'OK', data: { users: [] } }, { code: 0, message: 'OK' }],
  ['data.users', { time: 1, data: { users: [] } }, { time: 2 }],
])(
  'an answer without %s is an empty list if all that it holds stood beside the list before',
  async (key, one, two) => {
    for (const readRows of [undefined, () => null])
      expect(await second([one, two], key, readRows)).toMatchObject({ rows: [], isVague: true });
  },
);

it.each([
  ['another member', { ...bundle, items: [{ id: 'b' }] }],
  ['another word', { ...bundle, resourceType: 'OperationOutcome' }],
  ['no word', { ...bundle, type: 7 }],
  ['an object at its place', { ...bundle, entry: { id: 'b' } }],
])('it is not if there is %s', async (_, two) => {
  const found = second([{ ...bundle, entry: [{ id: 'a' }] }, two], 'entry');
  expect(await failureOf(found)).toMatchObject({ code: 'SOURCE_WRONG_SHAPE' });
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
