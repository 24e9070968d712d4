import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/**
 * The obstacle that keeps this process from writing a file of the log: the folder, the file or one beside it, its
 * owner, and the user of this process.
 * @returns null when nothing of it can be seen
 */
export function obstacleTo(file: string): string | null {
  for (const name of [path.dirname(file), file, `${file}-wal`, `${file}-shm`]) {
    try {
      if (statSync(name, { throwIfNoEntry: false }) !== undefined) accessSync(name, constants.W_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return `${name} cannot be written (${code})${owners(name)}`;
    }
  }
  return null;
}

function owners(name: string): string {
  try {
    return `: it belongs to user ${statSync(name).uid}, and this process runs as user ${process.geteuid?.()}`;
  } catch {
    return '';
  }
}
