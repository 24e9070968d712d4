import { counted } from '../../../format/counted';
import { durationText } from '../../../format/durations';
import type { DeliveryView, FeedView } from '../../dashboard/view';
import { lostSince, type Model } from './model';
import { asClause, timeOfDay } from './text';

/** `unknown`: of a publisher that is not heard; `busy`: as it should be, but not up to date. */
export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'unknown';

export interface Headline {
  readonly tone: Tone;
  readonly text: string;
  /** Other problems. */
  readonly also: string;
  /** Stays the same while only times grow: whoever listens is told again when it is another. */
  readonly key: string;
}

interface Judgement {
  readonly tone: Tone;
  /** Which of several is told first; above 0: not as up to date as it could be. */
  readonly rank: number;
  /** In a word or two. */
  readonly short: string;
  /** Its condition: continues `ipos is` and `All 3 feeds are`. */
  readonly what: string;
}

/** How one feed stands, in words. @param nowMs the publisher's clock */
export function judge(feed: FeedView, nowMs: number): Judgement {
  const { condition, problem, last_complete_scan_ms: scannedMs } = feed;
  switch (condition) {
    case 'parked':
      return { tone: 'bad', rank: 7, short: 'parked', what: `parked: ${causeOf(feed)}` };
    case 'no-owner':
      return { tone: 'bad', rank: 6, short: 'no owner', what: 'read by nobody' };
    case 'behind': {
      if (feed.being_read && scannedMs === null)
        return { tone: 'busy', rank: 2, short: 'first read', what: 'being read for the first time' };
      const behind =
        scannedMs === null ? 'not yet completely read' : `${durationText(nowMs - scannedMs)} behind`;
      // If nothing else is known, the only problem is that the feed is behind.
      const what = problem === null || problem.code === 'BEHIND' ? behind : `${behind}: ${causeOf(feed)}`;
      return { tone: 'warning', rank: 5, short: 'behind', what };
    }
    case 'owner-unknown':
      return { tone: 'warning', rank: 4, short: 'owner unknown', what: 'without a known owner' };
    case 'restoring':
      return { tone: 'busy', rank: 3, short: 'restoring', what: 'being restored' };
    case 'paused':
      return { tone: 'busy', rank: 1, short: 'paused', what: 'paused' };
    case 'standby':
      // Its owner has left in the log that it is not behind.
      if (scannedMs !== null) return upToDate;
      return { tone: 'good', rank: 0, short: 'standing by', what: 'read by another instance' };
    case 'up-to-date':
      return upToDate;
  }
}

const MOST_CHARACTERS = 100;

/** Why a feed is not as it should be, as a part of a sentence. */
function causeOf({ problem, reason }: FeedView): string {
  const text = asClause(problem?.cause ?? reason);
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS).trimEnd()}…`;
}

const upToDate: Judgement = { tone: 'good', rank: -1, short: 'up to date', what: 'up to date' };

/** Feeds that a person has to look at come first, and others stay where they are. */
export function worstFirst(feeds: readonly FeedView[], nowMs: number): readonly FeedView[] {
  const places = { bad: 0, warning: 1, busy: 2, good: 2, unknown: 2 };
  const place = (feed: FeedView): number => places[judge(feed, nowMs).tone];
  return [...feeds].sort((a, b) => place(a) - place(b));
}

/** The answer to the first question: is everything up to date? @param nowMs own clock */
export function headline(model: Model, nowMs: number): Headline {
  const { connection, feeds, deliveries, heardAtMs, aheadMs } = model;
  const lostMs = lostSince(model, nowMs);
  if (connection.state === 'token') return told('unknown', 'The publisher asks for its token', '', 'token');
  if (lostMs !== null)
    return told(
      'unknown',
      `No connection to the publisher since ${timeOfDay(lostMs)}, trying again…`,
      '',
      'lost',
    );
  if (heardAtMs === null) return told('unknown', 'Connecting to the publisher…', '', 'connecting');
  if (feeds.length === 0) return told('warning', 'The publisher has no feeds', '', 'none');

  const judged = feeds.map((feed) => ({ ...judge(feed, nowMs + aheadMs), name: feed.feed }));
  const key = judged.map(({ name, short }) => `${name} ${short}`).join();
  // A condition that several feeds share is named once for all of them, the worst condition first. `up to date` comes last.
  const whats = [...new Set(judged.map(({ what }) => what))];
  const groups = whats
    .map((what) => judged.filter((one) => one.what === what))
    .sort((a, b) => b[0]!.rank - a[0]!.rank);
  const isWell = judged.every(({ rank }) => rank <= 0);
  if (isWell) groups.reverse();
  const [first, ...others] = groups.map((group) => `${subject(group, feeds.length)} ${group[0]!.what}`);
  const problems = feeds.filter(({ problem }) => problem !== null).length;
  if (isWell && problems > 0) others.unshift(`${counted(problems, 'problem')} to look at`);
  const waiting = deliveries.filter(isWaiting).map(({ delivery }) => delivery);
  if (waiting.length > 0)
    others.unshift(
      `${conjunction.format(waiting)} ${waiting.length === 1 ? 'waits' : 'wait'} for a receiver`,
    );
  const { tone } = groups[0]![0]!;
  const isOdd = isWell && problems + waiting.length > 0;
  return told(isOdd ? 'warning' : tone, first!, others.join(' · '), `${key} ${problems} ${waiting.join()}`);
}

/** The receiver of the delivery does not take an event. */
export function isWaiting({ waits_for: why }: DeliveryView): boolean {
  return why !== null;
}

/** `ipos is`, `insights and ipos are`, `Both feeds are`, `All 3 feeds are` */
function subject(group: readonly { readonly name: string }[], all: number): string {
  const [only] = group;
  if (group.length === 1) return `${only!.name} is`;
  if (group.length === all) return all === 2 ? 'Both feeds are' : `All ${all} feeds are`;
  if (group.length > 3) return `${group.length} feeds are`;
  return `${conjunction.format(group.map(({ name }) => name))} are`;
}

const conjunction = new Intl.ListFormat('en', { type: 'conjunction' });

const told = (tone: Tone, text: string, also: string, key: string): Headline => ({ tone, text, also, key });
