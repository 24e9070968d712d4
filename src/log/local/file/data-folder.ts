import { mkdirSync } from 'node:fs';

/**
 * Makes a folder for the log where there is none, for this user alone: the records are the vendor's, and who may write here
 * may give commands. One that is there is left as somebody made it.
 */
export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
