import type { FeedCodec } from '../../src/avro/codec/feed-codec';
import { ipos } from '../../src/feeds/ipos';
import { feedTopics } from '../../src/log/topics';
import type { EventTail, VendorRecord } from '../../src/types';
import { fromDist } from '../dist';
import type { LimitInput } from './limit-input';

/** One record as highwater publishes it. */
export interface Message {
  readonly key: string;
  readonly event: Buffer;
  readonly image: Buffer;
}

/** Of the length that they have in highwater, and all alike. */
export const eventHeaders: Readonly<Record<string, string>> = {
  ce_specversion: '1.0',
  ce_id: 'ipos:01K0ABCDEFGHJKMNPQRSTVWXYZ:100000',
  ce_source: '/highwater/ipos',
  ce_type: 'marketdata.ipos.read',
  ce_subject: '5f0000000123456789abcdef',
  ce_time: '2026-01-31T12:34:56.789Z',
  'content-type': 'application/avro',
  op: 'r',
  symbol: 'ABCD',
};

export const imageHeaders: Readonly<Record<string, string>> = {
  event_id: eventHeaders.ce_id!,
  seq: '100000',
  incarnation: '01K0ABCDEFGHJKMNPQRSTVWXYZ',
};

/** More of them would be the same work again, and only need memory. */
const MOST = 20_000;

/** Records of the API as parsed JSON: all of them, or the first 20,000. */
export async function fetchRecords({ apiUrl, token, records }: LimitInput): Promise<VendorRecord[]> {
  const rows: VendorRecord[] = [];
  for (let page = 0; page * ipos.pageSize < Math.min(records, MOST); page++) {
    const query = new URLSearchParams({ token, pagesize: String(ipos.pageSize), page: String(page) });
    const answer = await fetch(`${apiUrl}${ipos.path}?${query}`);
    const { ipos: found } = (await answer.json()) as {
      readonly ipos: readonly { id: string; updated: number }[];
    };
    // Assigned: a copy by spreading is an object that costs V8 twice as much to read.
    for (const row of found)
      rows.push({ id: row.id, updated: row.updated, values: Object.assign(row, { extra: {} }) });
  }
  return rows;
}

/** The codec of what is shipped. */
export function shippedCodec(): Promise<FeedCodec> {
  const { createFeedCodec } =
    fromDist<typeof import('../../src/avro/codec/feed-codec')>('avro/codec/feed-codec');
  const registry = { register: async () => 1 } as unknown as Parameters<typeof createFeedCodec>[2];
  return createFeedCodec(ipos, feedTopics(ipos, ''), registry);
}

/** Encodes a record as the first snapshot does: its image, and an event that takes the image over. */
export function encodeMessage(codec: FeedCodec, record: VendorRecord, seq: number): Message {
  const key = record.id;
  const image = codec.image.encode(record);
  const event = Buffer.from(codec.encodeEnvelope({ before: null, after: image }, tail(record, seq)));
  return { key, image, event };
}

function tail(record: VendorRecord, seq: number): EventTail {
  const nowMs = Date.now();
  const updated = record.updated;
  const { incarnation } = imageHeaders;
  return {
    op: 'r',
    changed_fields: [],
    source: {
      connector: 'highwater',
      version: '0.1.0',
      name: 'highwater',
      feed: 'ipos',
      endpoint: ipos.path,
      updated,
      ts_ms: updated * 1_000,
      snapshot: 'true',
      origin: 'snapshot',
      incarnation: incarnation!,
      seq,
    },
    ts_ms: nowMs,
    event_id: `ipos:${incarnation}:${seq}`,
  };
}

/** Messages of records of the API, which the limits of producers and of SQLite write over and over. */
export async function sampleMessages(input: LimitInput): Promise<Message[]> {
  const codec = await shippedCodec();
  const records = await fetchRecords(input);
  return records.map((record, i) => encodeMessage(codec, record, i));
}
