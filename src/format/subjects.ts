import { valueAt } from '../avro/path';

/** What a person wants to see of a record first. Dotted Avro paths. */
interface Subject {
  readonly symbol: string | null;
  readonly name: string;
  /** Shown for a record that has no former image to compare with. */
  readonly facts: readonly string[];
  /** Of several changed fields these are named first. */
  readonly telling: readonly string[];
}

/** By the namespace of the feed's Avro types. A feed that is not here is shown by its key and the `symbol` header. */
const subjects: Readonly<Record<string, Subject>> = {
  'marketdata.insights': {
    symbol: 'security.symbol',
    name: 'firm',
    facts: ['action', 'rating', 'pt', 'date'],
    telling: ['rating', 'pt', 'action', 'date'],
  },
  'marketdata.analysts': {
    symbol: null,
    name: 'name_full',
    facts: ['firm_name', 'ratings_accuracy.smart_score', 'ratings_accuracy.total_ratings'],
    telling: ['ratings_accuracy.smart_score', 'firm_name', 'ratings_accuracy.overall_success_rate'],
  },
  'marketdata.ipos': {
    symbol: 'ticker',
    name: 'name',
    facts: ['deal_status', 'date', 'exchange', 'price_public_offering'],
    telling: ['deal_status', 'price_public_offering', 'price_open', 'price_min', 'price_max', 'date'],
  },
};

export interface SubjectText {
  readonly symbol: string;
  readonly name: string;
  readonly facts: readonly (readonly [path: string, value: unknown])[];
  readonly telling: readonly string[];
}

/** @param type full name of the record's type, or of its envelope */
export function subjectOf(
  type: string,
  record: Readonly<Record<string, unknown>>,
  fallback: { readonly key: string; readonly symbol: string | undefined },
): SubjectText {
  const subject = subjects[type.slice(0, type.lastIndexOf('.'))];
  if (subject === undefined)
    return { symbol: fallback.symbol ?? '', name: fallback.key, facts: [], telling: [] };
  const { symbol, name, facts, telling } = subject;
  return {
    symbol: symbol === null ? '' : textAt(record, symbol),
    name: textAt(record, name) || fallback.key,
    facts: facts
      .map((path) => [path, valueAt(record, path)] as const)
      .filter(([, value]) => value !== null && value !== ''),
    telling,
  };
}

function textAt(record: Readonly<Record<string, unknown>>, path: string): string {
  const value = valueAt(record, path);
  return typeof value === 'string' ? value : '';
}
