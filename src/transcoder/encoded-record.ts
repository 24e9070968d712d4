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

export function numberOf(table: Int32Array, row: number, field: number): number {
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
    const { table, images, imagesAt } = this.#rows;
    const from = numberOf(table, this.#row, layout.ROW_IMAGE) - imagesAt;
    const to = numberOf(table, this.#row, layout.ROW_IMAGE_END) - imagesAt;
    this.#image ??= images.subarray(from, to);
    return this.#image;
  }

  get symbol(): string | null | undefined {
    const { feed, table, images, imagesAt } = this.#rows;
    if (!feed.knowsSymbol) return undefined;
    const from = numberOf(table, this.#row, layout.ROW_SYMBOL);
    if (from === 0) return null;
    const to = numberOf(table, this.#row, layout.ROW_SYMBOL_END);
    return images.toString('utf8', from - imagesAt, to - imagesAt);
  }

  /** The row as the vendor sent it, without the members of `omit`. */
  toJSON(): unknown {
    const { feed, table, body, bodyAt } = this.#rows;
    const from = numberOf(table, this.#row, layout.ROW_START) - bodyAt;
    const to = numberOf(table, this.#row, layout.ROW_END) - bodyAt;
    const row: unknown = JSON.parse(body.kept().toString('utf8', from, to));
    removeMembers(row, feed.omit);
    return row;
  }
}
