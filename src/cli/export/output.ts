import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { HighwaterError } from '../../errors';
import { sync } from '../../log/local/backup';

/** Where the bytes of an export go. */
export interface Output {
  write(chunk: string | Uint8Array): Promise<void>;
  /** All is written: the file gets its name. @throws HighwaterError EXPORT_EXISTS, EXPORT_FAILED */
  finish(): Promise<void>;
  /** Removes what is not finished. */
  discard(): Promise<void>;
}

/**
 * A file that has its name only when it is whole; until then it is `<file>.<random>.part` beside it.
 * @param force replaces a file of that name
 * @throws HighwaterError EXPORT_EXISTS, EXPORT_FAILED
 */
export async function fileOutput(file: string, force: boolean): Promise<Output> {
  const part = `${file}.${randomBytes(4).toString('hex')}.part`;
  assertFree(file, force);
  const handle = await written(file, () => open(part, 'wx'));
  return {
    write: (chunk) => written(file, () => handle.appendFile(chunk)),
    finish: () =>
      written(file, async () => {
        await handle.sync();
        await handle.close();
        assertFree(file, force);
        await rename(part, file);
        sync(path.dirname(file));
      }),
    async discard() {
      await handle.close().catch(() => undefined);
      await rm(part, { force: true });
    },
  };
}

function assertFree(file: string, force: boolean): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || (force && found.isFile())) return;
  const what = found.isFile() ? 'is there already' : 'is not a file, so nothing replaces it';
  throw new HighwaterError('EXPORT_EXISTS', `${file} ${what}`);
}

async function written<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HighwaterError) throw error;
    throw new HighwaterError('EXPORT_FAILED', `${file}: ${(error as Error).message}`, { cause: error });
  }
}
