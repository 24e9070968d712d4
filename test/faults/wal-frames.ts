import { readFileSync } from 'node:fs';

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * Whether an SQLite WAL ends in frames that no commit covers: whoever wrote them died in the middle of a commit. The format
 * is the one at https://www.sqlite.org/fileformat2.html#walformat.
 */
export function hasTornCommit(file: string): boolean {
  let wal: Buffer;
  try {
    wal = readFileSync(file);
  } catch {
    return false;
  }
  if (wal.length < headerBytes) return false;
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8);
  const salts = wal.subarray(16, 24);
  let isCovered = true;
  for (let at = headerBytes; at + frameHeaderBytes <= wal.length; at += frameBytes) {
    // Frames of an earlier round of the WAL lie behind the present frames.
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break;
    isCovered = wal.readUInt32BE(at + 4) !== 0;
  }
  return !isCovered;
}
