import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { HighwaterError } from '../../errors';

/** Where somebody is asked: stdin and stderr, if they are a terminal. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & { readonly isTTY?: boolean };
}

/**
 * Asks for the name of the feed, because `yes` is typed too easily.
 * @param signal Ctrl-C, which counts as no
 * @throws HighwaterError USAGE_INVALID where there is no terminal
 */
export async function confirmReset(
  feed: string,
  { input, output }: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  if (!input.isTTY || !output.isTTY) {
    throw new HighwaterError(
      'USAGE_INVALID',
      `reset removes all images of ${feed} and publishes every record again, and there is no terminal to confirm it`,
      { now: 'Nothing was reset.', remedy: 'Say --yes when it is meant.' },
    );
  }
  const asking = createInterface({ input, output });
  const left = new AbortController();
  asking.once('close', () => left.abort());
  try {
    const question = `Reset removes all images of ${feed} and publishes every record again.\nType the name of the feed to go on: `;
    const answer = await asking.question(question, { signal: AbortSignal.any([signal, left.signal]) });
    return answer.trim() === feed;
  } catch (error) {
    if (signal.aborted || left.signal.aborted) return false;
    throw error;
  } finally {
    asking.close();
  }
}
