import { createHash } from 'node:crypto';
import type { PendingState } from '../state/pending-state';
import type { DeadLetter, Rejected } from '../types';

/** The rejected rows whose content has not been kept yet: the same row comes again with every poll that reads it. */
export function newDeadLetters(rejected: readonly Rejected[], pending: PendingState): DeadLetter[] {
  const letters: DeadLetter[] = [];
  for (const { reason, raw } of rejected) {
    const sha256 = createHash('sha256').update(raw).digest('hex');
    if (pending.hasDeadLetter(sha256)) continue;
    pending.addDeadLetter(sha256);
    letters.push({ reason, raw, sha256, bytes: Buffer.byteLength(raw) });
  }
  return letters;
}
