import { retryAfterMs, serverDateMs } from '../../../src/source/retry';

const nowMs = Date.parse('2026-03-01T12:00:00Z');

it.each([
  ['seconds', '120', undefined, 120_000],
  ['seconds with blanks', ' 5 ', undefined, 5_000],
  ['half a second', '0.5', undefined, 500],
  ['parts of a second', '1.25', undefined, 1_250],
  ['seconds in words', '30 seconds', undefined, null],
  ['nothing to wait', '0', undefined, 0],
  ['more than an hour', '86400', undefined, 3_600_000],
  ['a date, by the own clock', 'Sun, 01 Mar 2026 12:00:30 GMT', undefined, 30_000],
  [
    'a date, by the clock of the answer',
    'Sun, 01 Mar 2026 13:00:30 GMT',
    'Sun, 01 Mar 2026 13:00:00 GMT',
    30_000,
  ],
  ['a date, with an unreadable clock', 'Sun, 01 Mar 2026 12:00:30 GMT', 'soon', 30_000],
  ['a date gone by', 'Sun, 01 Mar 2026 11:00:00 GMT', undefined, 0],
  ['a date far ahead', 'Sun, 01 Mar 2099 11:00:00 GMT', undefined, 3_600_000],
  ['a negative number', '-5', undefined, null],
  ['an empty text', '', undefined, null],
  ['no date at all', 'later', undefined, null],
  ['a date without its day', '01 Mar 2026 12:00:30 GMT', undefined, null],
  ['a letter and a number', 'a 5', undefined, null],
  ['nothing', undefined, undefined, null],
])('Retry-After as %s', (_, retryAfter, date, expected) => {
  expect(retryAfterMs(retryAfter, date, nowMs)).toBe(expected);
});

it('the date of an answer is null when absent or unreadable', () => {
  expect(serverDateMs(undefined)).toBeNull();
  expect(serverDateMs('yesterday')).toBeNull();
  expect(serverDateMs('Sun, 01 Mar 2026 12:00:00 GMT')).toBe(nowMs);
});
