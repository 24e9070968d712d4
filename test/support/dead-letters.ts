import { createHash } from 'node:crypto';
import type { Feed } from '../../src/feeds/feed';
import type { ProducerRecord } from '../../src/log/commit-log';
import { transact } from '../../src/pipeline/transaction/transact';
import type { OwnedFeed } from '../../src/runtime/owned-feed';
import type { PendingState } from '../../src/state/feed-state';

export interface LeftLetter {
  readonly raw: string;
  /** Size of the whole row, even if `raw` is only its beginning. */
  readonly bytes?: number;
  readonly ageMs?: number;
}

/** Commits dead letters as another version of the project may have left them. @returns the hash of each, its key */
export async function leaveDeadLetters(
  feed: Feed,
  owned: OwnedFeed,
  ...letters: readonly LeftLetter[]
): Promise<string[]> {
  const { codec, state, topics } = owned.deps;
  const pending = state.begin();
  const records = letters.map(({ raw, bytes = Buffer.byteLength(raw), ageMs = 0 }) => {
    const timestamp = Date.now() - ageMs;
    const key = sha256(raw);
    pending.addDeadLetter(key);
    const letter = { feed: feed.name, reason: 'not\nread', raw, sha256: key, bytes, ts_ms: timestamp };
    const value = codec.deadLetter.encode(letter);
    return { topic: topics.deadLetters.name, key, value, headers: {}, timestamp };
  });
  await commitRecords(owned, records, pending);
  return records.map(({ key }) => key);
}

/** Commits records of any content to topics of the feed, in a transaction of its owner. */
export async function commitRecords(
  { deps }: OwnedFeed,
  records: readonly ProducerRecord[],
  pending: PendingState = deps.state.begin(),
): Promise<void> {
  await transact(deps, pending, [records]);
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
