import { checkNumbers, readChanges, where } from './change-log';
import { checkDeadLetters } from './dead-letters';
import { type ApiVersion, absences, byId } from './history';
import { checkImages, checkOffset, readOffset } from './images';
import { type Life, type Live, type LivedLife, livesOf } from './lives';
import type { JudgedLog } from './log';
import { withLogFile } from './log-file';
import { checkTruth, checkVersions, replay } from './replay';
import { checkResets } from './resets';
import { checkTransactions } from './transactions';
import { checkTransitions } from './transitions';
import { type FeedCounts, type Findings, findings, type Verdict, type Violation } from './verdict';

/** Present and past rows of one endpoint of the API. */
export interface ApiTruth {
  /** Every version, oldest first, as it was shown. */
  readonly history: readonly ApiVersion[];
  /** Present rows with an id and `updated`, by id. */
  readonly records: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** Present rows without an id or `updated`. */
  readonly unusable: readonly Readonly<Record<string, unknown>>[];
}

/** Facts about a run for the judge, by feed if feeds differ. */
export interface Knowledge {
  /** How often a later snapshot was asked for: so often at most is a live record read once more. Default: never. */
  readonly snapshots?: Readonly<Record<string, number>>;
  /** So long at least a record must have been gone when it is deleted: the interval of the polls, ms. Default 0. */
  readonly goneForMs?: number;
  /** Overlap of each poll. A reconcile finds rows that appeared with an older `updated`. Seconds, default 5. */
  readonly overlapSeconds?: number;
  /** How long before its end a reconcile may have passed over a record, ms. Default 0: nothing moved while it ran. */
  readonly reconcileMs?: number;
}

/**
 * Replays a log and holds it against the API: I1 to I8 of the design, and the transitions. It decodes by the schemas of the log or
 * its registry, relies only on the order within partitions, and shares no code with the publisher.
 *
 * @param truth by feed; the publisher must have had time for a whole scan since the API last changed
 */
export function judge(
  log: JudgedLog,
  truth: Readonly<Record<string, ApiTruth>>,
  known: Knowledge = {},
): Verdict {
  const violations: Violation[] = [];
  const feeds: Record<string, FeedCounts> = {};
  for (const [feed, { history, records, unusable }] of Object.entries(truth)) {
    const found = findings(feed);
    const events = readChanges(log, feed, found);
    const stored = readOffset(log, feed);
    const lives = livesOf(events).map((life): LivedLife => {
      // In the order of the log.
      checkNumbers(
        events.filter(({ incarnation }) => incarnation === life.incarnation),
        found,
      );
      return { ...life, live: replay(feed, life, known.snapshots?.[feed] ?? 0, found) };
    });
    checkVersions(feed, lives, history, found);
    checkDeletes(feed, lives, history, known, found);
    // A reset may just have been: then nothing is live.
    const current = lives.find(({ incarnation }) => incarnation === stored?.offset.incarnation);
    const live: Live = (stored === null ? lives.at(-1) : current)?.live ?? new Map();
    const { last_reconcile_ms, snapshot_completed_ms } = stored?.offset ?? {};
    const lastReadMs = Math.max(last_reconcile_ms ?? 0, snapshot_completed_ms ?? 0);
    const readUntilMs = lastReadMs - (known.reconcileMs ?? 0);
    checkTruth(feed, live, records, history, { overlapSeconds: known.overlapSeconds, readUntilMs }, found);
    const imageCounts = checkImages(log, feed, lives, live, found);
    checkResets(log, feed, lives, live, found);
    const commits = checkOffset(log, lives, live, stored, imageCounts, found);
    if (log.keeps === 'all') checkTransactions(log, feed, events, found);
    const transitions = checkTransitions(log, feed, lives, found);
    const deadLetters = checkDeadLetters(log, feed, history, unusable, found);
    violations.push(...found.violations);
    const byOp: Record<string, number> = {};
    for (const { envelope } of events) byOp[envelope.op] = (byOp[envelope.op] ?? 0) + 1;
    feeds[feed] = {
      events: events.length,
      byOp,
      live: live.size,
      transitions,
      deadLetters,
      commits,
      incarnations: lives.length,
    };
  }
  return { violations, feeds };
}

/** A record may come back while its delete is on its way: after the answer that proved it gone. */
const PROOF_MS = 10_000;

/** I7 as far as a log can show it: the API did not show a deleted record, and that for a while. */
function checkDeletes(
  feed: string,
  lives: readonly Life[],
  history: readonly ApiVersion[],
  { goneForMs = 0 }: Knowledge,
  found: Findings,
): void {
  const versions = byId(feed, history);
  for (const { row, id, envelope } of lives.flatMap(({ events }) => events)) {
    if (envelope.op !== 'd') continue;
    const at = envelope.ts_ms;
    const isProved = absences(versions.get(id) ?? []).some(
      ({ fromMs, toMs }) => fromMs <= at - goneForMs && toMs > at - PROOF_MS,
    );
    if (!isProved) found.add('I7', 'wrong', `${where(row)}: ${id} is deleted, and the API showed it`);
  }
}

/** Judges `highwater.db`, opened for reading only. */
export function judgeFile(
  file: string,
  truth: Readonly<Record<string, ApiTruth>>,
  known: Knowledge = {},
): Verdict {
  return withLogFile(file, (log) => judge(log, truth, known));
}
