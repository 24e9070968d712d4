/** The ids and the times of an answer's rows, in its order. */
export interface SeenRows {
  readonly ids: readonly unknown[];
  /** Unix seconds. */
  readonly times: readonly number[];
}

/**
 * Whether a filter shows a row of the very time that is asked for. `later`: only if an earlier time is asked for. `hidden`: not even then.
 * `unknown`: the answers prove nothing.
 * @param first rows that were seen before, as many as an answer may have
 * @param ask for rows since a time
 */
export async function filterEdge(
  first: SeenRows,
  ask: (since: number) => Promise<SeenRows>,
): Promise<'shown' | 'later' | 'hidden' | 'unknown'> {
  // The last time but one, so that an answer has rows even if the filter leaves out its own time.
  const time = [...new Set(first.times)].sort((a, b) => a - b).at(-2);
  if (time === undefined) return 'unknown';
  const sought = first.ids.filter((_, i) => first.times[i] === time);
  for (const earlier of [0, 1, 60, 3_600, 86_400]) {
    const { ids, times } = await ask(Math.max(0, time - earlier));
    if (ids.some((id) => sought.includes(id))) return earlier === 0 ? 'shown' : 'later';
    // A row that is not on a full page may be on the next one, unless the page goes beyond its time.
    const isOrdered = times.every((one, i) => i === 0 || one >= times[i - 1]!);
    const isBeyond = ids.length < first.ids.length || (isOrdered && times.at(-1)! > time);
    if (ids.length === 0 || !isBeyond) return earlier === 0 ? 'unknown' : 'later';
  }
  return 'hidden';
}
