import { type ErrorCode, errorKinds } from '../../errors';
import { durationText } from '../../format/durations';
import type { FeedStatus } from '../feed-status';
import type { Style } from './spans';

export interface Problem {
  readonly mark: string;
  readonly style: Style;
  /** One for each feed that has it. */
  readonly texts: readonly string[];
  readonly remedy: string;
}

/** What of the feeds somebody has to know or to mend, the worst first. One remedy is said once, however many feeds want it. */
export function statusProblems(all: readonly FeedStatus[], nowMs: number): readonly Problem[] {
  const found = [...withoutPublisher(all), ...all.flatMap((status) => problemsOf(status, nowMs))];
  const byRemedy = new Map<string, Problem>();
  for (const problem of found) {
    const known = byRemedy.get(problem.remedy);
    byRemedy.set(
      problem.remedy,
      known === undefined ? problem : { ...known, texts: [...known.texts, ...problem.texts] },
    );
  }
  const rank = ({ style }: Problem): number => (style === 'red' ? 0 : 1);
  return [...byRemedy.values()].sort((a, b) => rank(a) - rank(b));
}

function withoutPublisher(all: readonly FeedStatus[]): Problem[] {
  const left = all.filter(({ owner }) => owner === null).map(({ feed }) => feed);
  if (left.length === 0) return [];
  const text =
    left.length === all.length
      ? 'No publisher runs on this log.'
      : `No publisher has ${left.join(', ')}, though others run.`;
  const remedy =
    'Start one (`highwater run`). If one should run: `highwater doctor` says what is in its way.';
  return [{ mark: '✗', style: 'red', texts: [text], remedy }];
}

function problemsOf(status: FeedStatus, nowMs: number): Problem[] {
  const { feed, owner, paused, behind, last_complete_scan_ms: scanned, dead_letters: letters } = status;
  const problems: Problem[] = [];
  const add = (style: 'red' | 'yellow', mark: string, text: string, remedy: string) =>
    problems.push({ style, mark, texts: [`${feed}${text}`], remedy });
  const error = lastError(status);
  if (error !== null) add('red', '✗', `: ${error.text}`, error.remedy);
  if (paused)
    add('yellow', '‖', ' is paused by an operator, and not polled.', `\`highwater resume ${feed}\``);
  else if (behind && error === null && owner !== null && status.snapshot === 'complete') {
    const since = scanned === null ? 'never' : `${durationText(nowMs - scanned)} ago`;
    const every = durationText(status.poll_interval_ms);
    add(
      'yellow',
      '!',
      ` is behind: its last complete scan was ${since}, and it is to be polled every ${every}.`,
      'See the log of the publisher; `highwater doctor` checks what it needs.',
    );
  }
  if (letters > 0) {
    const what = letters === 1 ? '1 dead letter, which could' : `${letters} dead letters, which could`;
    add('yellow', '!', ` has ${what} not be published.`, `\`highwater dead-letters list ${feed}\``);
  }
  return problems;
}

/** The stored error, with the feed's name taken out of its beginning, where it stands already. */
function lastError({ feed, parked, last_error }: FeedStatus): { text: string; remedy: string } | null {
  if (last_error === null && parked === null) return null;
  const [, code = parked ?? '', said = last_error ?? ''] =
    /^([A-Z][A-Z0-9_]*): ([\s\S]*)$/.exec(last_error ?? '') ?? [];
  const message = said.startsWith(`${feed}: `) ? said.slice(feed.length + 2) : said;
  // The publisher may be of a version that has more codes.
  const remedy = Object.hasOwn(errorKinds, code)
    ? `${errorKinds[code as ErrorCode].remedy} (\`highwater explain ${code}\`)`
    : 'See the log of the publisher.';
  return { text: [code, message].filter((part) => part !== '').join(': '), remedy };
}
