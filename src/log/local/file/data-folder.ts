import { mkdirSync } from 'node:fs';

/**
 * Makes a folder for the log if there is none, only for this user: the records are the vendor's, and anybody with write
 * access may give commands. An existing folder is left as it is.
 */
export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
