import type { DealStatusChanged, Ipo } from 'highwater/consumer';

export type AlertKind = 'new' | 'priced' | 'postponed' | 'withdrawn';

/** What a receiver gets as JSON. */
export interface Alert {
  readonly kind: AlertKind;
  /** ISO 8601: when it was observed. */
  readonly time: string;
  readonly name: string;
  readonly ticker: string | null;
  readonly exchange: string | null;
  readonly status: string | null;
  readonly previousStatus: string | null;
  /** Decimal texts, in `currency`. */
  readonly price: string | null;
  readonly priceMin: string | null;
  readonly priceMax: string | null;
  readonly currency: string | null;
  readonly shares: number | null;
  readonly underwriters: readonly string[];
  readonly filing: string | null;
}

const kinds: Readonly<Record<string, AlertKind>> = {
  Priced: 'priced',
  Postponed: 'postponed',
  Withdrawn: 'withdrawn',
};

/** @param ipo the record as the table shows it, if it does. @returns null for what nobody waits for: an amendment, a closing */
export function alertOf(change: DealStatusChanged, ipo: Ipo | undefined): Alert | null {
  const { name, ticker, exchange, status, previous_status: previousStatus } = change;
  const kind = kinds[status ?? ''] ?? (previousStatus === null ? 'new' : null);
  if (kind === null) return null;
  return {
    kind,
    time: new Date(change.ts_ms).toISOString(),
    name: name ?? '(no name yet)',
    ...{ ticker, exchange, status, previousStatus },
    price: kind === 'priced' ? (ipo?.price_public_offering ?? null) : null,
    priceMin: ipo?.price_min ?? null,
    priceMax: ipo?.price_max ?? null,
    currency: ipo?.currency ?? null,
    shares: ipo?.offering_shares ?? null,
    underwriters: ipo?.lead_underwriters ?? [],
    filing: ipo?.sec_filing_url ?? null,
  };
}
