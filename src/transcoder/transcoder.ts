import { isUtf8 } from 'node:buffer';
import type { WireType } from '../avro/codec/wire-type';
import type { RecordSchema } from '../avro/schemas';
import type { FeedDefinition } from '../feeds/definition';
import { jsonOf } from '../json/parse-json';
import type { Body } from '../source/body';
import type { RowReader } from '../source/source';
import type { VendorRecord } from '../types';
import * as layout from './assembly/layout';
import { COMPILED } from './compiled';
import { type EncodedFeed, EncodedRecord, type EncodedRows, numberOf } from './encoded-record';
import { createPlan, type Plan } from './plan';

/**
 * A reader of rows for one feed. It gives an `EncodedRecord` for a plain row and parsed JSON for any other row. Null if the feed's schema
 * or this machine does not support it.
 * @param schema of the feed's records, of the type `image`
 */
export function createRowReader(
  feed: FeedDefinition,
  schema: RecordSchema,
  image: WireType<VendorRecord>,
): RowReader | null {
  shared ??= startTranscoder();
  if (shared === 'not-here') return null;
  const transcoder = shared;
  const plan = createPlan(feed, schema, transcoder.planAt);
  if (plan === null || plan.bytes.length > MOST_PLAN_BYTES) return null;
  const feedOf: EncodedFeed = { decode: image.decode, knowsSymbol: plan.knowsSymbol, omit: feed.omit };
  const reading = { plan, feed: feedOf, headerId: leastByteFirst(image.schemaId) };
  return (body, mayRead, mostRows) => readRows(transcoder, reading, body, mayRead, mostRows);
}

/** One for all feeds, since each call ends before another can begin. */
let shared: Transcoder | 'not-here' | undefined;

/** The exports of `assembly/index.ts`, which documents them. Addresses are bytes of `memory`. */
interface TranscoderModule {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  firstFreeByte(): number;
  beginRows(from: number, limit: number, key: number, keyBytes: number): number;
  readRows(
    plan: number,
    from: number,
    limit: number,
    table: number,
    mostRows: number,
    images: number,
    imagesEnd: number,
    fixedBytes: number,
    schemaId: number,
  ): number;
  nextRow(): number;
}

type Transcoder = Exclude<ReturnType<typeof startTranscoder>, 'not-here'>;

const MOST_PLAN_BYTES = 256 * 1024;
const ROWS_AT_ONCE = 1_000;
const IMAGES_BYTES = 1024 * 1024;
/** Larger answers are parsed as JSON, because the module's memory is never given back. */
const MOST_BODY_BYTES = 16 * 1024 * 1024;
const PAGE_BYTES = 64 * 1024;

/** V8 has no WebAssembly without its compiler (`--jitless`), and older processors lack its wide instructions. */
function startTranscoder() {
  const module = instantiate();
  if (module === null) return 'not-here' as const;
  // The text comes last, because only it grows.
  const planAt = aligned(module.firstFreeByte());
  const tableAt = planAt + MOST_PLAN_BYTES;
  const imagesAt = aligned(tableAt + ROWS_AT_ONCE * layout.ROW_BYTES);
  const textAt = aligned(imagesAt + IMAGES_BYTES + layout.SLACK);
  return {
    module,
    planAt,
    tableAt,
    imagesAt,
    textAt,
    /** The plan that is in memory now. */
    loaded: null as Plan | null,
  };
}

/** None of the type libraries in use declares it. */
declare const WebAssembly:
  | {
      readonly Module: new (bytes: Uint8Array) => object;
      readonly Instance: new (module: object) => { readonly exports: unknown };
    }
  | undefined;

/** Null if there is no WebAssembly, or if it cannot run the module. */
function instantiate(): TranscoderModule | null {
  if (typeof WebAssembly === 'undefined') return null;
  try {
    const { exports } = new WebAssembly.Instance(
      new WebAssembly.Module(Buffer.from(COMPILED.code, 'base64')),
    );
    return exports as TranscoderModule;
  } catch {
    return null;
  }
}

const aligned = (address: number): number => Math.ceil(address / 16) * 16;

interface Reading {
  readonly plan: Plan;
  readonly feed: EncodedFeed;
  /** Id of the schema, in the byte order of the wire format. */
  readonly headerId: number;
}

function readRows(
  transcoder: Transcoder,
  reading: Reading,
  body: Body,
  mayRead: Parameters<RowReader>[1],
  mostRows: number,
): readonly unknown[] | null {
  if (body.length > MOST_BODY_BYTES) return null;
  const { module, planAt, tableAt, imagesAt, textAt } = transcoder;
  const { plan, headerId } = reading;
  const end = textAt + body.length;
  const memory = memoryUpTo(module, end + layout.SLACK);
  if (memory === null) return null;
  if (transcoder.loaded !== plan) {
    plan.bytes.copy(memory, planAt);
    transcoder.loaded = plan;
  }
  body.copyTo(memory, textAt);
  const text = memory.subarray(textAt, end);
  // JSON.parse would see replacement characters in a text that is not UTF-8.
  if (!isUtf8(text) || !mayRead(text)) return null;
  memory.fill(0, end, end + layout.SLACK);

  const rows: unknown[] = [];
  let from = module.beginRows(textAt, end, plan.key, plan.keyBytes);
  if (from === 0) return null;
  while (from !== 0) {
    const count = module.readRows(
      ...([plan.row, from, end, tableAt, ROWS_AT_ONCE] as const),
      ...([imagesAt, imagesAt + IMAGES_BYTES, plan.fixedBytes, headerId] as const),
    );
    if (count < 0 || rows.length + count > mostRows) return null;
    if (!takeRows(rows, count, memory, transcoder, body, reading)) return null;
    from = module.nextRow();
  }
  return rows;
}

/**
 * Copies the rows out of the memory that the next rows overwrite.
 * @returns false if a row is not JSON, or no row is plain: then it takes less time to parse the answer as a whole
 */
function takeRows(
  rows: unknown[],
  count: number,
  memory: Buffer,
  { tableAt, imagesAt, textAt }: Transcoder,
  body: Body,
  { feed }: Reading,
): boolean {
  const table = new Int32Array(memory.buffer, tableAt, count * INTS_OF_ROW).slice();
  const imagesEnd = endOfImages(table, imagesAt);
  if (imagesEnd === imagesAt && count > 1) return false;
  const images = Buffer.from(memory.subarray(imagesAt, imagesEnd));
  const encoded: EncodedRows = { feed, body, bodyAt: textAt, images, imagesAt, table };
  for (let row = 0; row < count; row++) {
    const isEncoded = numberOf(table, row, layout.ROW_IS_ENCODED) !== 0;
    const [start, end] = isEncoded ? ROW_ID : ROW_TEXT;
    const text = memory.toString('utf8', numberOf(table, row, start), numberOf(table, row, end));
    if (isEncoded) {
      rows.push(new EncodedRecord(text, numberOf(table, row, layout.ROW_UPDATED) >>> 0, encoded, row));
      continue;
    }
    const parsed = jsonOf(text);
    if (parsed === undefined) return false;
    rows.push(parsed);
  }
  return true;
}

const INTS_OF_ROW = layout.ROW_BYTES / 4;
/** Where a part of a row begins and ends. */
const ROW_ID = [layout.ROW_ID, layout.ROW_ID_END] as const;
const ROW_TEXT = [layout.ROW_START, layout.ROW_END] as const;

/** Images lie in the order of their rows. */
function endOfImages(table: Int32Array, imagesAt: number): number {
  for (let row = table.length / INTS_OF_ROW - 1; row >= 0; row--)
    if (numberOf(table, row, layout.ROW_IS_ENCODED) !== 0) return numberOf(table, row, layout.ROW_IMAGE_END);
  return imagesAt;
}

/** Growing replaces the buffer of the memory. Null if the machine has no more memory. */
function memoryUpTo({ memory }: TranscoderModule, bytes: number): Buffer | null {
  const missing = bytes - memory.buffer.byteLength;
  try {
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
  } catch {
    return null;
  }
  return Buffer.from(memory.buffer);
}

/** The module writes numbers with the least byte first, and the wire format has the greatest byte first. */
function leastByteFirst(schemaId: number): number {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(schemaId);
  return bytes.readInt32LE();
}
