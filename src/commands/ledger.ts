import type { CommandRecord } from './command-record';

/**
 * The state that follows from the records of the command topic, in log order. Only the log decides about a request: the first of
 * its `accepted` and `withdrawn` records counts. So at most one owner carries a request out, and none that its asker has withdrawn,
 * however late anybody reads or writes.
 */
export interface Ledger {
  /** @returns whether the record is the first of its request to settle it, or the first that asks it */
  take(record: Pick<CommandRecord, 'request_id' | 'kind' | 'owner_id' | 'expires_ms'>): boolean;
  /** Id of the owner that has the request; `withdrawn`; null while neither is so. */
  standing(requestId: string): { readonly ownerId: string } | 'withdrawn' | null;
  /** Requests that expired before the moment (ms) are forgotten: nobody accepts them any more. */
  forget(before: number): void;
  readonly size: number;
}

interface Entry {
  readonly expiresMs: number;
  isAsked: boolean;
  settled: { readonly ownerId: string } | 'withdrawn' | null;
}

export function createLedger(): Ledger {
  const entries = new Map<string, Entry>();

  function entryOf(requestId: string, expiresMs: number): Entry {
    const known = entries.get(requestId);
    if (known !== undefined) return known;
    const entry: Entry = { expiresMs, isAsked: false, settled: null };
    entries.set(requestId, entry);
    return entry;
  }

  return {
    take({ request_id, kind, owner_id, expires_ms }) {
      if (kind === 'request') {
        const entry = entryOf(request_id, expires_ms);
        // A request that is settled before it is asked was asked before: the log may show a record twice.
        if (entry.isAsked || entry.settled !== null) return false;
        entry.isAsked = true;
        return true;
      }
      if (kind !== 'accepted' && kind !== 'withdrawn') return false;
      const entry = entryOf(request_id, expires_ms);
      if (entry.settled !== null) return false;
      entry.settled = kind === 'withdrawn' ? 'withdrawn' : { ownerId: owner_id ?? '' };
      return true;
    },
    standing: (requestId) => entries.get(requestId)?.settled ?? null,
    forget(before) {
      for (const [id, { expiresMs }] of entries) if (expiresMs < before) entries.delete(id);
    },
    get size() {
      return entries.size;
    },
  };
}
