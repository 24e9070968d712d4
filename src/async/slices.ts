import { setImmediate as turn } from 'node:timers/promises';

/** How long work goes on before others have their turn, ms. */
const SLICE_MS = 10;
/** Between two looks at the clock. */
const ITEMS = 64;

/** Keeps long work from holding up the process: timers, sockets and signals have their turn every few milliseconds. */
export interface Breather {
  /** To be asked after each item. An await for every item would take longer than most items. */
  isDue(): boolean;
  breathe(): Promise<void>;
}

/** @param items between two looks at the clock */
export function createBreather(items = ITEMS): Breather {
  let began = performance.now();
  let count = 0;
  return {
    isDue: () => ++count % items === 0 && performance.now() - began > SLICE_MS,
    async breathe() {
      await turn();
      began = performance.now();
    },
  };
}

/** Does something with each of many items without holding up the process. The items may change meanwhile. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const breather = createBreather();
  for (const item of items) {
    work(item);
    if (breather.isDue()) await breather.breathe();
  }
}
