import type { FeedView } from '../../dashboard/view';
import { Icon } from './icon';

interface Found {
  readonly code: string;
  readonly what: string;
  readonly remedy: string;
  readonly feeds: string[];
}

/** What a person has to mend, and how. */
export function Problems({ feeds }: { readonly feeds: readonly FeedView[] }) {
  const problems = problemsOf(feeds);
  if (problems.length === 0) return null;
  return (
    <section class="problems" aria-labelledby="problems-title">
      <h2 id="problems-title">What to do</h2>
      <ul>
        {problems.map(({ code, what, remedy, feeds }) => (
          <li key={`${code} ${what}`}>
            <Icon tone="bad" />
            <div>
              <p class="what">
                <strong>{feeds.join(', ')}</strong> <bdi>{what}</bdi>
              </p>
              <p class="remedy">
                <bdi>{remedy}</bdi>
              </p>
              <p class="code">
                <code>{code}</code> in <code>docs/operations.md</code>
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What is the same for several feeds is told once. */
function problemsOf(feeds: readonly FeedView[]): readonly Found[] {
  const found = new Map<string, Found>();
  for (const { feed, problem } of feeds) {
    if (problem === null) continue;
    const { code, what, remedy } = problem;
    const same = found.get(`${code}\n${what}`);
    if (same === undefined) found.set(`${code}\n${what}`, { code, what, remedy, feeds: [feed] });
    else same.feeds.push(feed);
  }
  return [...found.values()];
}
