import type { FeedView } from '../../dashboard/view';
import { lostSince, type Model } from './model';
import { asClause, counted, duration, timeOfDay } from './text';

/** `unknown`: of a publisher that is not heard; `busy`: as it should be, but not up to date. */
export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'unknown';

export interface Headline {
  readonly tone: Tone;
  readonly text: string;
  /** What else is not as it should be. */
  readonly also: string;
  /** Stays the same while only times grow: whoever listens is told again when it is another. */
  readonly key: string;
}

interface Judgement {
  readonly tone: Tone;
  /** Which of several is told first. */
  readonly rank: number;
  readonly short: string;
  readonly text: string;
}

/** How one feed stands, in words. */
export function judge(feed: FeedView, nowMs: number): Judgement {
  const { feed: name, condition, problem, reason, lastCompleteScanMs: scannedMs } = feed;
  const because = problem === null ? reason : asClause(problem.what);
  switch (condition) {
    case 'parked':
      return { tone: 'bad', rank: 7, short: 'parked', text: `${name} is parked: ${because}` };
    case 'no-owner':
      return { tone: 'bad', rank: 6, short: 'no owner', text: `${name} is read by nobody` };
    case 'behind': {
      const isFirst = feed.snapshot !== 'complete' && scannedMs === null && problem === null;
      if (isFirst)
        return {
          tone: 'busy',
          rank: 2,
          short: 'first read',
          text: `${name} is being read for the first time`,
        };
      const text =
        scannedMs === null
          ? `${name} was never completely read`
          : `${name} is ${duration(nowMs - scannedMs)} behind`;
      return {
        tone: 'warning',
        rank: 5,
        short: 'behind',
        text: problem === null ? text : `${text}: ${because}`,
      };
    }
    case 'owner-unknown':
      return { tone: 'warning', rank: 4, short: 'owner unknown', text: `who reads ${name} is not known` };
    case 'restoring':
      return { tone: 'busy', rank: 3, short: 'restoring', text: `${name} is being restored` };
    case 'paused':
      return { tone: 'busy', rank: 1, short: 'paused', text: `${name} is paused` };
    case 'standby':
      return { tone: 'good', rank: 0, short: 'standing by', text: `another instance reads ${name}` };
    case 'up-to-date':
      return { tone: 'good', rank: -1, short: 'up to date', text: `${name} is up to date` };
  }
}

/** The answer to the first question: is everything up to date? @param nowMs own clock */
export function headline(model: Model, nowMs: number): Headline {
  const { connection, feeds, heardAtMs, aheadMs } = model;
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

  const judged = feeds
    .map((feed) => ({ ...judge(feed, nowMs + aheadMs), feed }))
    .sort((a, b) => b.rank - a.rank);
  const key = judged
    .map(({ feed, short }) => `${feed.feed} ${short}`)
    .sort()
    .join();
  const off = judged.filter(({ rank }) => rank > 0);
  const worst = off[0];
  if (worst === undefined) return allWell(feeds, key);
  const rest = feeds.length - off.length;
  const others = off.slice(1).map(({ text }) => text);
  if (rest > 0)
    others.push(
      rest === 1 ? `${judged.at(-1)!.feed.feed} is up to date` : `the other ${rest} are up to date`,
    );
  return told(worst.tone, sentence(worst.text), sentence(others.join(' · ')), key);
}

function allWell(feeds: readonly FeedView[], key: string): Headline {
  const elsewhere = feeds.filter(({ condition }) => condition === 'standby');
  const own = feeds.length - elsewhere.length;
  const problems = feeds.filter(({ problem }) => problem !== null).length;
  const also = problems === 0 ? '' : `${counted(problems, 'problem')} to look at`;
  const tone = problems === 0 ? 'good' : 'warning';
  if (own === 0) return told(tone, 'Standing by: other instances read all feeds', also, key);
  const read =
    own === 1 && feeds.length === 1 ? `${feeds[0]!.feed} is up to date` : `All ${own} feeds are up to date`;
  if (elsewhere.length === 0) return told(tone, read, also, `${key} ${problems}`);
  const names = elsewhere.map(({ feed }) => feed).join(', ');
  return told(
    tone,
    `${counted(own, 'feed')} ${own === 1 ? 'is' : 'are'} up to date`,
    [also, `another instance reads ${names}`].filter((text) => text !== '').join(' · '),
    `${key} ${problems}`,
  );
}

const told = (tone: Tone, text: string, also: string, key: string): Headline => ({ tone, text, also, key });

/** A name at the beginning keeps its spelling: feeds are named in small letters. */
function sentence(text: string): string {
  return /^(who|another|the) /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
