import type { FeedView } from '../../dashboard/view';
import { whatOf } from '../model/cause';
import { Icon } from './icon';

interface Found {
  readonly code: string;
  readonly what: string;
  readonly remedy: string;
  readonly feeds: string[];
  readonly tone: 'bad' | 'warning';
}

/** Not of the table of errors: what to do is all there is to say. */
const conditions = ['NO_OWNER', 'OWNER_UNKNOWN', 'BEHIND', 'DEAD_LETTERS'];

/** Nothing is published. */
const stops: readonly FeedView['condition'][] = ['parked', 'no-owner'];

/** What a person has to mend, and how. */
export function Problems({ feeds }: { readonly feeds: readonly FeedView[] }) {
  const problems = problemsOf(feeds);
  if (problems.length === 0) return null;
  return (
    <section
      class={`problems ${problems.some(({ tone }) => tone === 'bad') ? 'bad' : 'warning'}`}
      aria-labelledby="problems-title"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
      tabIndex={0}
    >
      <h2 id="problems-title">What to do</h2>
      <ul>
        {problems.map(({ code, what, remedy, feeds, tone }) => (
          <li key={`${code} ${what}`}>
            <Icon tone={tone} />
            <div>
              <p class="what">
                <strong>{feeds.join(', ')}</strong> <bdi>{what}</bdi>
              </p>
              <p class="remedy">
                <Prose text={remedy} />
              </p>
              <p class="code">
                {conditions.includes(code) ? (
                  <code>{code}</code>
                ) : (
                  <>
                    More: <code>highwater explain {code}</code>
                  </>
                )}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A text with commands between backticks. */
function Prose({ text }: { readonly text: string }) {
  return (
    <bdi>{text.split('`').map((part, at) => (at % 2 === 0 ? part : <code key={part}>{part}</code>))}</bdi>
  );
}

/** What is the same for several feeds is told once. */
function problemsOf(feeds: readonly FeedView[]): readonly Found[] {
  const found = new Map<string, Found>();
  for (const { feed, problem, condition } of feeds) {
    if (problem === null) continue;
    const { code, remedy } = problem;
    const what = whatOf(feed, problem);
    const same = found.get(`${code}\n${what}`);
    if (same === undefined)
      found.set(`${code}\n${what}`, {
        code,
        what,
        remedy,
        feeds: [feed],
        tone: stops.includes(condition) ? 'bad' : 'warning',
      });
    else same.feeds.push(feed);
  }
  return [...found.values()];
}
