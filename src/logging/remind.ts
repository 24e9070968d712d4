const REMIND_MS = 600_000;

/** When something was last said about an object. */
const said = new WeakMap<object, Map<string, number>>();

/** Says what each poll would say again: about one object, at most every ten minutes. */
export function remind(about: object, key: string, say: () => void): void {
  const times = said.get(about) ?? new Map<string, number>();
  said.set(about, times);
  const nowMs = performance.now();
  if (nowMs - (times.get(key) ?? Number.NEGATIVE_INFINITY) < REMIND_MS) return;
  times.set(key, nowMs);
  say();
}
