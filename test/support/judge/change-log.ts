import { canonical, type Image, idOf, updatedMs, updatedSeconds } from './expected-image';
import type { JudgedLog, LogRow } from './log';
import type { Findings } from './verdict';

/** `marketdata.<feed>.Envelope`, as decoded. */
export interface Envelope {
  readonly before: Image | null;
  readonly after: Image | null;
  readonly op: 'c' | 'u' | 'd' | 'r';
  readonly changed_fields: readonly string[];
  readonly source: {
    readonly name: string;
    readonly feed: string;
    readonly updated: number;
    readonly ts_ms: number;
    readonly snapshot: string;
    readonly origin: string;
    readonly incarnation: string;
    readonly seq: number;
  };
  readonly ts_ms: number;
  readonly event_id: string;
}

export interface ChangeEvent {
  readonly row: LogRow;
  readonly id: string;
  readonly seq: number;
  readonly incarnation: string;
  readonly envelope: Envelope;
  readonly afterBytes: Buffer | null;
}

const opNames = { c: 'created', u: 'updated', d: 'deleted', r: 'read' } as const;

/** Reads a feed's topic and holds each event against itself: type, ids, headers, times. In the order of the log. */
export function readChanges(log: JudgedLog, feed: string, found: Findings): ChangeEvent[] {
  const events: ChangeEvent[] = [];
  for (const row of log.rows(feed)) {
    if (row.value === null) {
      found.add('I3', 'wrong', `${where(row)} is a tombstone`);
      continue;
    }
    const decoded = log.decode(row.value);
    if (decoded.type !== `marketdata.${feed}.Envelope`)
      found.add('I3', 'wrong', `${where(row)} is a ${decoded.type}`);
    if (!log.subjectsOf(decoded.schemaId).includes(`${feed}-value`))
      found.add(
        'I3',
        'wrong',
        `schema ${decoded.schemaId} of ${where(row)} is not registered under ${feed}-value`,
      );
    const envelope = decoded.value as unknown as Envelope;
    const { seq, incarnation } = envelope.source;
    const { after: afterBytes } = log.imageBytes(row.value);
    const event = { row, id: row.key, seq, incarnation, envelope, afterBytes };
    checkItself(event, feed, found);
    events.push(event);
  }
  return events;
}

export function where({ topic, partition, offset, key }: LogRow): string {
  return `${topic}/${partition}@${offset} (${key})`;
}

function checkItself(event: ChangeEvent, feed: string, found: Findings): void {
  const { row, envelope } = event;
  const { op, before, after, source, event_id, ts_ms, changed_fields } = envelope;
  const record = after ?? before;
  const expected: Record<string, unknown> = {
    event_id: `${feed}:${source.incarnation}:${source.seq}`,
    feed,
    id: row.key,
    updated: record === null ? undefined : updatedSeconds(feed, record),
    source_ts_ms: record === null ? undefined : updatedMs(feed, record),
    timestamp: ts_ms,
    snapshot: source.origin === 'snapshot' ? 'true' : 'false',
    ...ceHeaders(feed, event_id, `marketdata.${feed}.${opNames[op]}`, row.key, ts_ms, op),
    'changed-fields': op === 'u' ? changed_fields.join(',') : undefined,
    symbol: symbolOf(feed, record),
  };
  const actual: Record<string, unknown> = {
    event_id,
    feed: source.feed,
    id: record === null ? undefined : idOf(feed, record),
    updated: source.updated,
    source_ts_ms: source.ts_ms,
    timestamp: row.timestamp,
    snapshot: source.snapshot,
    ...row.headers,
  };
  for (const [name, value] of Object.entries(expected)) {
    if (actual[name] !== value)
      found.add(
        'I3',
        'wrong',
        `${where(row)}: ${name} is ${String(actual[name])}, expected ${String(value)}`,
      );
  }
  const sides = `${before === null ? '-' : 'before'} ${after === null ? '-' : 'after'}`;
  const wanted = { c: '- after', r: '- after', u: 'before after', d: 'before -' }[op];
  if (sides !== wanted) found.add('I3', 'wrong', `${where(row)}: op ${op} with ${sides}`);
  if (before !== null && after !== null && idOf(feed, before) !== idOf(feed, after))
    found.add('I3', 'wrong', `${where(row)}: before of ${idOf(feed, before)}`);
  if (op !== 'u' && changed_fields.length > 0)
    found.add('I3', 'wrong', `${where(row)}: op ${op} names changed fields`);
}

/** The expected header `symbol`; undefined: there must be none. */
function symbolOf(feed: string, record: Image | null): unknown {
  const holder = feed === 'insights' ? (record?.security as Image | null | undefined) : record;
  return (feed === 'insights' ? holder?.symbol : feed === 'ipos' ? holder?.ticker : undefined) || undefined;
}

/** The CloudEvents headers that any event of a feed must have. */
export function ceHeaders(
  feed: string,
  id: string,
  type: string,
  subject: string,
  tsMs: number,
  op: string,
): Record<string, string> {
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: `/highwater/${feed}`,
    ce_type: type,
    ce_subject: subject,
    ce_time: new Date(tsMs).toISOString(),
    'content-type': 'application/avro',
    op,
  };
}

/** I2 and I4 over one incarnation: each number once, ascending in each partition, one partition for an id. */
export function checkNumbers(events: readonly ChangeEvent[], found: Findings): void {
  const seen = new Map<number, ChangeEvent>();
  const lastOf = new Map<number, ChangeEvent>();
  const partitionOf = new Map<string, number>();
  let greatest = 0;
  for (const event of events) {
    const { seq, id, row } = event;
    const twin = seen.get(seq);
    if (twin !== undefined) found.add('I2', 'twice', `seq ${seq} at ${where(twin.row)} and ${where(row)}`);
    seen.set(seq, event);
    greatest = Math.max(greatest, seq);
    const last = lastOf.get(row.partition);
    if (last !== undefined && last.seq >= seq)
      found.add('I4', 'order', `seq ${seq} at ${where(row)} comes after ${last.seq} at ${where(last.row)}`);
    lastOf.set(row.partition, event);
    const partition = partitionOf.get(id);
    if (partition !== undefined && partition !== row.partition)
      found.add('I4', 'order', `${id} lies in partitions ${partition} and ${row.partition}`);
    partitionOf.set(id, row.partition);
  }
  for (let seq = 1; seq <= greatest; seq++) {
    if (!seen.has(seq)) found.add('I2', 'lost', `seq ${seq} of ${greatest} is missing`);
  }
}

/** In the order in which the publisher numbered them. */
export function bySeq(events: readonly ChangeEvent[]): ChangeEvent[] {
  return [...events].sort((a, b) => a.seq - b.seq);
}

export function sameImage(a: Image | null, b: Image | null): boolean {
  return canonical(a) === canonical(b);
}
