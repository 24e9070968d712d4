import { createFeedCodec } from '../../src/avro/codec/feed-codec';
import type { SchemaRegistry } from '../../src/avro/registry/registry';
import { feedDefinitions } from '../../src/feeds';
import { type CommitLog, type ProducerRecord, positionHeaders } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { EventHeaders } from '../../src/pipeline/transaction/encode';
import { firstSourceOffset, newIncarnation } from '../../src/state/source-offset';
import type { ChangeEvents, Op } from '../../src/types';
import { DEADLINE_MS } from './until';

/** A change of one IPO: its status, or null when it is gone. */
export interface WrittenChange {
  readonly id: string;
  readonly status: string | null;
  /** Default: by whether the record is there. */
  readonly op?: Op;
  /** Time of observation, ms. Default: now. */
  readonly at?: number;
}

/**
 * Writes changes of the feed ipos to a log as the pipeline does (events, images, source offset, status changes), without a vendor: each call
 * is one transaction.
 */
export interface ChangeWriter {
  /** id → status, as it is now. */
  readonly rows: ReadonlyMap<string, string>;
  incarnation(): string;
  seq(): number;
  write(...changes: readonly WrittenChange[]): Promise<void>;
  /** Shows every record again, unchanged, as a later snapshot does. */
  snapshot(at?: number): Promise<void>;
  /** Writes a record that is not of the feed to the topic of the changes. */
  append(record: Pick<ProducerRecord, 'key' | 'value'>): Promise<void>;
  /** Ends the incarnation. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export async function changeWriter(
  { commitLog, registry }: { readonly commitLog: CommitLog; readonly registry: SchemaRegistry },
  prefix: string,
): Promise<ChangeWriter> {
  const feed = feedDefinitions.find(({ name }) => name === 'ipos')!;
  const topics = feedTopics(feed, prefix);
  const session = await commitLog.acquire(topics, AbortSignal.timeout(DEADLINE_MS));
  const codec = await createFeedCodec(feed, topics, registry);
  const headers = new EventHeaders(feed);
  const rows = new Map<string, string>();
  let incarnation = newIncarnation();
  let [seq, commits, snapshotSeq] = [0, 0, 0];

  function image(id: string, status: string): Buffer {
    const nulls = Object.fromEntries(codec.schemas.record.fields.map(({ name }) => [name, null]));
    const record = { ...nulls, id, name: `Issuer ${id}`, ticker: id.toUpperCase(), deal_status: status };
    const updated = 1_790_000_000;
    return codec.image.encode({ id, updated, values: { ...record, updated, extra: {} } });
  }

  function records({ id, status, op: given, at: timestamp = Date.now() }: WrittenChange): ProducerRecord[] {
    const previous = rows.get(id) ?? null;
    const op = given ?? (status === null ? 'd' : previous === null ? 'c' : 'u');
    const before = op === 'c' || op === 'r' || previous === null ? null : image(id, previous);
    const after = status === null ? null : image(id, status);
    if (status === null) rows.delete(id);
    else rows.set(id, status);
    seq += 1;
    const event_id = `ipos:${incarnation}:${seq}`;
    const change = { op, id, before, after, beforeRecord: null, afterRecord: null, changedFields: [] };
    const tail: ChangeEvents['tail'] = {
      op,
      ts_ms: timestamp,
      event_id,
      changed_fields: op === 'u' ? ['deal_status'] : [],
      source: {
        connector: 'highwater',
        version: '0',
        name: 'test',
        feed: 'ipos',
        endpoint: feed.path,
        updated: 1_790_000_000,
        ts_ms: 1_790_000_000_000,
        snapshot: 'false',
        origin: 'poll',
        incarnation,
        seq,
      },
    };
    const event: ChangeEvents = { change, tail, transitions: [], symbol: id.toUpperCase() };
    const written: ProducerRecord[] = [
      {
        topic: topics.changes.name,
        key: id,
        timestamp,
        value: Buffer.from(codec.encodeEnvelope(change, tail)),
        headers: headers.ofChange(event),
      },
      {
        topic: topics.current.name,
        key: id,
        timestamp,
        value: after,
        headers: { event_id, seq: String(seq), incarnation },
      },
    ];
    if (op === 'u' || op === 'c') {
      const value = {
        event_id: `${event_id}:deal_status`,
        caused_by: event_id,
        origin: 'poll',
        id,
        exchange: null,
        name: `Issuer ${id}`,
        ticker: id.toUpperCase(),
        previous_status: previous,
        status,
        updated: 1_790_000_000,
        ts_ms: timestamp,
      };
      const transition = { index: 0, key: id, value };
      written.push({
        topic: topics.transitions[0]!.name,
        key: id,
        timestamp,
        value: codec.transitions.get('DealStatusChanged')!.encode(value),
        headers: headers.ofTransition(event, transition),
      });
    }
    return written;
  }

  async function commit(written: readonly ProducerRecord[]): Promise<void> {
    commits += 1;
    const position = { incarnation, ownerEpoch: session.ownerEpoch, commit: commits };
    const offset: ProducerRecord = {
      topic: topics.sourceOffset.name,
      key: 'ipos',
      timestamp: Date.now(),
      value: codec.sourceOffset.encode({
        ...firstSourceOffset('ipos', incarnation, ''),
        seq,
        snapshot_seq: snapshotSeq,
      }),
      headers: { ...positionHeaders(position), seq: String(seq) },
    };
    await session.commit({ feed: 'ipos', records: [...written, offset], position });
  }

  return {
    rows,
    incarnation: () => incarnation,
    seq: () => seq,
    write: (...changes) => commit(changes.flatMap(records)),
    append: (one) => commit([{ topic: topics.changes.name, timestamp: Date.now(), headers: {}, ...one }]),
    async snapshot(at = Date.now()) {
      snapshotSeq = seq;
      await commit([...rows].flatMap(([id, status]) => records({ id, status, op: 'r', at })));
    },
    async reset() {
      incarnation = newIncarnation();
      [seq, snapshotSeq] = [0, 0];
      const tombstones = [...rows.keys()].map((key) => ({
        topic: topics.current.name,
        key,
        value: null,
        timestamp: Date.now(),
        headers: { incarnation },
      }));
      rows.clear();
      await commit(tombstones);
    },
    close: () => session.release(),
  };
}
