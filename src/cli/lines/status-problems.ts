import { errorKinds } from '../../errors';
import type { FeedProblem } from '../../feed-status/problems';
import type { FeedStatus } from '../status/feed-status';
import type { Style } from '../terminal/spans';

export interface Problem {
  readonly mark: string;
  readonly style: Style;
  /** One for each feed that has it. */
  readonly texts: readonly string[];
  readonly remedy: string;
}

/** The problems of the feeds and what to do about them, the worst first. Feeds that need the same remedy share one problem. */
export function statusProblems(all: readonly FeedStatus[]): readonly Problem[] {
  const found = [...withoutPublisher(all), ...all.flatMap(ofFeed)];
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

/** Feeds that nobody publishes, in one text. */
function withoutPublisher(all: readonly FeedStatus[]): Problem[] {
  const left = all.flatMap(({ feed, problems }) =>
    problems.flatMap((problem) => (problem.code === 'NO_OWNER' ? [{ feed, problem }] : [])),
  );
  if (left.length === 0) return [];
  const text = all.every(({ owner }) => owner === null)
    ? 'No publisher runs on this log.'
    : `No publisher has ${left.map(({ feed }) => feed).join(', ')}, though others run.`;
  return [{ mark: '✗', style: 'red', texts: [text], remedy: left[0]!.problem.remedy }];
}

function ofFeed({ feed, problems }: FeedStatus): Problem[] {
  return problems
    .filter(({ code }) => code !== 'NO_OWNER')
    .map((problem) => {
      const { code, severity, what, remedy } = problem;
      const [mark, style] = code === 'PAUSED' ? (['‖', 'yellow'] as const) : marks[severity];
      if (!Object.hasOwn(errorKinds, code)) return { mark, style, texts: [`${feed}: ${what}`], remedy };
      const text = [feed, code, what].filter((part) => part !== '').join(': ');
      return { mark, style, texts: [text], remedy: `${remedy} (\`highwater explain ${code}\`)` };
    });
}

const marks: Readonly<Record<FeedProblem['severity'], readonly [string, Style]>> = {
  bad: ['✗', 'red'],
  warning: ['!', 'yellow'],
  note: ['!', 'yellow'],
};
