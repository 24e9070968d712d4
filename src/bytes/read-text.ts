import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { types } from 'node:util';

/** Settings, tokens, certificates and schemas are far smaller. */
const mostBytes = 1_048_576;

/** The text of a file, or why there is none: `ENOENT`, `a pipe, not a regular file`. */
export type ReadText = { readonly text: string } | { readonly failure: string };

/**
 * Reads a regular file that a person has named; symbolic links are followed. A pipe, such as `<(command)`, is refused: its writer
 * may keep the program waiting for ever, and it can be read only once. A device such as /dev/zero never ends.
 */
export function readText(path: string): ReadText {
  let file: number | null = null;
  try {
    // Without O_NONBLOCK, a pipe without a writer would block the process here.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return readOpened(file);
  } catch (error) {
    return { failure: types.isNativeError(error) && 'code' in error ? String(error.code) : 'unknown reason' };
  } finally {
    if (file !== null) closeSync(file);
  }
}

function readOpened(file: number): ReadText {
  const stats = fstatSync(file);
  if (!stats.isFile()) return { failure: `${kindOf(stats)}, not a regular file` };
  // The size in `stats` is not used, because it is 0 for a file in /proc.
  const bytes = Buffer.allocUnsafe(mostBytes + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = readSync(file, bytes, length, bytes.length - length, null);
  }
  if (length > mostBytes) return { failure: `more than ${mostBytes} bytes` };
  return { text: bytes.toString('utf8', 0, length) };
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}
