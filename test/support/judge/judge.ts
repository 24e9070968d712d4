import { bySeq, type ChangeEvent, checkNumbers, readChanges } from './change-log';
import { checkDeadLetters } from './dead-letters';
import { checkImages, checkOffset } from './images';
import type { JudgedLog } from './log';
import { withLogFile } from './log-file';
import { type ApiVersion, checkTruth, checkVersions, type Live, replay } from './replay';
import { checkTransactions } from './transactions';
import { checkTransitions } from './transitions';
import { type FeedCounts, type Findings, findings, type Verdict, type Violation } from './verdict';

/** What one endpoint of the API shows now and ever showed. */
export interface ApiTruth {
  /** Every version, oldest first, as it was shown. */
  readonly history: readonly ApiVersion[];
  /** What is shown now and has an id and `updated`, by id. */
  readonly records: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** What is shown now and lacks one of them. */
  readonly unusable: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Replays a log and holds it against the API: I1 to I6 and I8 of the design, and the transitions. It decodes by the schemas
 * that the log or its registry holds, relies on the order within partitions alone, and shares no code with the publisher.
 *
 * @param truth by feed; the publisher must have had time for a whole scan since the API last changed
 */
export function judge(log: JudgedLog, truth: Readonly<Record<string, ApiTruth>>): Verdict {
  const violations: Violation[] = [];
  const feeds: Record<string, FeedCounts> = {};
  for (const [feed, { history, records, unusable }] of Object.entries(truth)) {
    const found = findings(feed);
    const events = readChanges(log, feed, found);
    checkVersions(feed, events, history, found);
    const live = replayIncarnations(feed, events, found);
    checkTruth(feed, live, records, found);
    const imageCounts = checkImages(log, feed, events, live, found);
    const commits = checkOffset(log, feed, events, live, imageCounts, found);
    if (log.keeps === 'all') checkTransactions(log, feed, events, found);
    const transitions = checkTransitions(log, feed, events, found);
    const deadLetters = checkDeadLetters(log, feed, history, unusable, found);
    violations.push(...found.violations);
    const byOp: Record<string, number> = {};
    for (const { envelope } of events) byOp[envelope.op] = (byOp[envelope.op] ?? 0) + 1;
    feeds[feed] = { events: events.length, byOp, live: live.size, transitions, deadLetters, commits };
  }
  return { violations, feeds };
}

/** Judges `highwater.db`, opened for reading only. */
export function judgeFile(file: string, truth: Readonly<Record<string, ApiTruth>>): Verdict {
  return withLogFile(file, (log) => judge(log, truth));
}

/** A new incarnation starts from nothing: only the last one's images are live. */
function replayIncarnations(feed: string, events: readonly ChangeEvent[], found: Findings): Live {
  let live: Live = new Map();
  const incarnations = new Map<string, ChangeEvent[]>();
  for (const event of events) {
    const known = incarnations.get(event.incarnation);
    if (known === undefined) incarnations.set(event.incarnation, [event]);
    else known.push(event);
  }
  const first = (life: readonly ChangeEvent[]): number => bySeq(life)[0]!.row.timestamp;
  for (const life of [...incarnations.values()].sort((a, b) => first(a) - first(b))) {
    checkNumbers(life, found);
    live = replay(feed, life, found);
  }
  return live;
}
