import { idOf, updatedSeconds } from './expected-image';
import { namedMembers } from './vendor-record';

/** A version of a record that the API showed, or its removal. */
export interface ApiVersion {
  readonly id: string;
  /** Null: it was removed. */
  readonly record: Readonly<Record<string, unknown>> | null;
  /** Since when it was shown, or gone: ms, by the clock that stamps the log. */
  readonly shownFromMs: number;
  /** The same moment by the server's clock, Unix seconds. */
  readonly serverSecond: number;
}

export function isUsable(feed: string, record: Readonly<Record<string, unknown>>): boolean {
  const { id, updated, format } = namedMembers(feed);
  const hasId = typeof record[id] === 'string' ? record[id] !== '' : typeof record[id] === 'number';
  return (
    hasId && (format === 'seconds' ? typeof record[updated] === 'number' : record[updated] !== undefined)
  );
}

/** By id, oldest first. */
export function byId(
  feed: string,
  history: readonly ApiVersion[],
): ReadonlyMap<string, readonly ApiVersion[]> {
  const versions = new Map<string, ApiVersion[]>();
  for (const version of history) {
    const { record } = version;
    const id = record !== null && isUsable(feed, record) ? idOf(feed, record) : version.id;
    const known = versions.get(id);
    if (known === undefined) versions.set(id, [version]);
    else known.push(version);
  }
  return versions;
}

/** A time in which the API did not show a record that it had shown. */
export interface Absence {
  readonly fromMs: number;
  /** Infinity while it lasts. */
  readonly toMs: number;
}

/** @param versions of one id, oldest first */
export function absences(versions: readonly ApiVersion[]): Absence[] {
  const removals = versions.flatMap(({ record }, i) => (record === null ? [i] : []));
  return removals.map((at, i) => {
    const next = removals[i + 1] ?? versions.length;
    const removedAgainMs = versions[next]?.shownFromMs ?? Number.POSITIVE_INFINITY;
    // A version that is removed before it becomes visible is never shown.
    const back = versions
      .slice(at + 1, next)
      .map(({ shownFromMs }) => shownFromMs)
      .filter((ms) => ms < removedAgainMs);
    return { fromMs: versions[at]!.shownFromMs, toMs: Math.min(Number.POSITIVE_INFINITY, ...back) };
  });
}

/** No poll has to look where this came up: it is a removal, or its `updated` was too old by then. */
export function isHidden(
  feed: string,
  { record, serverSecond }: ApiVersion,
  overlapSeconds: number,
): boolean {
  if (record === null) return true;
  return isUsable(feed, record) && serverSecond - updatedSeconds(feed, record) > overlapSeconds;
}
