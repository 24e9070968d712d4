import { get } from 'node:http';
import { httpAddress } from '../../config/http';
import { type ErrorCode, errorKinds } from '../../errors';
import type { FeedProblem, FeedStatus, ReadyFeeds } from '../../feed-status/feed-status';
import { harmless } from '../../format/short-text';
import type { CommandContext } from './command-context';

/** Shorter than the usual timeout of probes; `/readyz` asks the other instances for two seconds at most. */
const WITHIN_MS = 5_000;
/** A publisher's answer is much smaller; another server on this port may send anything. */
const MOST_CHARACTERS = 100_000;

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A process accepts connections on this port and says nothing. */
class NoAnswer extends Error {}

/** @throws Error without an answer; the signal's reason */
export function ask(url: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const late = AbortSignal.timeout(WITHIN_MS);
    late.addEventListener('abort', () => reject(new NoAnswer(`none within ${WITHIN_MS / 1_000} s`)));
    const request = get(url, { signal: AbortSignal.any([signal, late]), agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text = (text + part).slice(0, MOST_CHARACTERS);
      });
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode!, text }));
    });
    request.on('error', reject);
  });
}

/** How the feeds stand by the publisher on this machine. Asking it needs neither the log nor the registry. */
export interface PublisherView {
  /** `http://127.0.0.1:9464/readyz` */
  readonly url: string;
  /** Null: it accepts connections and does not answer, so nothing is known of its feeds. */
  readonly feeds: ReadyFeeds | null;
}

/** @returns null when these settings have no port, or nothing like a publisher answers there */
export async function publisherView(
  flags: Readonly<Record<string, unknown>>,
  { env, cwd, signal }: Pick<CommandContext, 'env' | 'cwd' | 'signal'>,
): Promise<PublisherView | null> {
  let url = '';
  try {
    url = `http://${httpAddress({ flags, env, cwd })}/readyz`;
    const { feeds } = JSON.parse((await ask(url, signal)).text) as { readonly feeds: ReadyFeeds };
    const all = Object.entries(feeds).map(([feed, answer]) => [
      feed,
      { ...answer, reason: harmless(answer.reason) },
    ]);
    return { url, feeds: Object.fromEntries(all) };
  } catch (error) {
    return error instanceof NoAnswer ? { url, feeds: null } : null;
  }
}

const HANGS = 'The publisher on this machine hangs: it accepts connections and does not answer';

/** For people; ends with a line break. */
export function publisherLines({ url, feeds }: PublisherView): string {
  if (feeds === null) return `${HANGS} (${url}).\n`;
  const unready = Object.entries(feeds).filter(([, { ready }]) => !ready);
  if (unready.length === 0)
    return `The publisher on this machine says that every feed is up to date (${url}).\n`;
  const lines = unready.map(([feed, { reason }]) => {
    const error = errorIn(reason);
    const advice = error === null ? '' : `    do: ${error.remedy} (\`highwater explain ${error.code}\`)\n`;
    return `  ${harmless(feed)}: ${reason}\n${advice}`;
  });
  return `The publisher on this machine says (${url}):\n${lines.join('')}`;
}

/** The problem of a feed as the publisher on this machine has it; null: it knows of none. */
export function problemAtPublisher({ url, feeds }: PublisherView, feed: string): FeedProblem | null {
  const severity = 'bad';
  if (feeds === null) {
    const remedy = 'Restart its process. Nothing is lost or repeated.';
    return { code: 'NO_ANSWER', severity, what: `${HANGS} (${url}).`, remedy };
  }
  const { ready = true, reason = '' } = feeds[feed] ?? {};
  const error = ready ? null : errorIn(reason);
  return error && { ...error, severity, what: `The publisher on this machine says: ${reason} (${url}).` };
}

/** The error that a reason names; null: none, or this version does not know it. */
function errorIn(reason: string): Pick<FeedProblem, 'code' | 'remedy'> | null {
  const code = /\b[A-Z]+(?:_[A-Z]+)+\b/.exec(reason)?.[0] ?? '';
  return Object.hasOwn(errorKinds, code) ? { code, remedy: errorKinds[code as ErrorCode].remedy } : null;
}

/** The feed is not as it should be, and the log has no error: the publisher on this machine may know why. */
export function isUnexplained({ condition, last_error: error, parked }: FeedStatus): boolean {
  return condition !== 'up-to-date' && condition !== 'paused' && error === null && parked === null;
}

/** Problems that follow from a cause that the log does not have. */
const consequences = ['NO_OWNER', 'OWNER_UNKNOWN', 'BEHIND'];

/**
 * The feed with its cause, if the log does not explain how it stands: as the publisher on this machine says.
 * @param instead the cause if that knows of none
 */
export function explained<Status extends FeedStatus>(
  status: Status,
  view: PublisherView | null,
  instead: FeedProblem | null = null,
): Status {
  if (!isUnexplained(status)) return status;
  const cause = (view && problemAtPublisher(view, status.feed)) ?? instead;
  if (cause === null) return status;
  const others = status.problems.filter(({ code }) => !consequences.includes(code));
  const isParked = view?.feeds?.[status.feed]?.condition === 'parked';
  const condition = isParked ? 'parked' : status.condition;
  return { ...status, condition, reason: cause.what, problems: [cause, ...others] };
}
