import { setImmediate as turn } from 'node:timers/promises';
import { oneAhead } from '../../../src/async/one-ahead';

/** Pages of a server: each is asked for some microtasks after it is wanted, as HTTP clients do, and answered at once. */
function server(pages: number) {
  const asked: number[] = [];
  const stopped: unknown[] = [];
  async function* start(stop: AbortSignal): AsyncGenerator<number> {
    stop.addEventListener('abort', () => stopped.push(stop.reason));
    for (let page = 1; page <= pages; page++) {
      for (let hop = 0; hop < 50; hop++) await null;
      asked.push(page);
      yield page;
    }
  }
  return { asked, stopped, start };
}

const never = new AbortController().signal;

it('has asked for the next value before the caller is busy with this one', async () => {
  const { asked, start } = server(3);
  const seen: [number, number[]][] = [];
  for await (const { value } of oneAhead(start, never)) seen.push([value, [...asked]]);
  expect(seen).toEqual([
    [1, [1, 2]],
    [2, [1, 2, 3]],
    [3, [1, 2, 3]],
  ]);
});

it('asks for nothing ahead where others may come in between', async () => {
  const { asked, start } = server(2);
  const seen: [number, number[]][] = [];
  for await (const { value, isNextWithin } of oneAhead(start, never, false)) {
    await turn();
    seen.push([value, [...asked]]);
    expect(await isNextWithin(1_000)).toBe(false);
  }
  expect(seen).toEqual([
    [1, [1]],
    [2, [1, 2]],
  ]);
});

it('says whether another value follows, and that none does at once', async () => {
  const follows: boolean[] = [];
  for await (const { isNextWithin } of oneAhead(server(2).start, never))
    follows.push(await isNextWithin(60_000));
  expect(follows).toEqual([true, false]);
});

it('a value that cannot be made is no next one, and its failure is thrown to who goes on', async () => {
  async function* start(): AsyncGenerator<number> {
    yield 1;
    throw new Error('no page 2');
  }
  const follows: boolean[] = [];
  const reading = async () => {
    for await (const { isNextWithin } of oneAhead(start, never)) follows.push(await isNextWithin(60_000));
  };
  await expect(reading()).rejects.toThrow('no page 2');
  expect(follows).toEqual([false]);
});

it('whoever stops early, or is told to, ends what was asked for', async () => {
  const left = server(9);
  for await (const _ of oneAhead(left.start, never)) break;
  expect(left.stopped).toHaveLength(1);

  const told = server(9);
  const controller = new AbortController();
  const reason = new Error('enough');
  for await (const _ of oneAhead(told.start, controller.signal)) {
    controller.abort(reason);
    break;
  }
  expect(told.stopped).toEqual([reason]);
});
