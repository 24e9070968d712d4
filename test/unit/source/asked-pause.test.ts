import { askedPause } from '../../../src/source/asked-pause';

const date = 'Sun, 01 Mar 2026 12:00:00 GMT';
const serverMs = Date.parse(date);
/** An own clock that is wrong by an hour. */
const nowMs = serverMs + 3_600_000;
const at = (seconds: number) => String(serverMs / 1000 + seconds);

const exhausted: [string, Record<string, string>, number][] = [
  ['Retry-After', { 'retry-after': '5', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' }, 5_000],
  ['a moment in seconds', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': at(42) }, 42_000],
  ['a moment in milliseconds', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${at(42)}000` }, 42_000],
  ['a moment gone by', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': at(-2) }, 0],
  ['seconds from now', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' }, 7_000],
  ['more than an hour', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': at(86_400) }, 3_600_000],
  ['another spelling', { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': at(9) }, 9_000],
  ['fields of the first drafts of IETF', { 'ratelimit-remaining': '0', 'ratelimit-reset': '11' }, 11_000],
  ['one field of a later draft', { ratelimit: 'limit=100, remaining=0, reset=12' }, 12_000],
  ['one field of the last drafts', { ratelimit: '"default";r=0;t=13' }, 13_000],
  ['the policy that is exhausted', { ratelimit: '"minute";r=0;t=14, "day";r=50;t=900' }, 14_000],
];

it.each(exhausted)('%s says how long to wait', (_, headers, ms) => {
  for (const status of [403, 429, 503])
    expect(askedPause(status, { date, ...headers }, nowMs)).toMatchObject({ ms });
});

it.each([
  ['no header', {}],
  ['requests that remain', { 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': at(900) }],
  ['policies with requests that remain', { ratelimit: '"minute";r=3;t=14, "day";r=50;t=900' }],
  ['a limit without a time', { 'x-ratelimit-remaining': '0' }],
  ['times that cannot be read', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': 'soon' }],
])('%s asks for no pause', (_, headers) => {
  for (const status of [403, 429, 503]) expect(askedPause(status, { date, ...headers }, nowMs)).toBeNull();
});

it('a time without a count is a pause only on the status that says so', () => {
  const headers = { date, 'x-ratelimit-reset': '30' };
  expect([403, 429, 503].map((status) => askedPause(status, headers, nowMs)?.ms)).toEqual([
    undefined,
    30_000,
    undefined,
  ]);
});

it('on other statuses only Retry-After counts', () => {
  const headers = { date, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' };
  expect(askedPause(401, headers, nowMs)).toBeNull();
  expect(askedPause(502, { ...headers, 'retry-after': '3' }, nowMs)).toEqual({
    ms: 3_000,
    by: 'Retry-After',
  });
});
