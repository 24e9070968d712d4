/** Seeded randomness: the same seed gives the same market, the same shuffles and the same faults. */
export type Random = ReturnType<typeof createRandom>;

/** mulberry32: 32 bits of state, fast, and good enough to scatter test data. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    /** 0 <= x < 1 */
    next,
    /** Whole number, both ends included. */
    int: (min: number, max: number): number => min + Math.floor(next() * (max - min + 1)),
    chance: (probability: number): boolean => next() < probability,
    pick: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!,
    hex: (digits: number): string => {
      let text = '';
      while (text.length < digits)
        text += Math.floor(next() * 4294967296)
          .toString(16)
          .padStart(8, '0');
      return text.slice(0, digits);
    },
  };
}

/** Fisher-Yates, in place. */
export function shuffle<T>(list: T[], random: Random): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}

/** FNV-1a, 32 bits: the same text always falls into the same share. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // FNV leaves the high bits weak for texts that differ at their end; this spreads them.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Like the vendor's ids: eight hex digits of time, sixteen that tell records apart. */
export function recordId(random: Random, seconds: number): string {
  return Math.floor(seconds).toString(16).padStart(8, '0') + random.hex(16);
}
