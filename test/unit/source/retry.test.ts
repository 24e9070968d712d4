import { backoffMs } from '../../../src/source/retry';

const limits = { attempts: 6, totalMs: 45_000, baseMs: 500, maxMs: 10_000 };
const failure = { kind: 'failure', code: 'SOURCE_UNAVAILABLE', what: '' } as const;

it('a pause is anything up to a bound that doubles and ends', () => {
  const greatest = [1, 2, 3, 4, 5, 6, 50].map((attempts) => backoffMs(failure, attempts, limits, () => 1));
  expect(greatest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(backoffMs(failure, 3, limits, () => 0)).toBe(0);
  expect(backoffMs(failure, 3, limits, () => 0.25)).toBe(500);
});

it('what the API asks for goes before', () => {
  expect(backoffMs({ ...failure, retryAfterMs: 30_000 }, 1, limits, () => 0)).toBe(30_000);
});
