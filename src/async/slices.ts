import { setImmediate as turn } from 'node:timers/promises';

/** Longest stretch of work before other callbacks get their turn, ms. */
const SLICE_MS = 10;
/** Items between two looks at the clock. A record that the disk must be asked for may take a millisecond. */
const ITEMS = 8;

/** Lets timers, sockets and signals have their turn every few milliseconds of long work. */
export interface Breather {
  /** Call it after each item. To await after every item would take longer than most items. */
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

/** Calls `work` for each item without blocking the process. The items may change meanwhile. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const breather = createBreather();
  for (const item of items) {
    work(item);
    if (breather.isDue()) await breather.breathe();
  }
}
