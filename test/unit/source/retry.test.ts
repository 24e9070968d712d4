import { backoffMs, PageDeadline, withRetry } from '../../../src/source/retry';

const limits = { attempts: 6, totalMs: 45_000, baseMs: 500, maxMs: 10_000 };
const failure = { kind: 'failure', code: 'SOURCE_UNAVAILABLE', what: '' } as const;

it('a pause is anything up to a bound that doubles and ends', () => {
  const greatest = [1, 2, 3, 4, 5, 6, 50].map((attempts) => backoffMs(failure, attempts, limits, () => 1));
  expect(greatest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(backoffMs(failure, 3, limits, () => 0)).toBe(0);
  expect(backoffMs(failure, 3, limits, () => 0.25)).toBe(500);
});

it('a pause that the API asks for goes first', () => {
  expect(backoffMs({ ...failure, retryAfterMs: 30_000 }, 1, limits, () => 0)).toBe(30_000);
  expect(backoffMs({ ...failure, retryAfterMs: 30_000 }, 1, limits, () => 1)).toBe(30_000);
});

it('a pause that the API asks for is never shorter than the usual one', () => {
  const greatest = [1, 2, 6].map((attempts) =>
    backoffMs({ ...failure, retryAfterMs: 0 }, attempts, limits, () => 1),
  );
  expect(greatest).toEqual([500, 1_000, 10_000]);
});

describe('a page is asked for', () => {
  const signal = new AbortController().signal;
  const told: unknown[] = [];
  const options = { limits, random: () => 0, signal, onRetry: (...all: unknown[]) => told.push(all) };
  const within = (remainingMs: number) => ({ start: () => undefined, remainingMs: () => remainingMs });
  type Outcome =
    | { readonly kind: 'page' }
    | typeof failure
    | { readonly kind: 'failure'; readonly code: 'SOURCE_FORBIDDEN'; readonly what: string };
  const answers = (...outcomes: Outcome[]) => {
    const left = [...outcomes];
    return { left, next: async () => left.shift()! };
  };
  beforeEach(() => {
    told.length = 0;
  });

  it('until an answer comes', async () => {
    const { left, next } = answers(failure, failure, { kind: 'page' }, failure);
    await expect(withRetry(next, within(100), options)).resolves.toEqual({ kind: 'page' });
    expect(left).toHaveLength(1);
    expect(told).toEqual([
      [failure, 1, 0],
      [failure, 2, 0],
    ]);
  });

  it('once, when another try would end the same way', async () => {
    const refused = { kind: 'failure', code: 'SOURCE_FORBIDDEN', what: '' } as const;
    const { left, next } = answers(refused, { kind: 'page' });
    await expect(withRetry(next, within(100), options)).resolves.toEqual(refused);
    expect([left.length, told]).toStrictEqual([1, []]);
  });

  it('as often as the limit says, the first time included', async () => {
    const { left, next } = answers(failure, failure, failure, failure);
    const two = { ...options, limits: { ...limits, attempts: 2 } };
    await expect(withRetry(next, within(100), two)).resolves.toEqual(failure);
    expect([left.length, told]).toEqual([2, [[failure, 1, 0]]]);
  });

  it('no more when the pause would end with the time for the page', async () => {
    const later = { ...failure, retryAfterMs: 5 };
    const { left, next } = answers(later, later, { kind: 'page' });
    await expect(withRetry(next, within(5), options)).resolves.toEqual(later);
    expect([left.length, told]).toStrictEqual([2, []]);
    await expect(withRetry(next, within(6), options)).resolves.toEqual({ kind: 'page' });
    expect(told).toEqual([[later, 1, 5]]);
  });

  it('no more when its signal aborts, in a pause too', async () => {
    const controller = new AbortController();
    const abort = () => controller.abort(new Error('stop'));
    const later = { ...failure, retryAfterMs: 100_000 };
    const { left, next } = answers(later, { kind: 'page' });
    const inPause = { ...options, signal: controller.signal, onRetry: abort };
    await expect(withRetry(next, within(200_000), inPause)).rejects.toThrow('abort');
    expect(left).toHaveLength(1);
  });
});

it('the time for a page begins with its first request', async () => {
  const deadline = new PageDeadline(1_000);
  const before = performance.now();
  while (performance.now() < before + 5);
  expect(deadline.remainingMs()).toBe(1_000);
  deadline.start();
  const begun = deadline.remainingMs();
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThanOrEqual(1_000);
  while (deadline.remainingMs() > begun - 1);
  deadline.start();
  expect(deadline.remainingMs()).toBeLessThan(begun);
  const short = new PageDeadline(1);
  short.start();
  while (short.remainingMs() > 0);
  expect(short.remainingMs()).toBe(0);
});
