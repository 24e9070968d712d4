import { Big } from 'big.js';
import type { RatingChanged } from 'highwater/consumer';

export type AlertKind = 'upgrade' | 'downgrade' | 'initiation' | 'target up' | 'target down' | 'correction';

export interface Alert {
  readonly kind: AlertKind;
  readonly change: RatingChanged;
  /** What the price target moved by; null when it is not known before and after. */
  readonly move: Big | null;
}

/** @param moreThan moves of a price target up to this much are not worth a line. @returns null for what is not */
export function alertOf(change: RatingChanged, moreThan: Big): Alert | null {
  const move = difference(change.previous_pt, change.pt);
  const kind = kindOf(change, move, moreThan);
  return kind === null ? null : { kind, change, move };
}

function kindOf({ correction, action }: RatingChanged, move: Big | null, moreThan: Big): AlertKind | null {
  // Whoever acted on the call wants to know, and must not take it for a new one.
  if (correction) return 'correction';
  // The vendor's words, which are no closed set.
  if (/upgrade/i.test(action ?? '')) return 'upgrade';
  if (/downgrade/i.test(action ?? '')) return 'downgrade';
  if (/initiate/i.test(action ?? '')) return 'initiation';
  if (move === null || move.abs().lte(moreThan)) return null;
  return move.gt(0) ? 'target up' : 'target down';
}

/** Exact: 0.30 - 0.20 is 0.1, and 5.0000 is 5.00. */
function difference(before: string | null, after: string | null): Big | null {
  const [from, to] = [decimal(before), decimal(after)];
  return from === null || to === null ? null : to.minus(from);
}

function decimal(text: string | null): Big | null {
  try {
    return text === null ? null : new Big(text);
  } catch {
    return null; // the vendor wrote no number
  }
}
