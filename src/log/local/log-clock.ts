import { type Connection, cell, prepare } from './file/sqlite';

/**
 * The time by which records grow old. A wall clock may jump, and a removed record does not come back. So this clock goes on as
 * a clock that does not step, and follows the wall clock over any other distance only after a day of observations in which the wall
 * clock has not gone back. It is kept in the file, since a process may start while the wall clock is wrong.
 *
 * It is never ahead of the wall clock. After a stop, a sleep or a jump of the machine it is behind, for two days at most.
 * In ms. To be called in a transaction that is not given up.
 */
export type LogClock = () => number;

/** A time of the wall clock is believed after so much observed time. */
const BELIEVED_AFTER_MS = 86_400_000;
/** As much as the time between two observations counts. One jump does not prove itself. */
const MOST_STEP_MS = BELIEVED_AFTER_MS / 2;
/** Differences that need no write. */
const SLACK_MS = 60_000;

type Row = [believed: number, candidate: number, observed: number, last: number];

/**
 * The table holds one row: the time that is believed; the time of the wall clock that will be believed next; how long it has been
 * observed that the wall clock did not go back behind that; the last observation.
 */
const TABLE = `CREATE TABLE IF NOT EXISTS clock (
  believed INTEGER NOT NULL, candidate INTEGER NOT NULL, observed INTEGER NOT NULL, last INTEGER NOT NULL
)`;

export function logClock(db: Connection): LogClock {
  /** The last observation that this process has kept. */
  let kept: { readonly last: number; readonly steadyMs: number } | null = null;

  /** @returns the time that is believed */
  function keep(...row: Row): number {
    prepare(db, 'DELETE FROM clock').run();
    prepare(db, 'INSERT INTO clock VALUES (?, ?, ?, ?)').run(row);
    kept = { last: row[3], steadyMs: performance.now() };
    return row[0];
  }

  return () => {
    db.exec(TABLE);
    const wall = Date.now();
    const [row] = prepare(db, 'SELECT * FROM clock').all() as Row[];
    if (row === undefined) return keep(Math.min(newestIn(db) ?? wall, wall), wall, 0, wall);
    const [before, candidate, observed, last] = row;
    const passed = kept?.last === last ? Math.floor(performance.now() - kept.steadyMs) : 0;
    const believed = Math.min(before + passed, wall);
    const step = wall - last;
    if (Math.abs(step) < SLACK_MS) return believed;
    if (step < 0) return keep(believed, wall, 0, wall);
    const enough = observed + Math.min(step, MOST_STEP_MS);
    if (enough < BELIEVED_AFTER_MS) return keep(believed, candidate, enough, wall);
    return keep(Math.max(believed, candidate), wall, 0, wall);
  };
}

/** Timestamp of the record that came last; null without one. */
function newestIn(db: Connection): number | null {
  return cell(prepare(db, 'SELECT CAST(timestamp AS INTEGER) FROM records ORDER BY rowid DESC LIMIT 1'));
}
