import { get } from 'node:http';
import { httpAddress } from '../../config/http-address';
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

/** @throws Error without an answer; the signal's reason */
export function ask(url: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const late = AbortSignal.timeout(WITHIN_MS);
    late.addEventListener('abort', () => reject(new Error(`none within ${WITHIN_MS / 1_000} s`)));
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
  /** By feed: why it is not ready. */
  readonly unready: ReadonlyMap<string, string>;
  readonly feeds: readonly string[];
}

/** @returns null when these settings have no port, or nothing like a publisher answers there */
export async function publisherView(
  flags: Readonly<Record<string, unknown>>,
  { env, cwd, signal }: Pick<CommandContext, 'env' | 'cwd' | 'signal'>,
): Promise<PublisherView | null> {
  try {
    const url = `http://${httpAddress({ flags, env, cwd })}/readyz`;
    const { feeds } = JSON.parse((await ask(url, signal)).text) as {
      readonly feeds: Readonly<Record<string, FeedAnswer>>;
    };
    const all = Object.entries(feeds);
    const unready = all
      .filter(([, { ready }]) => !ready)
      .map(([feed, { reason }]) => [feed, harmless(reason)] as const);
    return { url, unready: new Map(unready), feeds: all.map(([feed]) => feed) };
  } catch {
    return null;
  }
}

interface FeedAnswer {
  readonly ready: boolean;
  readonly reason: string;
}

/** For people; ends with a line break. */
export function publisherLines({ url, unready }: PublisherView): string {
  if (unready.size === 0)
    return `The publisher on this machine says that every feed is up to date (${url}).\n`;
  const lines = [...unready].map(([feed, reason]) => `  ${harmless(feed)}: ${reason}\n`);
  return `The publisher on this machine says (${url}):\n${lines.join('')}`;
}
