/** The candidate that a person most likely meant; null when none is near. Case and separators do not count. */
export function didYouMean(written: string, candidates: readonly string[]): string | null {
  const wanted = bare(written);
  const allowed = Math.min(2, Math.floor(wanted.length / 3));
  let best: string | null = null;
  let least = allowed + 1;
  for (const candidate of candidates) {
    const edits = editDistance(wanted, bare(candidate));
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}

/** How a sentence ends that says that a name is not known: `; did you mean ipos?`. @param otherwise the end if no name is near */
export function meant(written: string, candidates: readonly string[], otherwise = ''): string {
  const near = didYouMean(written, candidates);
  return near === null ? otherwise : `; did you mean ${near}?`;
}

/** As `meant`; if no name is near, all of them. */
export function meantOrKnown(written: string, candidates: readonly string[]): string {
  return meant(written, candidates, `; known are ${candidates.join(', ')}`);
}

function bare(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Letters to insert, delete, replace or swap with their neighbour to make one text of the other. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
