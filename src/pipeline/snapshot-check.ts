import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import { expectedTime } from '../feeds/time-format';
import type { SourceOffset } from '../state/source-offset';
import type { Rejected, ScanProgress } from '../types';
import type { Decoded } from './records/decode';

/** Watches whether a snapshot reads anything that is a record. */
export interface SnapshotCheck {
  /** The progress that a page may make: none while there were rows but no record, so that another try reads them all again. */
  progressOf(progress: ScanProgress, decoded: Decoded): ScanProgress;
  /** @throws HighwaterError SNAPSHOT_UNREADABLE when the snapshot has ended, and every row of it is a dead letter */
  end(): void;
}

export function snapshotCheck(feed: Feed, { high_water_mark: begin }: SourceOffset): SnapshotCheck {
  // The mark only moves once a record was read: a snapshot that goes on has read some.
  let hasRecords = begin > 0;
  let rows = 0;
  let first: Rejected | null = null;
  let isUnreadable = false;
  return {
    progressOf(progress, { records, rejected }) {
      hasRecords ||= records.length > 0;
      rows += rejected.length;
      first ??= rejected[0] ?? null;
      if (!progress.duringSnapshot || hasRecords || first === null) return progress;
      isUnreadable = progress.complete;
      return { ...progress, highWaterMark: begin, complete: false };
    },
    end() {
      if (!isUnreadable) return;
      const { idField, updatedField, updatedFormat } = feed;
      const what = `Feed ${feed.name}: none of the ${rows} rows of the snapshot is a record. The first one: ${first!.reason}. `;
      const needed = `A record needs ${idField} as text or a whole number, and ${updatedField} as ${expectedTime[updatedFormat]}.`;
      throw new HighwaterError('SNAPSHOT_UNREADABLE', what + needed);
    },
  };
}
