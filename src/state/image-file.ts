import { randomUUID } from 'node:crypto';
import { closeSync, fdatasync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rename, rm, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '../logging/logger';
import type { SlabOptions } from './slabs';

/** The images of a feed, in a file that ends with the ownership of the feed unless a table is kept beside it. */
export interface ImageFile extends SlabOptions {
  /**
   * Writes the table that goes with the images as they are. The next owner in this folder may take both. Nothing may be written to the
   * images after it.
   */
  keep?(table: Iterable<Uint8Array>): Promise<void>;
}

/** A table that was kept, and its images. Nobody else has them any more. */
export interface KeptImages {
  readonly table: FileHandle;
  readonly file: ImageFile;
}

/**
 * The files of one feed in a folder. Images are in `<topic>-<id>.images`. A table with the same id says that they are whole; whoever
 * removes its name may use both, once. So nothing that comes later can use a table with images that have changed. Files without a
 * table are of a process that runs, or was killed: both can do without the name.
 *
 * @param folder null: images stay in memory
 * @param topic of the images; names the files
 */
export function imageFiles(folder: string | null, topic: string, feed: string, logger: Logger) {
  // A topic may have a longer name than a file. If two topics have the same files, each costs the other one what it has kept.
  const stem = `${topic.slice(0, 180)}-`;
  const inMemory = 'The images of the feed stay in memory, which takes about 1 KB for each record.';
  const facts = { feed, folder };
  const onWriteError = (error: Error | null): void => {
    if (error === null) logger.warn(`Images of feed ${feed} go into the file again.`, facts);
    else
      logger.warn(`Images of feed ${feed} cannot be written to the file: ${error.message}.`, {
        ...facts,
        now: `${inMemory} Writing is tried again with each MB.`,
        remedy: 'Free space on the disk of HIGHWATER_STATE_DIR, or name another folder.',
      });
  };

  const inFolder = (name: string): string => path.join(folder!, name);
  const newName = (): string => inFolder(`${stem}${randomUUID()}.images`);

  function imageFile(opened: string, fd: number): Required<Omit<ImageFile, 'slabBytes'>> {
    let images = opened;
    let isKept = false;
    return {
      fd,
      onWriteError,
      async keep(bytes) {
        const named = newName();
        const table = tableOf(named);
        try {
          await promisify(fdatasync)(fd);
          // Another name each time: a table from a copy of the folder must not meet later images.
          await rename(images, named);
          images = named;
          await writeFile(`${table}.new`, bytes, { flag: 'wx', mode: 0o600, flush: true });
          await rename(`${table}.new`, table);
          isKept = true;
        } catch (error) {
          await rm(`${table}.new`, { force: true }).catch(() => undefined);
          if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
            const what = `The images of feed ${feed} are not kept: another publisher uses the folder, and has removed them.`;
            return logger.info(what, facts);
          }
          logger.warn(`The state of feed ${feed} could not be kept: ${(error as Error).message}.`, {
            ...facts,
            now: 'The next start reads the images from the log.',
            remedy: 'Free space on the disk of HIGHWATER_STATE_DIR, or name another folder.',
          });
        }
      },
      close() {
        closeSync(fd);
        if (!isKept) remove(images);
      },
    };
  }

  /** None if there is no such folder. */
  function files(): string[] {
    const isOurs = (name: string): boolean =>
      name.startsWith(stem) && /^[0-9a-f-]{36}\.(images|table|table\.new)$/.test(name.slice(stem.length));
    try {
      return readdirSync(folder!).filter(isOurs).map(inFolder);
    } catch {
      return [];
    }
  }

  function removeAllBut(images: string | null): void {
    for (const file of files()) if (file !== images) remove(file);
  }

  function create(): ReturnType<typeof imageFile> {
    // As the embedded log would make it, which may use the same folder later.
    mkdirSync(folder!, { recursive: true, mode: 0o700 });
    removeAllBut(null);
    const images = newName();
    return imageFile(images, openSync(images, 'wx+', 0o600));
  }

  return {
    /** Takes what the owner before has kept here; null: nothing that can be taken. */
    async take(): Promise<KeptImages | null> {
      if (folder === null) return null;
      for (const name of files()) {
        if (!name.endsWith('.table')) continue;
        const kept = await taken(name, folder).catch((error: Error) => {
          logger.info(`Kept images of feed ${feed} cannot be used: ${error.message}.`, facts);
          return null;
        });
        if (kept === null) continue;
        const { table, images, fd } = kept;
        removeAllBut(images);
        return { table, file: imageFile(images, fd) };
      }
      return null;
    },
    /** A new file. All others of the feed are removed. @throws Error if no file can be made */
    create,
    /** As `create`. If no file can be made, images stay in memory, and a warning says so. */
    open(): ImageFile {
      if (folder === null) return IN_MEMORY;
      try {
        return create();
      } catch (error) {
        logger.warn(`No file for the images of feed ${feed} can be made: ${(error as Error).message}.`, {
          ...facts,
          now: inMemory,
          remedy: 'Name a folder in HIGHWATER_STATE_DIR that can be written.',
        });
        return IN_MEMORY;
      }
    },
  };
}

const IN_MEMORY: ImageFile = { fd: null };

function tableOf(images: string): string {
  return images.replace(/images$/, 'table');
}

/** A file that cannot be removed, such as another user's, takes room and does no harm. */
function remove(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {}
}

/**
 * Removes the name of a table, and opens its images. The folder is synchronized before anything else can be written: after a power
 * failure the table must not be there again, beside images that have changed.
 */
async function taken(name: string, folder: string) {
  const images = name.replace(/table$/, 'images');
  const table = await open(name, 'r');
  let fd: number | null = null;
  try {
    fd = openSync(images, 'r+');
    // Only one of several can.
    await unlink(name);
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
    return { table, images, fd };
  } catch (error) {
    await table.close();
    if (fd !== null) closeSync(fd);
    throw error;
  }
}
