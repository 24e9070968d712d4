import { useEffect, useState } from 'preact/hooks';
import { firstModel, type Message, type Model, reduce } from './model/model';

export type Store = ReturnType<typeof createStore>;

/** Long enough that a flood of changes costs little, short enough that nobody notices. */
const BATCH_MS = 100;

/**
 * All updates within a tenth of a second are drawn together. Not by animation frames: a hidden tab has none, but a
 * title.
 */
export function createStore() {
  let model = firstModel;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let drawnAtMs = 0;
  const listeners = new Set<() => void>();

  function draw(): void {
    timer = null;
    drawnAtMs = performance.now();
    for (const listener of listeners) listener();
  }

  return {
    model: () => model,
    tell(message: Message): void {
      model = reduce(model, message);
      if (timer === null) timer = setTimeout(draw, Math.max(0, drawnAtMs + BATCH_MS - performance.now()));
    },
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useModel(store: Store): Model {
  const [model, set] = useState(store.model());
  useEffect(() => {
    set(store.model());
    return store.subscribe(() => set(store.model()));
  }, [store]);
  return model;
}

/** The own clock, ms; draws again each second. */
export function useNow(): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => set(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
