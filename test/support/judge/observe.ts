import { commitsOf, readOffset, type StoredOffset } from './images';
import type { JudgedLog } from './log';
import { type Findings, findings, type Violation } from './verdict';

/** Where a feed stands at one moment. */
export interface FeedObservation extends StoredOffset {
  /** Events in the feed's topic. */
  readonly events: number;
}

/** Feeds that have committed something, by name. */
export type Observation = Readonly<Record<string, FeedObservation>>;

export function observe(log: JudgedLog, feeds: readonly string[]): Observation {
  const seen: Record<string, FeedObservation> = {};
  for (const feed of feeds) {
    const stored = readOffset(log, feed);
    if (stored !== null) seen[feed] = { ...stored.offset, events: log.count(feed) };
  }
  return seen;
}

/**
 * I5 at a moment in the middle, cheap enough for each kill: position, events and images agree.
 * @param resets whether there may have been any
 */
export function checkAtomic(log: JudgedLog, feeds: readonly string[], resets = false): Violation[] {
  return feeds.flatMap((feed) => {
    const found = findings(feed);
    checkFeed(log, feed, resets, found);
    return found.violations;
  });
}

function checkFeed(log: JudgedLog, feed: string, resets: boolean, found: Findings): void {
  const stored = readOffset(log, feed);
  const events = resets ? countOf(log, feed, stored?.offset.incarnation) : log.count(feed);
  const images = log.tableSize(`${feed}.current`);
  const { seq = 0, record_count = 0, commit = 0 } = stored?.offset ?? {};
  if (events !== seq) found.add('I5', 'torn', `${events} events, and the source offset says ${seq}`);
  if (images !== record_count)
    found.add('I5', 'torn', `${images} images, and the source offset says ${record_count}`);
  if (stored === null) return;
  const { row, offset } = stored;
  const commits = commitsOf(log, row, offset, resets);
  if (commit !== commits) found.add('I5', 'torn', `commit ${commit} is number ${commits} in its topic`);
}

/** Events of one incarnation. Events of earlier incarnations stay in the topic. */
function countOf(log: JudgedLog, feed: string, incarnation: string | undefined): number {
  return log.rows(feed).filter(({ headers }) => headers.ce_id?.split(':')[1] === incarnation).length;
}

/** Values that must never go back from one observation to the next. @param resets whether there may have been resets */
export function checkForward(before: Observation, after: Observation, resets = false): Violation[] {
  return Object.entries(before).flatMap(([feed, old]) => {
    const found = findings(feed);
    const now = after[feed];
    if (now === undefined) found.add('I5', 'lost', `the source offset of commit ${old.commit} is gone`);
    else if (now.incarnation !== old.incarnation && resets) {
      if (now.events < old.events)
        found.add('I5', 'lost', `${old.events} events became ${now.events} over a reset`);
    } else if (now.incarnation !== old.incarnation)
      found.add('I2', 'lost', `incarnation ${old.incarnation} became ${now.incarnation}`);
    else if (now.commit < old.commit || now.seq < old.seq || now.events < old.events)
      found.add(
        'I5',
        'lost',
        `commit ${old.commit}, seq ${old.seq}, ${old.events} events became ${now.commit}, ${now.seq}, ${now.events}`,
      );
    else if (now.commit === old.commit && now.owner_epoch !== old.owner_epoch)
      found.add('I5', 'torn', `commit ${now.commit} changed its owner epoch`);
    return found.violations;
  });
}
