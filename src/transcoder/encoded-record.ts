import { removeMembers } from '../json/remove-members';
import type { Body } from '../source/body';
import type { RecordValues, VendorRecord } from '../types';
import * as layout from './assembly/layout';

/** Rows that were read together. */
export interface EncodedRows {
  readonly feed: EncodedFeed;
  /** The answer, and the address that it had in the module's memory. */
  readonly body: Body;
  readonly bodyAt: number;
  /** The images of all these rows in wire format, and the address that they had. */
  readonly images: Buffer;
  readonly imagesAt: number;
  /** The module's table of these rows: `assembly/layout.ts`. */
  readonly table: Int32Array;
}

export interface EncodedFeed {
  decode(image: Buffer): VendorRecord;
  /** Whether the table has the place of the symbol. */
  readonly knowsSymbol: boolean;
  /** Dotted paths of the members that the row loses. */
  readonly omit: readonly string[];
}

const INT_BYTES = 4;

function numberOf({ table }: EncodedRows, row: number, field: number): number {
  return table[(row * layout.ROW_BYTES + field) / INT_BYTES]!;
}

/**
 * A row that is already the Avro bytes of its record. Its values are decoded only when they are needed, which is rare. Its `id` and
 * `updated` are members both of a row and of a record.
 */
export class EncodedRecord implements VendorRecord {
  readonly #rows: EncodedRows;
  readonly #row: number;
  #image: Buffer | undefined;
  #values: RecordValues | undefined;

  constructor(
    readonly id: string,
    readonly updated: number,
    rows: EncodedRows,
    row: number,
  ) {
    this.#rows = rows;
    this.#row = row;
  }

  /** `extra` is always empty, because a row with unknown members is not read this way. */
  get values(): RecordValues {
    this.#values ??= this.#rows.feed.decode(this.image).values;
    return this.#values;
  }

  get image(): Buffer {
    const rows = this.#rows;
    const from = numberOf(rows, this.#row, layout.ROW_IMAGE) - rows.imagesAt;
    const to = numberOf(rows, this.#row, layout.ROW_IMAGE_END) - rows.imagesAt;
    this.#image ??= rows.images.subarray(from, to);
    return this.#image;
  }

  get symbol(): string | null | undefined {
    const rows = this.#rows;
    if (!rows.feed.knowsSymbol) return undefined;
    const from = numberOf(rows, this.#row, layout.ROW_SYMBOL);
    if (from === 0) return null;
    const to = numberOf(rows, this.#row, layout.ROW_SYMBOL_END);
    return rows.images.toString('utf8', from - rows.imagesAt, to - rows.imagesAt);
  }

  /** The row as the vendor sent it, without the members of `omit`. */
  toJSON(): unknown {
    const rows = this.#rows;
    const from = numberOf(rows, this.#row, layout.ROW_START) - rows.bodyAt;
    const to = numberOf(rows, this.#row, layout.ROW_END) - rows.bodyAt;
    const row: unknown = JSON.parse(rows.body.kept().toString('utf8', from, to));
    removeMembers(row, rows.feed.omit);
    return row;
  }
}
