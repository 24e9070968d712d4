import type { LogRecord } from '../../../commit-log';
import { isDeadLetterTopic } from '../../../topics';
import type { Cluster } from '../../connection/cluster';
import { isFence } from '../../reader/fence';
import { type OffsetRange, offsetRanges } from '../../reader/offsets';
import { committedRecords } from '../../reader/restore';
import { type CommitMark, changeOf, isBeyond, markOf } from '../commit-mark';
import type { OwnTransaction } from './own-transactions';

export interface CommittedDeps {
  readonly cluster: Cluster;
  readonly feed: string;
  readonly partitions: ReadonlyMap<string, number>;
  readonly sourceOffsetTopic: string;
  readonly signal: AbortSignal;
}

/**
 * How far a feed is committed, although markers may be missing in any of its partitions, also in the source offset topic. The
 * evidence is
 * - the last source offset that readers are shown, or the last transaction that this process knows to be committed,
 * - records that readers are shown in another topic, if the source offset of their transaction hangs or was aborted
 * with the next transaction. Dead letters prove nothing: they do not name their transaction.
 *
 * If readers were shown no record of the last transaction, it counts as not committed: it may have been aborted or be incomplete.
 * @param unsettled transactions that are open or were ended just now
 * @returns null: nothing is committed
 */
export async function committedThrough(
  deps: CommittedDeps,
  unsettled: readonly OwnTransaction[],
  acknowledged: CommitMark | null,
): Promise<CommitMark | null> {
  const { cluster, feed, partitions, sourceOffsetTopic, signal } = deps;
  const isOffset = (record: LogRecord) => record.key === feed && !isFence(record);
  const witnesses = [...partitions.keys()].filter((topic) => !isDeadLetterTopic(topic, feed));
  const places = await offsetRanges(cluster, witnesses, 'end');
  const [offsets, others] = [
    places.filter(({ topic }) => topic === sourceOffsetTopic),
    places.filter(({ topic }) => topic !== sourceOffsetTopic),
  ];
  const shown = await lastShown(cluster, offsets[0]!, isOffset, signal);
  let mark = shown === null ? null : markOf(shown);
  if (acknowledged !== null && isBeyond(acknowledged, mark)) mark = acknowledged;

  const unknown = unsettled
    .filter(({ topic }) => topic === sourceOffsetTopic)
    .flatMap(({ records }) => records.filter(isOffset).map(markOf));
  if (!unknown.some((one) => isBeyond(one, mark))) return mark;
  const lasts = await Promise.all(
    others.map((place) => lastShown(cluster, place, (record) => changeOf(record) !== null, signal)),
  );
  // Behind an open transaction of another program readers are shown nothing, although it may be committed.
  const settled = unsettled.flatMap(({ marker, records }) => (marker?.commits ? records : []));
  const changes = [...lasts, ...settled].flatMap((record) =>
    record === null ? [] : (changeOf(record) ?? []),
  );
  for (const one of unknown) {
    const from = one.incarnation === mark?.incarnation ? (mark.seq ?? 0) : 0;
    const isShown = changes.some(
      ({ incarnation, seq }) => incarnation === one.incarnation && seq > from && one.seq !== null,
    );
    if (isBeyond(one, mark) && isShown) mark = one;
  }
  return mark;
}

/** The last wanted record that readers are shown. Searches backwards from the end. */
async function lastShown(
  cluster: Cluster,
  { topic, partition, first, end }: OffsetRange,
  isWanted: (record: LogRecord) => boolean,
  signal: AbortSignal,
): Promise<LogRecord | null> {
  for (let length = 100n; ; length *= 10n) {
    const next = end - length > first ? end - length : first;
    const found = (await committedRecords(cluster, { topic, partition, next, end }, signal)).findLast(
      isWanted,
    );
    if (found !== undefined || next === first) return found ?? null;
  }
}
