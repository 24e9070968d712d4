import { FENCE_KEY, type LogRecord } from '../../commit-log';

/**
 * Header of a fence: the ownership that wrote it. A fence is a tombstone, so a reader tells it from the delete of a record by this
 * header. Deletes name the event that caused them instead.
 */
export const OWNER_EPOCH = 'owner_epoch';

/**
 * Every new owner writes a fence into each partition of the feed's compacted topics, in a transaction of its own. The fence tells the
 * owner how far it has to read, and a former owner that it has lost the feed.
 */
export function isFence({ key, value, headers }: Pick<LogRecord, 'key' | 'value' | 'headers'>): boolean {
  return value === null && key === FENCE_KEY && headers[OWNER_EPOCH] !== undefined;
}
