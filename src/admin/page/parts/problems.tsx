import { durationText } from '../../../format/durations';
import type { FeedView, ProblemView } from '../../dashboard/view';
import { timeOfDay } from '../model/text';
import { Icon } from './icon';

interface Found extends ProblemView {
  readonly feeds: string[];
}

/** Not of the table of errors: what to do is all there is to say. */
const conditions = [
  'NO_OWNER',
  'OWNER_UNKNOWN',
  'BEHIND',
  'DEAD_LETTERS',
  'DELETES_WITHHELD',
  'RECONCILE_OVERDUE',
];

/** The problems that only a person can fix, with what to do. */
export function Problems({ feeds, nowMs }: { readonly feeds: readonly FeedView[]; readonly nowMs: number }) {
  const problems = problemsOf(feeds);
  if (problems.length === 0) return null;
  return (
    <section
      class={`problems ${problems.some(({ severity }) => severity === 'bad') ? 'bad' : 'warning'}`}
      aria-labelledby="problems-title"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
      tabIndex={0}
    >
      <h2 id="problems-title">What to do</h2>
      <ul>
        {problems.map(({ code, what, remedy, feeds, severity, see, sinceMs, retryAtMs }) => (
          <li key={`${code} ${what}`}>
            <Icon tone={severity} />
            <div>
              <p class="what">
                <strong>{feeds.join(', ')}</strong> <bdi>{what}</bdi>
              </p>
              <p class="remedy">
                <Prose text={remedy} />
              </p>
              <p class="code">
                {sinceMs !== null && `Since ${timeOfDay(sinceMs)}. `}
                {retryAtMs !== null &&
                  `Tried again ${retryAtMs > nowMs ? `in ${durationText(retryAtMs - nowMs)}` : 'now'}. `}
                {conditions.includes(code) ? (
                  <code>{code}</code>
                ) : (
                  <>
                    More: <code>highwater explain {code}</code>
                    {see !== null && (
                      <>
                        , <code>{see}</code>
                      </>
                    )}
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

/** A problem that several feeds share is told once. */
function problemsOf(feeds: readonly FeedView[]): readonly Found[] {
  const found = new Map<string, Found>();
  for (const { feed, problem } of feeds) {
    if (problem === null) continue;
    const key = `${problem.code}\n${problem.what}`;
    const same = found.get(key);
    if (same === undefined) found.set(key, { ...problem, feeds: [feed] });
    else same.feeds.push(feed);
  }
  return [...found.values()];
}
