import { isUtf8 } from 'node:buffer';
import type { WireType } from '../avro/codec/wire-type';
import type { RecordSchema } from '../avro/schemas';
import type { FeedDefinition } from '../feeds/definition';
import type { Body } from '../source/body';
import type { RowReader } from '../source/source';
import type { VendorRecord } from '../types';
import {
  ROW_BYTES,
  ROW_END,
  ROW_ID,
  ROW_ID_END,
  ROW_IMAGE_END,
  ROW_IS_ENCODED,
  ROW_START,
  ROW_UPDATED,
  SLACK,
} from './assembly/layout';
import { COMPILED } from './compiled';
import { type EncodedFeed, EncodedRecord, type EncodedRows } from './encoded-record';
import { createPlan, type Plan } from './plan';

/**
 * A reader of rows for one feed: `EncodedRecord` for those that are plain, parsed JSON for all others. Null where the feed's schema,
 * or this machine, is not one for it.
 * @param schema of the feed's records; `image` is its type
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
  const feedOf: EncodedFeed = { decode: image.decode, knowsSymbol: plan.knowsSymbol };
  const reading = { plan, feed: feedOf, headerId: leastByteFirst(image.schemaId) };
  return (body, mayRead, mostRows) => readRows(transcoder, reading, body, mayRead, mostRows);
}

/** One for all feeds: it works while nobody waits. */
let shared: Transcoder | 'not-here' | undefined;

/** What `assembly/index.ts` exports: its comments say what it does. Addresses are bytes of `memory`. */
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

/** Where memory is used for what. Text is behind all else, for it is what grows. */
interface Transcoder {
  readonly module: TranscoderModule;
  readonly planAt: number;
  readonly tableAt: number;
  readonly imagesAt: number;
  readonly textAt: number;
  /** Whose plan lies there. */
  loaded: Plan | null;
}

const MOST_PLAN_BYTES = 256 * 1024;
const ROWS_AT_ONCE = 1_000;
const IMAGES_BYTES = 1024 * 1024;
/** Larger answers are left to whoever parses JSON: the memory is never given back. */
const MOST_BODY_BYTES = 16 * 1024 * 1024;
const PAGE_BYTES = 64 * 1024;

/** V8 has no WebAssembly without its compiler (`--jitless`), and older processors lack its wide instructions. */
function startTranscoder(): Transcoder | 'not-here' {
  const module = instantiate();
  if (module === null) return 'not-here';
  const planAt = aligned(module.firstFreeByte());
  const tableAt = planAt + MOST_PLAN_BYTES;
  const imagesAt = aligned(tableAt + ROWS_AT_ONCE * ROW_BYTES);
  const textAt = aligned(imagesAt + IMAGES_BYTES + SLACK);
  return { module, planAt, tableAt, imagesAt, textAt, loaded: null };
}

/** Part of the language's host, and of no library that is compiled against here. */
declare const WebAssembly:
  | {
      readonly Module: new (bytes: Uint8Array) => object;
      readonly Instance: new (module: object) => { readonly exports: unknown };
    }
  | undefined;

/** Null where there is no WebAssembly, or none that can run this. */
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
  /** Id of the schema, as the header of the wire format has it. */
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
  const memory = memoryUpTo(module, end + SLACK);
  if (memory === null) return null;
  if (transcoder.loaded !== plan) {
    plan.bytes.copy(memory, planAt);
    transcoder.loaded = plan;
  }
  body.copyTo(memory, textAt);
  const text = memory.subarray(textAt, end);
  // What is no UTF-8 has replacements in it by the time it is text.
  if (!isUtf8(text) || !mayRead(text)) return null;
  memory.fill(0, end, end + SLACK);

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
 * Copies what the next rows are going to be written over.
 * @returns false where a row is no JSON after all, or none of them is plain: then parsing the answer as a whole takes less time
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
    const ints = row * INTS_OF_ROW;
    if (table[ints + ROW_IS_ENCODED / 4] === 0) {
      const text = memory.toString('utf8', table[ints + ROW_START / 4], table[ints + ROW_END / 4]);
      const parsed = parse(text);
      if (parsed === undefined) return false;
      rows.push(parsed);
    } else {
      const id = memory.toString('utf8', table[ints + ROW_ID / 4], table[ints + ROW_ID_END / 4]);
      rows.push(new EncodedRecord(id, table[ints + ROW_UPDATED / 4]! >>> 0, encoded, row));
    }
  }
  return true;
}

const INTS_OF_ROW = ROW_BYTES / 4;

/** Images follow each other in the order of their rows. */
function endOfImages(table: Int32Array, imagesAt: number): number {
  for (let ints = table.length - INTS_OF_ROW; ints >= 0; ints -= INTS_OF_ROW) {
    if (table[ints + ROW_IS_ENCODED / 4] !== 0) return table[ints + ROW_IMAGE_END / 4]!;
  }
  return imagesAt;
}

/** Undefined where it is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The memory may be another one after it has grown. Null where there is no more of it. */
function memoryUpTo({ memory }: TranscoderModule, bytes: number): Buffer | null {
  const missing = bytes - memory.buffer.byteLength;
  try {
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
  } catch {
    return null;
  }
  return Buffer.from(memory.buffer);
}

/** As the module writes numbers: the wire format has them the other way round. */
function leastByteFirst(schemaId: number): number {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(schemaId);
  return bytes.readInt32LE();
}
