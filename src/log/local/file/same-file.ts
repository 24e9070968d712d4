import { statSync } from 'node:fs';
import { HighwaterError } from '../../../errors';
import { attempt } from './sqlite';

/** One look asks the file system. */
const LOOK_INTERVAL_MS = 1_000;

/**
 * A process can still read its open file after the folder was deleted or put back from a copy, and would never see a new record.
 * @returns a check that throws, from then on, if the file at its place is another or gone. @throws HighwaterError LOG_POSITION_LOST, LOG_*
 */
export function sameFileGuard(file: string): () => void {
  const opened = attempt(file, () => identity(file));
  let lookedAt = performance.now();
  let isGone = false;
  return () => {
    const now = performance.now();
    if (!isGone && now - lookedAt >= LOOK_INTERVAL_MS) {
      lookedAt = now;
      isGone = attempt(file, () => identity(file)) !== opened;
    }
    if (!isGone) return;
    const what = `${file} was deleted, or another was put in its place, while it was read`;
    const remedy =
      'Start this program again once the publisher has the folder. Groups of consumers whose positions were deleted too begin as new groups.';
    throw new HighwaterError('LOG_POSITION_LOST', what, { remedy });
  };
}

/**
 * A process can still write to its open file after it was deleted or moved, but nobody will find the records.
 * @param files which are there
 */
export function inPlaceGuard(...files: readonly string[]) {
  const places: Places = files.map((file) => [file, identity(file)]);
  return {
    places,
    /** Takes a few µs. @throws HighwaterError LOG_GONE if another file or none is at one of the places */
    assert(): void {
      const gone = places.find(([file, opened]) => identity(file) !== opened);
      if (gone !== undefined) throw goneFrom(gone[0]);
    },
  };
}

/** Files, and what tells each of them from another file at its place. */
export type Places = readonly (readonly [file: string, identity: string | null])[];

export function goneFrom(file: string): HighwaterError {
  const what = `${file} was deleted, moved or replaced by another file while this process had it open`;
  return new HighwaterError('LOG_GONE', what);
}

function identity(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
}
