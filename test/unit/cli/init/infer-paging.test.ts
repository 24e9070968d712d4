import { type Answer, type AskEndpoint, filterEdge, findPaging } from '../../../../src/cli/init/infer-paging';
import type { JsonObject } from '../../../../src/cli/init/row-members';
import { parseJson } from '../../../../src/json/parse-json';

const fields = { idField: 'id', updatedField: 'updated', updatedFormat: 'seconds', responseKey: '' } as const;
const begin = 1_769_851_800;
const rows: readonly JsonObject[] = Array.from({ length: 12 }, (_, i) => ({
  id: `r${i}`,
  updated: begin + i * 10,
}));
const answer = (some: readonly JsonObject[]): Answer => ({
  rows: some,
  body: some,
  linkHeader: undefined,
});

describe('pages', () => {
  const fromOne = (number: number) => rows.slice((number - 1) * 4, number * 4);

  it.each<[string, (number: number) => readonly JsonObject[], object]>([
    ['1, and page 0 is refused or empty', (number) => (number < 1 ? [] : fromOne(number)), { first: 1 }],
    ['1, and page 0 is page 1', (number) => fromOne(Math.max(1, number)), { first: 1 }],
    ['0', (number) => fromOne(number + 1), {}],
  ])('that begin at %s', async (_, pageAt, expected) => {
    const first = answer(rows.slice(0, 4));
    const ask: AskEndpoint = async ({ page }) => (page === undefined ? first : answer(pageAt(Number(page))));
    expect(await findPaging({}, fields, {}, ask)).toEqual({
      paging: { style: 'page', ...expected },
      parameter: 'page',
    });
  });
});

it('compares ids of more than 53 bits by their digits, and pages by them', async () => {
  const page = (from: number) =>
    answer(
      parseJson(`[${[0, 1, 2].map((i) => `{"id":90071992547409920${from + i}}`).join()}]`) as JsonObject[],
    );
  const ask: AskEndpoint = async ({ last_id: last }) => page(last === '900719925474099202' ? 3 : 0);
  expect(await findPaging({}, fields, { cursor: 'last_id' }, ask)).toEqual({
    paging: { style: 'cursor', parameter: 'last_id', lastRow: 'id' },
    parameter: null,
  });
});

describe('a filter', () => {
  const edge = (least: (since: number) => number, order: 'oldest' | 'newest' = 'oldest', length = 6) => {
    const all = order === 'oldest' ? rows : rows.toReversed();
    const seen = (some: readonly JsonObject[]) => ({
      ids: some.slice(0, length).map(({ id }) => id),
      times: some.slice(0, length).map(({ updated }) => updated as number),
    });
    return filterEdge(seen(all), async (since) =>
      seen(all.filter(({ updated }) => (updated as number) >= least(since))),
    );
  };

  it.each(['oldest', 'newest'] as const)(
    'shows the time that is asked for, or does not: rows come %s first',
    async (order) => {
      expect(await edge((since) => since, order)).toBe('shown');
      expect(await edge((since) => since + 1, order)).toBe('later');
      const minute = await edge((since) => Math.ceil((since + 1) / 60) * 60, order);
      expect(minute).toBe(order === 'oldest' ? 'later' : 'unknown');
    },
  );

  it('that shows nothing proves nothing', async () => {
    expect(await edge(() => Infinity)).toBe('unknown');
    expect(await edge((since) => since, 'oldest', 1)).toBe('unknown');
  });

  it('that goes by something else hides rows for good', async () => {
    expect(await edge(() => begin + 50, 'oldest')).toBe('hidden');
  });
});
