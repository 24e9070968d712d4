import { type Retrying, retrying } from '../../../src/async/retrying';

// Jest's fake timers leave the promises of node:timers as they are.
jest.mock('node:timers/promises', () => ({
  setTimeout: (ms: number, _: undefined, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, ms);
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
}));

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Fails so many times, and notes when each try began, in ms. */
function failing(times: number) {
  const began = performance.now();
  const tries: number[] = [];
  const work = async () => {
    tries.push(performance.now() - began);
    if (tries.length <= times) throw new Error(`try ${tries.length}`);
    return 'done';
  };
  return { tries, work };
}

const options: Retrying = {
  signal: new AbortController().signal,
  isWorthIt: () => true,
  pauseMs: 10,
  longestPauseMs: 40,
  forMs: 1_000,
};

it('a pause is twice as long as the one before, up to the longest', async () => {
  const { tries, work } = failing(4);
  const result = retrying(work, options);
  await jest.runAllTimersAsync();
  expect(await result).toBe('done');
  expect(tries).toEqual([0, 10, 30, 70, 110]);
});

it('an error that is not worth another try is thrown at once', async () => {
  const { tries, work } = failing(9);
  const recover = jest.fn();
  const isWorthIt = (error: unknown) => (error as Error).message === 'try 1';
  const result = expect(retrying(work, { ...options, isWorthIt, recover })).rejects.toThrow('try 2');
  await jest.runAllTimersAsync();
  await result;
  expect(tries).toEqual([0, 10]);
  expect(recover).toHaveBeenCalledTimes(1);
});

it('the last error is thrown when the time is over, after it was recovered too', async () => {
  const { tries, work } = failing(9);
  const recovered: string[] = [];
  const recover = async (error: unknown) => recovered.push((error as Error).message);
  const result = expect(retrying(work, { ...options, forMs: 30, recover })).rejects.toThrow('try 3');
  await jest.runAllTimersAsync();
  await result;
  expect(tries).toEqual([0, 10, 30]);
  expect(recovered).toEqual(['try 1', 'try 2', 'try 3']);
});

it('without any time there is one try', async () => {
  const { tries, work } = failing(1);
  await expect(retrying(work, { ...options, forMs: 0 })).rejects.toThrow('try 1');
  expect(tries).toEqual([0]);
});

it('an aborted signal ends a pause, and nothing is tried any more', async () => {
  const { tries, work } = failing(9);
  const stop = new AbortController();
  const recover = jest.fn();
  const result = expect(
    retrying(work, { ...options, signal: stop.signal, pauseMs: 500, recover }),
  ).rejects.toThrow('closed');
  await jest.advanceTimersByTimeAsync(100);
  stop.abort(new Error('closed'));
  await result;
  expect(tries).toEqual([0]);
  expect(recover).not.toHaveBeenCalled();
});

it('an error that is not worth another try is thrown in spite of an aborted signal', async () => {
  const stop = new AbortController();
  const work = async () => {
    stop.abort(new Error('closed'));
    throw new Error('forbidden');
  };
  const result = retrying(work, { ...options, signal: stop.signal, isWorthIt: () => false });
  await expect(result).rejects.toThrow('forbidden');
});
