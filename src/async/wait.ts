import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Many may wait on its signal, each feed or each partition. Node.js warns at the eleventh listener of any other signal. */
export function sharedController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** The signal ends the pause at once, without an error. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/**
 * Stops waiting for work that cannot be stopped from outside, such as a call of kafkajs.
 * @param abandoned gets the result if it comes after the abort
 * @throws the signal's reason
 */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  abandoned: (result: T) => unknown = () => undefined,
): Promise<T> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } catch (error) {
    if (signal.aborted) work.then(abandoned, () => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** `AbortSignal.any` would leave listeners behind on a signal that lives as long as the process. */
export function joinSignals(signals: readonly AbortSignal[]): {
  readonly signal: AbortSignal;
  leave(): void;
} {
  const joint = new AbortController();
  const onAbort = (event: Event) => joint.abort((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) joint.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  }
  return {
    signal: joint.signal,
    leave() {
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    },
  };
}

/** Work that the first of several signals ends, which the work sees. */
export async function untilAny<T>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, leave } = joinSignals(signals);
  try {
    return await work(signal);
  } finally {
    leave();
  }
}

/**
 * Waits for work for at most `ms`.
 * @param late makes the error that is thrown then
 * @throws the signal's reason
 */
export async function unlessLate<T>(
  work: Promise<T>,
  ms: number,
  signal: AbortSignal,
  late: () => unknown,
): Promise<T> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(late()), ms);
  return untilAny([signal, timeout.signal], (either) => unlessAborted(work, either)).finally(() =>
    clearTimeout(timer),
  );
}

/** The values of all pieces of work, once all have ended. @throws the error of the first one that has one */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const ended = await Promise.allSettled(work);
  return ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
