import { bySeq, type ChangeEvent, where } from './change-log';
import type { StoredOffset } from './images';
import type { JudgedLog, LogRow } from './log';
import { isOfReset } from './resets';
import type { Findings } from './verdict';

interface Commit {
  readonly row: LogRow;
  readonly offset: StoredOffset;
}

/**
 * I5, transaction by transaction, where every record is kept: each source offset tells of exactly the events up to it, and
 * what one transaction wrote lies together. The broker ends a transaction with a marker in each of its partitions, which
 * takes an offset: records without a gap between them are of one transaction, and those on both sides of a gap are not.
 */
export function checkTransactions(
  log: JudgedLog,
  feed: string,
  events: readonly ChangeEvent[],
  found: Findings,
): void {
  const rows = log.rows(`${feed}.source-offset`).filter(({ value }) => value !== null);
  const commits = rows.map((row) => ({
    row,
    offset: log.decode(row.value!).value as unknown as StoredOffset,
  }));
  for (const incarnation of new Set(commits.map(({ offset }) => offset.incarnation))) {
    const own = commits.filter(({ offset }) => offset.incarnation === incarnation);
    const life = bySeq(events.filter((event) => event.incarnation === incarnation));
    checkSteps(own, found);
    checkCounts(log, feed, own, life, found);
    const commitOf = commitsBySeq(own);
    checkTogether(
      life.map(({ row, seq }) => [row, seq]),
      commitOf,
      found,
    );
    const images = log
      .rows(`${feed}.current`)
      .filter((row) => row.headers.incarnation === incarnation && !isOfReset(row));
    checkTogether(
      images.map((row) => [row, Number(row.headers.seq)]),
      commitOf,
      found,
    );
  }
}

function checkSteps(commits: readonly Commit[], found: Findings): void {
  let before: Commit | null = null;
  for (const commit of commits) {
    const { offset, row } = commit;
    const expected = (before?.offset.commit ?? 0) + 1;
    if (offset.commit !== expected) {
      const harm = offset.commit < expected ? 'twice' : 'lost';
      found.add('I5', harm, `${where(row)} is commit ${offset.commit}, expected ${expected}`);
    }
    if (offset.seq < (before?.offset.seq ?? 0))
      found.add('I5', 'torn', `${where(row)} goes back from seq ${before?.offset.seq} to ${offset.seq}`);
    if (before !== null && row.offset === before.row.offset + 1)
      found.add('I5', 'torn', `${where(row)} is of the same transaction as the source offset before it`);
    before = commit;
  }
}

/** Records that are live after each commit, by partition of their images. */
function checkCounts(
  log: JudgedLog,
  feed: string,
  commits: readonly Commit[],
  events: readonly ChangeEvent[],
  found: Findings,
): void {
  const partitionOf = new Map(log.rows(`${feed}.current`).map(({ key, partition }) => [key, partition]));
  const live = new Set<string>();
  const counts: number[] = [];
  let next = 0;
  for (const { row, offset } of commits) {
    for (; next < events.length && events[next]!.seq <= offset.seq; next++) {
      const { id, envelope } = events[next]!;
      const was = live.has(id);
      if (envelope.after === null) live.delete(id);
      else live.add(id);
      const partition = partitionOf.get(id) ?? 0;
      counts[partition] = (counts[partition] ?? 0) + Number(live.has(id)) - Number(was);
    }
    const expected = offset.partition_counts.map((_, i) => counts[i] ?? 0);
    if (offset.record_count !== live.size || offset.partition_counts.join() !== expected.join())
      found.add(
        'I5',
        'torn',
        `${where(row)} counts ${offset.record_count} records (${offset.partition_counts}), the events up to seq ${offset.seq} make ${live.size} (${expected})`,
      );
  }
}

/** Number of an event → number of the commit that it came with. */
function commitsBySeq(commits: readonly Commit[]): (seq: number) => number | null {
  const byEnd = commits.map(({ offset }) => [offset.seq, offset.commit] as const).sort(([a], [b]) => a - b);
  return (seq) => {
    let [low, high] = [0, byEnd.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (byEnd[middle]![0] < seq) low = middle + 1;
      else high = middle;
    }
    return byEnd[low]?.[1] ?? null;
  };
}

function checkTogether(
  numbered: readonly (readonly [LogRow, number])[],
  commitOf: (seq: number) => number | null,
  found: Findings,
): void {
  const inOrder = [...numbered].sort(([a], [b]) => a.partition - b.partition || a.offset - b.offset);
  let before: { row: LogRow; commit: number | null } | null = null;
  for (const [row, seq] of inOrder) {
    const commit = commitOf(seq);
    if (commit === null) found.add('I5', 'torn', `${where(row)}: no source offset tells of seq ${seq}`);
    if (before !== null && before.row.partition === row.partition) {
      const isTogether = row.offset === before.row.offset + 1;
      if (isTogether !== (commit === before.commit))
        found.add(
          'I5',
          'torn',
          `${where(row)} of commit ${commit} ${isTogether ? 'shares a transaction with' : 'is apart from'} ${where(before.row)} of commit ${before.commit}`,
        );
    }
    before = { row, commit };
  }
}
