import type { CommandRecord } from './command-record';
import type { Ledger } from './ledger';

/** An owner's knowledge when it reads a record of the command topic. */
export interface OwnerView {
  readonly ownerId: string;
  /** ms */
  readonly now: number;
  owns(feed: string): boolean;
  /** It has written `accepted` for the request, and has not read it back yet. */
  isAccepting(requestId: string): boolean;
}

/**
 * `accept`: to be answered by `accepted`. `carry out`: that answer was read back, and counts. `too late`: it counts, but
 * the time for it is over. `lost`: somebody was faster.
 */
export type OwnerStep = 'accept' | 'carry out' | 'too late' | 'lost' | null;

/** The owner's side of the protocol, without its input and output. Records come in log order. */
export function ownerStep(record: CommandRecord, ledger: Ledger, view: OwnerView): OwnerStep {
  const { kind, request_id, owner_id, expires_ms, feed } = record;
  const isFirst = ledger.take(record);
  const isExpired = expires_ms <= view.now;
  if (kind === 'request') {
    // The time for an old request is over.
    return isFirst && view.owns(feed) && !isExpired ? 'accept' : null;
  }
  if (kind !== 'accepted' && kind !== 'withdrawn') return null;
  if (!view.isAccepting(request_id)) return null;
  if (!isFirst || kind === 'withdrawn' || owner_id !== view.ownerId) return 'lost';
  // The process may have stood still since it wrote this.
  return isExpired ? 'too late' : 'carry out';
}
