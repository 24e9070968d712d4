import type { CommandRecord } from './command-record';

export type Ledger = ReturnType<typeof createLedger>;

/**
 * The state that follows from the records of the command topic, in log order. Only the log decides about a request: the first of
 * its `accepted` and `withdrawn` records counts. So at most one owner carries a request out, and none that its asker has withdrawn,
 * however late anybody reads or writes.
 */
export function createLedger() {
  /** The requests that were asked or settled. */
  const entries = new Map<string, { readonly expiresMs: number; readonly isSettled: boolean }>();

  return {
    /** @returns whether the record is the first of its request to settle it, or the first that asks it */
    take({ request_id: id, kind, expires_ms }: Pick<CommandRecord, 'request_id' | 'kind' | 'expires_ms'>) {
      if (!['request', 'accepted', 'withdrawn'].includes(kind)) return false;
      const known = entries.get(id);
      const isSettled = kind !== 'request';
      // A request that is settled before it is asked was asked before: the log may show a record twice.
      if (known !== undefined && (known.isSettled || !isSettled)) return false;
      entries.set(id, { expiresMs: known?.expiresMs ?? expires_ms, isSettled });
      return true;
    },
    /** Requests that expired before the moment (ms) are forgotten: nobody accepts them any more. */
    forget(before: number): void {
      for (const [id, { expiresMs }] of entries) if (expiresMs < before) entries.delete(id);
    },
    get size() {
      return entries.size;
    },
  };
}

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
 * `accept`: to be answered by `accepted`. `keep`: the same as soon as the feed is owned, unless it is settled by then. `carry out`: that
 * answer was read back, and counts. `too late`: it counts, but the time for it is over. `lost`: somebody was faster.
 */
export type OwnerStep = 'accept' | 'keep' | 'carry out' | 'too late' | 'lost' | null;

/** The owner's side of the protocol, without its input and output. Records come in log order. */
export function ownerStep(record: CommandRecord, ledger: Ledger, view: OwnerView): OwnerStep {
  const { kind, request_id, owner_id, expires_ms, feed } = record;
  const isFirst = ledger.take(record);
  const isExpired = expires_ms <= view.now;
  if (kind === 'request') {
    // The time for an old request is over.
    if (!isFirst || isExpired) return null;
    return view.owns(feed) ? 'accept' : 'keep';
  }
  if (kind !== 'accepted' && kind !== 'withdrawn') return null;
  if (!view.isAccepting(request_id)) return null;
  if (!isFirst || kind === 'withdrawn' || owner_id !== view.ownerId) return 'lost';
  // The process may have stood still since it wrote this.
  return isExpired ? 'too late' : 'carry out';
}
