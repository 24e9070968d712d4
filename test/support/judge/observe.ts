import { existsSync } from 'node:fs';
import { readOffset, type StoredOffset } from './images';
import { type LogFile, openLogFile } from './log-file';
import { type Findings, findings, type Violation } from './verdict';

/** Where a feed stands at one moment. */
export interface FeedObservation extends StoredOffset {
  /** Events in the feed's topic. */
  readonly events: number;
}

/** Feeds that have committed something, by name. */
export type Observation = Readonly<Record<string, FeedObservation>>;

/** Looks into the log, whoever writes it meanwhile or died writing it. A log that is not there yet has nothing. */
export function observe(file: string, feeds: readonly string[]): Observation {
  const log = openedOrNull(file);
  if (log === null) return {};
  try {
    const seen: Record<string, FeedObservation> = {};
    for (const feed of feeds) {
      const stored = readOffset(log, feed);
      if (stored !== null) seen[feed] = { ...stored.offset, events: log.count(feed) };
    }
    return seen;
  } finally {
    log.close();
  }
}

/** I5 at a moment in the middle, cheap enough for each kill: position, events and images agree. */
export function checkAtomic(file: string, feeds: readonly string[]): Violation[] {
  const log = openedOrNull(file);
  if (log === null) return [];
  try {
    return feeds.flatMap((feed) => {
      const found = findings(feed);
      checkFeed(log, feed, found);
      return found.violations;
    });
  } finally {
    log.close();
  }
}

function checkFeed(log: LogFile, feed: string, found: Findings): void {
  const stored = readOffset(log, feed);
  const events = log.count(feed);
  const images = log.count(`${feed}.current`);
  const { seq = 0, record_count = 0, commit = 0 } = stored?.offset ?? {};
  if (events !== seq) found.add('I5', 'torn', `${events} events, and the source offset says ${seq}`);
  if (images !== record_count)
    found.add('I5', 'torn', `${images} images, and the source offset says ${record_count}`);
  if (stored !== null && commit !== stored.row.offset + 1)
    found.add('I5', 'torn', `commit ${commit} is number ${stored.row.offset + 1} in its topic`);
}

/** What may never go back from one look to a later one. */
export function checkForward(before: Observation, after: Observation): Violation[] {
  return Object.entries(before).flatMap(([feed, old]) => {
    const found = findings(feed);
    const now = after[feed];
    if (now === undefined) found.add('I5', 'lost', `the source offset of commit ${old.commit} is gone`);
    else if (now.incarnation !== old.incarnation)
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

/** Null before the publisher has made the file and its tables. */
function openedOrNull(file: string): LogFile | null {
  if (!existsSync(file)) return null;
  try {
    return openLogFile(file);
  } catch (error) {
    // By its text: what the native library throws is no Error of the test's realm.
    if (String(error).includes('no such table')) return null;
    throw error;
  }
}
