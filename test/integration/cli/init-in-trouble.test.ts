import { readdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { parse } from 'yaml';
import { commandsHere } from '../../support/cli';
import { endsWithTest } from '../../support/ends';
import { sendJson, startHttpServer } from '../../support/http-server';

/** `init` at an API that fails now and then: a cursor, at most 100 rows a page, oldest first, a filter. */

const { folder, file, done } = commandsHere();
const rows = Array.from({ length: 430 }, (_, i) => ({
  id: `r${i}`,
  name: `n${i}`,
  updated: 1_769_851_800 + i,
}));

type Trouble = (response: ServerResponse, query: URLSearchParams, index: number) => boolean;

async function initAt(trouble: Trouble) {
  const { url, requests, stop } = await startHttpServer((request, response, index) => {
    const query = new URL(request.url!, 'http://host').searchParams;
    if (trouble(response, query, index)) return;
    const found = rows.filter(({ updated }) => updated >= Number(query.get('updated_since')));
    const from = Number(query.get('cursor'));
    const next = from + Math.min(100, Number(query.get('limit') ?? 25));
    sendJson(response, {
      orders: found.slice(from, next),
      next_cursor: next < found.length ? `${next}` : null,
    });
  });
  endsWithTest(stop);
  return { ...(await done(['init', `${url}/v1/orders`])), requests };
}

const fails = (response: ServerResponse, status: number): true => {
  sendJson(response, { message: 'not now' }, status);
  return true;
};
const usual = ['limit', 'cursor', 'updated_since'];
const seen = new Set<string>();
beforeEach(() => seen.clear());

it.each<[string, Trouble]>([
  ['answers each third request with 503', (response, _, index) => index % 3 === 2 && fails(response, 503)],
  ['cuts each third connection', (response, _, index) => index % 3 === 2 && response.destroy() !== undefined],
  [
    'answers the first request with each parameter with 401',
    (response, query) => {
      const isNew = [...query.keys()].some((name) => !seen.has(name));
      for (const name of query.keys()) seen.add(name);
      return isNew && fails(response, 401);
    },
  ],
  [
    'answers 500 to parameters that it does not know',
    (response, query) => [...query.keys()].some((name) => !usual.includes(name)) && fails(response, 500),
  ],
])('the feed is found if the API %s', async (_, trouble) => {
  const { code, out, said } = await initAt(trouble);
  expect([code, said]).toEqual([0, expect.stringContaining('Publish it')]);
  expect(out).toMatch(/filter +updated_since; rows come oldest first/);
  const { orders } = parse(readFileSync(file('highwater.yaml'), 'utf8')).feeds;
  expect(orders.paging).toMatchObject({ style: 'cursor', parameter: 'cursor', from: 'next_cursor' });
  expect(orders.parameters).toMatchObject({ pageSize: 'limit', updatedSince: 'updated_since' });
});

it('ends with the error, and writes nothing, if the API answers no more', async () => {
  const { code, err } = await initAt((response, _, index) => index > 9 && fails(response, 503));
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/SOURCE_UNAVAILABLE.*answered 503.*Nothing was written/s),
  ]);
  expect(readdirSync(folder())).toEqual([]);
});
