import type { FeedState } from '../../src/state/feed-state';

/** Ids of the records that have an image. */
export function idsIn({ records }: Pick<FeedState, 'records'>): string[] {
  return Array.from(records.numbers(), records.idOf);
}
