import type { OwnedTopic } from './append';
import { type Connection, prepare } from './file/sqlite';

/** Looked at in one go: what a busy topic may have left behind is gone after a few. */
const OLDEST = 200;

/** @returns removes the oldest records of a topic that are older than a moment (ms), within the caller's transaction */
export function retention(db: Connection): (topic: OwnedTopic, before: number) => void {
  const remove = prepare(
    db,
    `DELETE FROM records WHERE rowid IN (
       SELECT rowid FROM records WHERE topic = ? AND partition = ? AND offset < ? ORDER BY offset LIMIT ${OLDEST}
     ) AND timestamp < ?`,
  );
  return ({ name, nextOffsets }, before) => {
    for (const [partition, next] of nextOffsets.entries()) remove.run([name, partition, next - 1, before]);
  };
}
