import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { RequestBudgetUse } from '../../../src/source/request-budget';
import { budget, failureOf, stopAll } from './client-fixture';

afterEach(stopAll);

const use: RequestBudgetUse = {
  priority: 'live',
  signal: new AbortController().signal,
  maxHoldMs: () => 60_000,
};

/** A request that ends when told. */
function gate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

it('never lets two requests come closer together, also after a pause', async () => {
  const shared = budget({ requestsPerSecond: 10 });
  const starts: number[] = [];
  const request = async () => starts.push(performance.now());
  await shared.run(request, use);
  await sleep(150);
  await Promise.all([1, 2, 3].map(() => shared.run(request, use)));
  const apart = starts.slice(1).map((start, index) => start - starts[index]!);
  expect(Math.min(...apart)).toBeGreaterThanOrEqual(99.9);
});

it.each([15, 25, 35, 40, 45])(
  'sets no timer into the past where %i ms pass between two looks at the clock',
  async (step) => {
    const delays: unknown[] = [];
    let now = 0;
    const set = globalThis.setTimeout;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += step));
    const timers = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((
      work: () => void,
      ms: number,
    ) => {
      delays.push(ms);
      return set(work, 1);
    }) as typeof setTimeout);
    try {
      const shared = budget({ requestsPerSecond: 10 });
      await Promise.all([1, 2, 3].map(() => shared.run(async () => undefined, use)));
    } finally {
      clock.mockRestore();
      timers.mockRestore();
    }
    expect(delays.length).toBeGreaterThan(2);
    expect(delays.filter((ms) => (ms as number) < 0)).toStrictEqual([]);
  },
);

it('starts a request whose turn it is at once, and hands its answer on at once', async () => {
  const shared = budget();
  let started = false;
  let answered = false;
  const running = shared
    .run(async () => {
      started = true;
    }, use)
    .then(() => {
      answered = true;
    });
  expect(started).toBe(true);
  for (let hop = 0; hop < 20; hop++) await null;
  expect(answered).toBe(true);
  await running;
});

it('has at most so many under way', async () => {
  const shared = budget({ maxConcurrent: 2 });
  const { opened, open } = gate();
  let underWay = 0;
  let most = 0;
  const request = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    if (underWay === 2) open();
    await opened;
    for (let index = 0; index < 5; index += 1) await turn();
    underWay -= 1;
  };
  await Promise.all(Array.from({ length: 8 }, () => shared.run(request, use)));
  expect(most).toBe(2);
});

it('takes live polls before a backfill that waits longer', async () => {
  const shared = budget({ maxConcurrent: 1 });
  const order: string[] = [];
  shared.holdFor(200);
  await Promise.all(
    (['backfill', 'backfill', 'live'] as const).map((priority) =>
      shared.run(async () => order.push(priority), { ...use, priority }),
    ),
  );
  expect(order).toEqual(['live', 'backfill', 'backfill']);
});

it('passes on what a request returns or throws', async () => {
  const shared = budget();
  await expect(shared.run(async () => 5, use)).resolves.toBe(5);
  await expect(shared.run(() => Promise.reject(new Error('as is')), use)).rejects.toThrow('as is');
});

it('starts nothing during a hold, then everything', async () => {
  const shared = budget();
  const began = performance.now();
  shared.holdFor(100);
  shared.holdFor(300);
  shared.holdFor(200);
  const waits = await Promise.all([1, 2].map(() => shared.run(async () => performance.now() - began, use)));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(299);
});

it('a hold makes no wait shorter', async () => {
  const shared = budget({ requestsPerSecond: 5 });
  const starts: number[] = [];
  const request = async () => starts.push(performance.now());
  await shared.run(request, use);
  shared.holdFor(10);
  await shared.run(request, use);
  expect(starts[1]! - starts[0]!).toBeGreaterThanOrEqual(199.9);
});

it('refuses by name, early or late, who cannot wait as long as a hold', async () => {
  const shared = budget();
  shared.holdFor(10_000);
  const waiting = failureOf(shared.run(async () => 1, { ...use, maxHoldMs: () => 15_000 }));
  const impatient = failureOf(shared.run(async () => 1, { ...use, maxHoldMs: () => 5_000 }));
  expect(await impatient).toMatchObject({
    code: 'SOURCE_RATE_LIMITED',
    message: expect.stringContaining('another 10 s'),
  });
  shared.holdFor(20_000);
  expect(await waiting).toMatchObject({
    code: 'SOURCE_RATE_LIMITED',
    message: expect.stringContaining('another 20 s'),
  });
});

it('lets go of who is aborted while waiting, and sends nothing for it', async () => {
  const shared = budget({ maxConcurrent: 1 });
  const { opened, open } = gate();
  const controller = new AbortController();
  let sent = false;
  const first = shared.run(() => opened, use);
  const second = shared.run(
    async () => {
      sent = true;
    },
    { ...use, signal: controller.signal },
  );
  controller.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  open();
  await first;
  await shared.run(async () => {}, use);
  expect(sent).toBe(false);
});

it('close ends every wait by name and takes nothing more', async () => {
  const shared = budget();
  shared.holdFor(10_000);
  const waiting = failureOf(shared.run(async () => 1, use));
  shared.close();
  shared.close();
  expect((await waiting).code).toBe('SOURCE_CLOSED');
  expect((await failureOf(shared.run(async () => 1, use))).code).toBe('SOURCE_CLOSED');
});

it('nothing keeps the process alive after close, nor does a hold that nobody waits for', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const shared = budget({ requestsPerSecond: 0.01 });
  await shared.run(async () => 1, use);
  expect(timers()).toBe(before);
  const leaving = new AbortController();
  const left = shared.run(async () => 1, { ...use, signal: leaving.signal });
  expect(timers()).toBeGreaterThan(before);
  leaving.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  expect(timers()).toBe(before);
  const waiting = [1, 2].map(() => failureOf(shared.run(async () => 1, use)));
  expect(timers()).toBeGreaterThan(before);
  shared.holdFor(50_000);
  expect(timers()).toBeGreaterThan(before);
  shared.close();
  await Promise.all(waiting);
  await until(() => timers() <= before);

  budget().holdFor(50_000);
  await until(() => timers() <= before);
});

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('it did not come true within 5 s');
    await turn();
  }
}
