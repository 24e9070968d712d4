import { monitorEventLoopDelay } from 'node:perf_hooks';

/** From now on: returns the longest time that the event loop of this process stood still since then, ms. */
export function watchBlocks(): () => number {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  return () => {
    delays.disable();
    return delays.max / 1e6;
  };
}
