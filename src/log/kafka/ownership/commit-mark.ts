import type { LogRecord, ProducerRecord } from '../../commit-log';

/** How far a feed is committed: what its source offset says of that, by its headers. */
export interface CommitMark {
  readonly incarnation: string;
  readonly commit: number;
  /** Number of the last change; null: written by a version that did not say it. */
  readonly seq: number | null;
  /** ms */
  readonly timestamp: number;
}

export function markOf({ headers, timestamp }: Pick<ProducerRecord, 'headers' | 'timestamp'>): CommitMark {
  const { incarnation = '', commit, seq } = headers;
  return { incarnation, commit: Number(commit), seq: seq === undefined ? null : Number(seq), timestamp };
}

/**
 * Whether a record belongs to the transaction of a source offset or an earlier one, by the number of its change. A record
 * without one (dead letters) and one of another incarnation are told by their time of observation.
 * @param isSourceOffset those have the number of their transaction
 */
export function isWithin(record: LogRecord, mark: CommitMark | null, isSourceOffset: boolean): boolean {
  if (mark === null) return false;
  if (isSourceOffset) return !isBeyond(markOf(record), mark);
  const change = changeOf(record);
  if (change === null || mark.seq === null || change.incarnation !== mark.incarnation) {
    return record.timestamp <= mark.timestamp;
  }
  return change.seq <= mark.seq;
}

export function isBeyond(one: CommitMark, other: CommitMark | null): boolean {
  if (other === null) return true;
  if (one.incarnation !== other.incarnation) return one.timestamp > other.timestamp;
  return one.commit > other.commit;
}

/** The number of the change that a record is about: images have it in headers, events in their id (`feed:incarnation:seq`). */
export function changeOf({
  headers,
}: Pick<LogRecord, 'headers'>): { incarnation: string; seq: number } | null {
  const { incarnation, seq, ce_id = '' } = headers;
  if (incarnation !== undefined && seq !== undefined) return { incarnation, seq: Number(seq) };
  const [, ofId, number] = /^[^:]*:([^:]+):(\d+)(?::|$)/.exec(ce_id) ?? [];
  return ofId === undefined ? null : { incarnation: ofId, seq: Number(number) };
}
