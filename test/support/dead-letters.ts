import { createHash } from 'node:crypto';
import type { Feed } from '../../src/feeds/feed';
import { commit } from '../../src/pipeline/commit';
import { encodeTransaction } from '../../src/pipeline/encode';
import type { OwnedFeed } from '../../src/runtime/owned-feed';

export interface LeftLetter {
  readonly raw: string;
  /** Of the whole row, where `raw` is only its beginning. */
  readonly bytes?: number;
  readonly ageMs?: number;
}

/** Commits dead letters as another version of the project may have left them. @returns the hash of each, its key */
export async function leaveDeadLetters(
  feed: Feed,
  { deps: { session, codec, state, topics } }: OwnedFeed,
  ...letters: readonly LeftLetter[]
): Promise<string[]> {
  const pending = state.begin();
  const records = letters.map(({ raw, bytes = Buffer.byteLength(raw), ageMs = 0 }) => {
    const timestamp = Date.now() - ageMs;
    const key = sha256(raw);
    pending.addDeadLetter(key);
    const letter = { feed: feed.name, reason: 'not\nread', raw, sha256: key, bytes, ts_ms: timestamp };
    const value = codec.deadLetter.encode(letter);
    return { topic: topics.deadLetters.name, key, value, headers: {}, timestamp };
  });
  const { ownerEpoch } = session;
  const context = { feed, topics, codec, owner: 'test', ownerEpoch, observedAtMs: Date.now() };
  await commit(encodeTransaction([records], pending, context, session), pending, session);
  return records.map(({ key }) => key);
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
