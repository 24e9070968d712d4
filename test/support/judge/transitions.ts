import { bySeq, type ChangeEvent, ceHeaders, where } from './change-log';
import { canonical, type Image, plainNumber } from './expected-image';
import type { Life } from './lives';
import type { JudgedLog, LogRow } from './log';
import type { Findings } from './verdict';

/** A transition event that must be in the log. */
interface Expected {
  readonly key: string;
  readonly cause: ChangeEvent;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Kind {
  readonly topic: string;
  readonly type: string;
  readonly ceType: string;
  readonly expect: (events: readonly ChangeEvent[]) => Expected[];
}

const kinds: Readonly<Record<string, Kind>> = {
  ipos: {
    topic: 'ipos.deal-status',
    type: 'marketdata.ipos.DealStatusChanged',
    ceType: 'marketdata.ipos.deal-status-changed',
    expect: expectDealStatus,
  },
  insights: {
    topic: 'insights.rating-changes',
    type: 'marketdata.insights.RatingChanged',
    ceType: 'marketdata.insights.rating-changed',
    expect: expectRatings,
  },
};

/** Exactly the transitions that follow from the changes: those, with these fields, once. @returns how many there are */
export function checkTransitions(
  log: JudgedLog,
  feed: string,
  lives: readonly Life[],
  found: Findings,
): number {
  const kind = kinds[feed];
  if (kind === undefined) return 0;
  const rows = log.rows(kind.topic);
  const expected = new Map<string, Expected>();
  // An incarnation does not continue the one before.
  for (const { events } of lives)
    for (const event of kind.expect(events)) expected.set(event.value.event_id as string, event);
  const seen = new Set<string>();
  const lastSeq = new Map<string, number>();
  for (const row of rows) {
    const decoded = row.value === null ? null : log.decode(row.value);
    const id = String(decoded?.value.event_id);
    const match = expected.get(id);
    if (decoded?.type !== kind.type) found.add('transitions', 'wrong', `${where(row)} is a ${decoded?.type}`);
    else if (seen.has(id)) found.add('transitions', 'twice', `${where(row)}: ${id} once more`);
    else if (match === undefined)
      found.add('transitions', 'wrong', `${where(row)}: nothing calls for ${canonical(decoded.value)}`);
    else {
      checkOne(row, decoded.value, match, kind, feed, found);
      const part = `${match.cause.incarnation} ${row.partition}`;
      if (match.cause.seq < (lastSeq.get(part) ?? 0))
        found.add('transitions', 'order', `${where(row)}: ${id} comes late`);
      lastSeq.set(part, match.cause.seq);
    }
    seen.add(id);
  }
  for (const [id, { value }] of expected) {
    if (!seen.has(id)) found.add('transitions', 'lost', `${id} is missing: ${canonical(value)}`);
  }
  return rows.length;
}

function checkOne(
  row: LogRow,
  value: Readonly<Record<string, unknown>>,
  { key, cause, value: wanted }: Expected,
  kind: Kind,
  feed: string,
  found: Findings,
): void {
  if (canonical(value) !== canonical(wanted))
    found.add('transitions', 'wrong', `${where(row)} is ${canonical(value)}, expected ${canonical(wanted)}`);
  const { envelope, id } = cause;
  const headers = ceHeaders(feed, String(wanted.event_id), kind.ceType, id, envelope.ts_ms, envelope.op);
  for (const [name, text] of Object.entries({ ...headers })) {
    if (row.headers[name] !== text)
      found.add(
        'transitions',
        'wrong',
        `${where(row)}: header ${name} is ${row.headers[name]}, expected ${text}`,
      );
  }
  if (row.key !== key || row.timestamp !== envelope.ts_ms)
    found.add(
      'transitions',
      'wrong',
      `${where(row)} at ${row.timestamp}, expected key ${key} at ${envelope.ts_ms}`,
    );
}

function expectDealStatus(events: readonly ChangeEvent[]): Expected[] {
  const expected: Expected[] = [];
  for (const cause of bySeq(events)) {
    const { op, before, after } = cause.envelope;
    if ((op !== 'c' && op !== 'u') || after === null) continue;
    const previous_status = before?.deal_status ?? null;
    const status = after.deal_status ?? null;
    if (previous_status === status) continue;
    const { id, name, ticker, exchange, updated } = after;
    const value = {
      ...causeOf(cause, ':deal_status'),
      id,
      name,
      ticker,
      exchange,
      previous_status,
      status,
      updated,
    };
    expected.push({ key: cause.id, cause, value });
  }
  return expected;
}

function expectRatings(events: readonly ChangeEvent[]): Expected[] {
  const expected: Expected[] = [];
  const images = new Map<string, Image>();
  const groups = new Map<string, Set<string>>();
  const newestOf = (group: string): Image | null => {
    let newest: Image | null = null;
    for (const id of groups.get(group) ?? []) {
      const image = images.get(id)!;
      if (newest === null || isNewer(image, newest)) newest = image;
    }
    return newest;
  };
  for (const cause of bySeq(events)) {
    const { id, envelope } = cause;
    const { op, after } = envelope;
    const group = groupOf(after);
    const former = group === null ? null : newestOf(group);

    const own = groupOf(images.get(id) ?? null);
    if (own !== null) groups.get(own)!.delete(id);
    if (after === null) images.delete(id);
    else images.set(id, after);
    if (group !== null) groups.set(group, (groups.get(group) ?? new Set()).add(id));

    if (group === null || after === null || (op !== 'c' && op !== 'u')) continue;
    if (newestOf(group) !== after) continue;
    if (former !== null && sameRating(former, after)) continue;
    expected.push({ key: group, cause, value: ratingChanged(cause, former, after) });
  }
  return expected;
}

function groupOf(image: Image | null): string | null {
  const symbol = (image?.security as Image | null | undefined)?.symbol;
  const firm = image?.firm_id;
  if (!symbol || !firm) return null;
  return [symbol, firm].map((part) => String(part).replaceAll(/[\\|]/g, '\\$&')).join('|');
}

function isNewer(a: Image, b: Image): boolean {
  const rank = (image: Image): readonly (string | number)[] => [
    (image.date as string | null) ?? '',
    image.updated as number,
    image.id as string,
  ];
  const [left, right] = [rank(a), rank(b)];
  const at = left.findIndex((value, i) => value !== right[i]);
  return at >= 0 && left[at]! > right[at]!;
}

function sameRating(a: Image, b: Image): boolean {
  const number = (pt: unknown): string | null => (pt ? (plainNumber(String(pt)) ?? String(pt)) : null);
  return (a.rating || null) === (b.rating || null) && number(a.pt) === number(b.pt);
}

function ratingChanged(cause: ChangeEvent, former: Image | null, after: Image): Record<string, unknown> {
  const security = after.security as Image;
  const { id, rating_id, firm_id, firm, analyst_id, action, rating, pt, date, updated } = after;
  return {
    ...causeOf(cause, ':rating'),
    id,
    rating_id,
    firm_id,
    firm,
    analyst_id,
    action,
    rating,
    pt,
    date,
    updated,
    symbol: security.symbol,
    security_name: security.name,
    exchange: security.exchange,
    correction: rating_id !== null && rating_id === former?.rating_id,
    previous_rating_id: former?.rating_id ?? null,
    previous_rating: former?.rating ?? null,
    previous_pt: former?.pt ?? null,
    previous_date: former?.date ?? null,
  };
}

function causeOf({ envelope }: ChangeEvent, suffix: string): Record<string, unknown> {
  return {
    event_id: envelope.event_id + suffix,
    caused_by: envelope.event_id,
    origin: envelope.source.origin,
    ts_ms: envelope.ts_ms,
  };
}
