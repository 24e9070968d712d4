import { get } from 'node:http';
import { httpAddress } from '../../config/http-address';
import { errorKinds } from '../../errors';
import type { FeedProblem } from '../../feed-status/problems';
import { harmless } from '../../format/harmless';
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
  /** It accepts connections and does not answer, so nothing else is known of it. */
  readonly hangs: boolean;
  /** By feed: why it is not ready. */
  readonly unready: ReadonlyMap<string, UnreadyFeed>;
  readonly feeds: readonly string[];
}

export interface UnreadyFeed {
  /** For people: `parked by SOURCE_UNAUTHORIZED, tried again slowly`. */
  readonly reason: string;
  readonly isParked: boolean;
  /** The error that the reason names; null: none, or this version does not know it. */
  readonly error: { readonly code: string; readonly remedy: string } | null;
}

/** @returns null when these settings have no port, or nothing like a publisher answers there */
export async function publisherView(
  flags: Readonly<Record<string, unknown>>,
  { env, cwd, signal }: Pick<CommandContext, 'env' | 'cwd' | 'signal'>,
): Promise<PublisherView | null> {
  let url = '';
  try {
    url = `http://${httpAddress({ flags, env, cwd })}/readyz`;
    const { feeds } = JSON.parse((await ask(url, signal)).text) as {
      readonly feeds: Readonly<Record<string, FeedAnswer>>;
    };
    const all = Object.entries(feeds);
    const found = all
      .filter(([, { ready }]) => !ready)
      .map(([feed, answer]) => [feed, unready(answer)] as const);
    return { url, hangs: false, unready: new Map(found), feeds: all.map(([feed]) => feed) };
  } catch (error) {
    return error instanceof NoAnswer ? { url, hangs: true, unready: new Map(), feeds: [] } : null;
  }
}

function unready({ condition, reason }: FeedAnswer): UnreadyFeed {
  const code = /\b[A-Z]+(?:_[A-Z]+)+\b/.exec(reason)?.[0] ?? '';
  const kinds: Readonly<Record<string, { readonly remedy: string }>> = errorKinds;
  const error = Object.hasOwn(kinds, code) ? { code, remedy: kinds[code]!.remedy } : null;
  return { reason: harmless(reason), isParked: condition === 'parked', error };
}

/** For people; ends with a line break. */
export function publisherLines({ url, hangs, unready }: PublisherView): string {
  if (hangs) return `${HANGS} (${url}).\n`;
  if (unready.size === 0)
    return `The publisher on this machine says that every feed is up to date (${url}).\n`;
  const lines = [...unready].map(([feed, { reason, error }]) => {
    const advice = error === null ? '' : `    do: ${error.remedy} (\`highwater explain ${error.code}\`)\n`;
    return `  ${harmless(feed)}: ${reason}\n${advice}`;
  });
  return `The publisher on this machine says (${url}):\n${lines.join('')}`;
}

const HANGS = 'The publisher on this machine hangs: it accepts connections and does not answer';

/** The problem of a feed as the publisher on this machine has it; null: it knows of none. */
export function problemAtPublisher({ url, hangs, unready }: PublisherView, feed: string): FeedProblem | null {
  if (hangs) {
    const remedy = 'Restart its process. Nothing is lost or repeated.';
    return { code: 'NO_ANSWER', severity: 'bad', what: `${HANGS} (${url}).`, remedy };
  }
  const { reason, error } = unready.get(feed) ?? { reason: '', error: null };
  if (error === null) return null;
  return { ...error, severity: 'bad', what: `The publisher on this machine says: ${reason} (${url}).` };
}

interface FeedAnswer {
  readonly ready: boolean;
  readonly condition: string;
  readonly reason: string;
}
