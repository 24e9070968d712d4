import type { Drift } from './behaviour';
import type { FeedName, JsonRecord } from './endpoints';
import { hashText, type Random } from './random';

export const DEEP_MEMBER = 'tree';

/** @returns whether drift of this kind falls on this record: always the same answer for the same seed and key */
function falls(kind: string, share: number, key: string, seed: number): boolean {
  return share > 0 && hashText(`${seed}:${kind}:${key}`) / 4294967296 < share;
}

/** The record as the vendor shows it: departs from the specification as `drift` says. Changes `record`. */
export function applyDrift(
  feed: FeedName,
  key: string,
  record: JsonRecord,
  drift: Drift,
  seed: number,
  random: Random,
): JsonRecord {
  if (drift.scale > 0 && falls('scale', drift.scale, key, seed)) rescale(record, random);
  if (falls('members', drift.members, key, seed)) unknownMembers[feed](record);
  if (falls('types', drift.types, key, seed)) otherTypes[feed](record);
  if (falls('surrogates', drift.surrogates, key, seed)) halfSurrogate[feed](record);
  if (falls('deep', drift.deep, key, seed))
    record[DEEP_MEMBER] = JSON.parse('['.repeat(600) + ']'.repeat(600));
  if (feed === 'analysts' && drift.leaveOutZeroCounts) leaveOutZeroCounts(record);
  if (falls('milliseconds', drift.milliseconds, key, seed) && typeof record.updated === 'number')
    record.updated *= 1000;
  if (falls('withoutId', drift.withoutId, key, seed)) delete record.id;
  if (falls('withoutUpdated', drift.withoutUpdated, key, seed)) delete record.updated;
  return record;
}

/** Writes every decimal text with another number of trailing zeros: the same numbers, other characters. */
export function rescale(record: JsonRecord, random: Random): void {
  for (const [name, value] of Object.entries(record)) {
    if (typeof value === 'string' && /^(pt|price_.*)$|_(return|score|stdev|rate|percentile)$/.test(name)) {
      record[name] = withScale(value, random.int(1, 4));
    } else if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      rescale(value as JsonRecord, random);
    }
  }
}

function withScale(text: string, scale: number): string {
  const match = /^(-?\d+)(?:\.(\d*))?$/.exec(text);
  if (match === null) return text;
  const digits = (match[2] ?? '').replace(/0+$/, '');
  const wanted = Math.max(scale, digits.length);
  // Never the text it had: a change of scale that changes nothing would prove nothing.
  const written = `${match[1]}.${digits.padEnd(wanted, '0')}`;
  return written === text ? `${written}0` : written;
}

const unknownMembers: Record<FeedName, (record: JsonRecord) => void> = {
  insights: (record) => {
    inside(record, 'security').cusip = '037833100';
    record.sentiment = { label: 'positive', score: 0.82 };
  },
  analysts: (record) => {
    const accuracy = inside(record, 'ratings_accuracy');
    accuracy.rank = 117;
    accuracy['6m_average_return'] = '3.20';
    accuracy['6m_smart_score'] = '41.07';
    accuracy['1y_gain_count'] = 6;
  },
  ipos: (record) => {
    record.cusip = '81728J109';
    record.links = [{ rel: 'prospectus', href: '' }];
  },
};

const otherTypes: Record<FeedName, (record: JsonRecord) => void> = {
  insights: (record) => {
    record.analyst_insights = false;
    if (typeof record.pt === 'string' && record.pt !== '') record.pt = Number(record.pt);
  },
  analysts: (record) => {
    record.firm_name = true;
    const accuracy = inside(record, 'ratings_accuracy');
    if (typeof accuracy.total_ratings === 'number') accuracy.total_ratings = String(accuracy.total_ratings);
  },
  ipos: (record) => {
    record.notes = true;
    record.insider_lockup_days = '180 days';
    if (typeof record.offering_value === 'number') record.offering_value = String(record.offering_value);
  },
};

const halfSurrogate: Record<FeedName, (record: JsonRecord) => void> = {
  insights: (record) => endInHalf(record, 'analyst_insights'),
  analysts: (record) => endInHalf(record, 'firm_name'),
  ipos: (record) => endInHalf(record, 'description'),
};

function endInHalf(record: JsonRecord, member: string): void {
  const text = record[member];
  if (typeof text === 'string' && !text.endsWith('\ud83d')) record[member] = `${text}\ud83d`;
}

function leaveOutZeroCounts(record: JsonRecord): void {
  const accuracy = inside(record, 'ratings_accuracy');
  for (const name of Object.keys(accuracy)) {
    if (name.endsWith('_count') && accuracy[name] === 0) delete accuracy[name];
  }
}

/** A nested object of a record; an unconnected one where the record has none. */
export function inside(record: JsonRecord, member: string): JsonRecord {
  const nested = record[member];
  return nested !== null && typeof nested === 'object' ? (nested as JsonRecord) : {};
}
