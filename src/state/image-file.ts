import { randomUUID } from 'node:crypto';
import { mkdirSync, openSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from '../logging/logger';
import type { SlabOptions } from './slabs';

/**
 * Opens a file for the images of a feed. Its name is removed at once, so that the system frees it when the process ends, in whatever way, and
 * no other process can take it for its own. Without a folder that can be written, images stay in memory.
 * @param folder null: in memory
 */
export function openImageFile(folder: string | null, feed: string, logger: Logger): SlabOptions {
  const inMemory = 'The images of the feed stay in memory, which takes about 1 KB for each record.';
  const facts = { feed, folder };
  const onWriteError = (error: Error | null): void => {
    if (error === null) logger.info(`Images of feed ${feed} go into the file again.`, facts);
    else
      logger.warn(`Images of feed ${feed} cannot be written to the file: ${error.message}.`, {
        ...facts,
        now: `${inMemory} Writing is tried again with each MB.`,
        remedy: 'Free space on the disk of HIGHWATER_STATE_DIR, or name another folder.',
      });
  };
  if (folder === null) return { fd: null };
  try {
    // As the embedded log would make it, which may use the same folder later.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = path.join(folder, `images-${randomUUID()}`);
    const fd = openSync(file, 'wx+', 0o600);
    unlinkSync(file);
    return { fd, onWriteError };
  } catch (error) {
    logger.warn(`No file for the images of feed ${feed} can be made: ${(error as Error).message}.`, {
      ...facts,
      now: inMemory,
      remedy: 'Name a folder in HIGHWATER_STATE_DIR that can be written.',
    });
    return { fd: null };
  }
}
