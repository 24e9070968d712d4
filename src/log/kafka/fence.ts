import type { LogRecord } from '../commit-log';

/**
 * A fence is a tombstone under a key that no record has, written by every new owner into each partition of the feed's
 * compacted topics, in a transaction of its own. To readers it is the delete of something that never was. It tells the
 * owner how far it has to read, and a former owner that it is one no more.
 */
export const FENCE_KEY = '__highwater_fence';

/** Header of a fence: the ownership that wrote it. */
export const OWNER_EPOCH = 'owner_epoch';

export function isFence({ key, value }: Pick<LogRecord, 'key' | 'value'>): boolean {
  return key === FENCE_KEY && value === null;
}
