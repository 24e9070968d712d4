/** A record of a batch. Its offset and time are relative to the batch. */
export interface DecodedRecord {
  readonly offsetDelta: number;
  /** ms */
  readonly timestampDelta: number;
  /** '' if it has none. */
  readonly key: string;
  /** A view. */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Decodes record after record of one batch (format v2). Names of headers, and most of their values, equal those of the record
 * before. An equal text is compared, not decoded.
 */
export class RecordsDecoder {
  private at = 0;
  private readonly names: string[] = [];
  private readonly texts: string[] = [];

  constructor(private readonly bytes: Buffer) {}

  /** @returns null when what stands there is no record */
  next(): DecodedRecord | null {
    const length = this.varint();
    const end = this.at + length;
    if (!(length > 0 && end <= this.bytes.length)) return null;
    this.at++; // attributes: none are defined
    const timestampDelta = this.varint();
    const offsetDelta = this.varint();
    const key = this.text(this.varint(), '');
    const valueLength = this.varint();
    const value = valueLength < 0 ? null : this.bytes.subarray(this.at, this.at + valueLength);
    this.at += Math.max(valueLength, 0);
    const headers = this.headers(end);
    return this.at === end ? { offsetDelta, timestampDelta, key, value, headers } : null;
  }

  /** If several have one name, the last one counts. */
  private headers(end: number): Record<string, string> {
    const headers: Record<string, string> = {};
    const count = this.varint();
    for (let i = 0; i < count && this.at < end; i++) {
      const name = this.text(this.varint(), this.names[i] ?? '');
      const text = this.text(this.varint(), this.texts[i] ?? '');
      this.names[i] = name;
      this.texts[i] = text;
      headers[name] = text;
    }
    return headers;
  }

  /** @param length in bytes; below 0 there is no text, which counts as empty. @param guess the probable text */
  private text(length: number, guess: string): string {
    if (length <= 0) return '';
    const start = this.at;
    this.at += length;
    if (guess.length === length) {
      let i = 0;
      // An ASCII byte equals its UTF-16 unit. A unit from 0x80 on takes more bytes, so a text of this length is another one.
      while (i < length && this.bytes[start + i]! < 0x80 && this.bytes[start + i] === guess.charCodeAt(i))
        i++;
      if (i === length) return guess;
    }
    return this.bytes.toString('utf8', start, this.at);
  }

  /** Zigzag. Exact up to 2^52; no length or time distance is larger. */
  private varint(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    let value = byte & 0x7f;
    for (let factor = 0x80; byte >= 0x80; factor *= 0x80) {
      byte = bytes[this.at++]!;
      value += (byte & 0x7f) * factor;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
