import type { FeedDefinition, FilterFormat } from '../../../src/feeds/definition';
import { pageBody, pageUrl } from '../../../src/source/page-query';
import type { PageRequest } from '../../../src/source/source';
import { feed, page, token } from './client-fixture';

const access = { baseUrl: 'https://api.example', token, auth: { scheme: 'none' } } as const;

function queryOf(own: Partial<FeedDefinition>, request: Partial<PageRequest> = {}) {
  const parameters = { page: 'p', pageSize: 'n', updatedSince: 'from', updatedUntil: 'to' };
  const url = pageUrl({ ...feed, query: {}, parameters, ...own }, { ...page, ...request }, access);
  return Object.fromEntries(new URL(url).searchParams);
}

/** 2026-01-31T09:30:00.250Z and a day later. */
const range = { updatedSince: 1_769_851_800.25, updatedUntil: 1_769_938_200.25 };

it.each<[FilterFormat, string, string]>([
  ['seconds', '1769851800', '1769938201'],
  ['milliseconds', '1769851800250', '1769938200250'],
  ['iso8601', '2026-01-31T09:30:00Z', '2026-02-01T09:30:01Z'],
  ['iso8601-ms', '2026-01-31T09:30:00.000Z', '2026-02-01T09:30:01.000Z'],
  ['iso8601-offset', '2026-01-31T09:30:00+00:00', '2026-02-01T09:30:01+00:00'],
  ['date', '2026-01-31', '2026-02-01'],
  ['datetime', '2026-01-31 09:30:00', '2026-02-01 09:30:01'],
])('a filter takes a range as %s, and no less than it', (updatedSinceFormat, from, to) => {
  expect(queryOf({ updatedSinceFormat }, range)).toMatchObject({ from, to });
});

it('milliseconds that no whole number of seconds has are not rounded up', () => {
  const at = (updatedSince: number) => queryOf({ updatedSinceFormat: 'milliseconds' }, { updatedSince }).from;
  expect(at(1_700_000_000.123)).toBe('1700000000123');
  expect(at(1_700_000_000.1239)).toBe('1700000000123');
});

it('a filter writes times as the rows do, unless it is said otherwise', () => {
  expect(queryOf({ updatedFormat: 'iso8601' }, range)).toMatchObject({ from: '2026-01-31T09:30:00Z' });
});

it('the end of the range is sent where there is one', () => {
  expect(queryOf({})).not.toHaveProperty('to');
  const parameters = { page: null, pageSize: null, updatedSince: 'from' };
  expect(queryOf({ parameters }, range)).toEqual({ from: '1769851800' });
});

it('nothing before the beginning is asked for', () => {
  expect(queryOf({ beginAt: 1_700_000_000 }, { updatedSince: 0 }).from).toBe('1700000000');
  expect(queryOf({ beginAt: 1_700_000_000 }, { updatedSince: 1_800_000_000 }).from).toBe('1800000000');
});

it('a beginning before 1970 is only asked for with everything', () => {
  const year1 = { beginAt: -62_135_596_800, updatedFormat: 'iso8601' } as const;
  expect(queryOf(year1, { updatedSince: 0 }).from).toBe('0001-01-01T00:00:00Z');
  expect(queryOf({ ...year1, windowSeconds: 86_400 }, { updatedSince: 0 }).from).toBe('1970-01-01T00:00:00Z');
  expect(queryOf(year1, { updatedSince: 1_800_000_000 }).from).toBe('2027-01-15T08:00:00Z');
});

it('the first cursor asks for the first page, and then the cursor of the page before', () => {
  const paging = { style: 'cursor', parameter: 'after', start: '*', from: 'next' } as const;
  expect(queryOf({ paging }).after).toBe('*');
  expect(queryOf({ paging }, { continuation: 'abc' }).after).toBe('abc');
  expect(queryOf({ paging: { ...paging, start: undefined } })).not.toHaveProperty('after');
});

describe('a body', () => {
  const paging = { style: 'cursor', parameter: 'variables.after', from: 'next' } as const;
  const parameters = { page: null, pageSize: 'variables.first', updatedSince: 'filters.0.value' };
  const bodyOf = (own: Partial<FeedDefinition>, request: Partial<PageRequest> = {}) =>
    JSON.parse(pageBody({ ...feed, parameters, paging, ...own }, { ...page, ...request })!);

  it('takes what changes at paths, where objects and lists come to be as needed', () => {
    const body = { query: '{ a }', filters: [{ field: 'updated' }] };
    expect(bodyOf({ body }, { continuation: 'c1' })).toEqual({
      query: '{ a }',
      filters: [{ field: 'updated', value: 1_700_000_000 }],
      variables: { first: 50, after: 'c1' },
    });
    expect(body).toEqual({ query: '{ a }', filters: [{ field: 'updated' }] });
    expect(bodyOf({ body })).not.toHaveProperty('variables.after');
    const listed = { ...paging, parameter: 'at.0.search_after.0' };
    expect(bodyOf({ body, paging: listed }, { continuation: 'c1' })).toMatchObject({
      at: [{ search_after: ['c1'] }],
    });
  });

  it('has values of the type that it has there from the beginning', () => {
    const body = { filters: [{ value: '0' }], variables: { first: '10', after: 0 } };
    const asked = { continuation: '12' };
    expect(bodyOf({ body }, asked)).toEqual({
      filters: [{ value: '1700000000' }],
      variables: { first: '50', after: 12 },
    });
    const tooLong = '12345678901234567890';
    expect(bodyOf({ body }, { continuation: tooLong }).variables.after).toBe(tooLong);
  });

  it('leaves only the fixed parameters in the address, and is not there unless it is set', () => {
    const body = { query: '{ a }' };
    const url = pageUrl({ ...feed, query: { v: '2' }, parameters, paging, body }, page, access);
    expect(new URL(url).search).toBe('?v=2');
    expect(pageBody(feed, page)).toBeUndefined();
  });
});
