/** Reads the fields of an answer in order. @throws RangeError behind the end */
export class AnswerReader {
  private at = 0;

  constructor(private readonly source: Buffer) {}

  skip(bytes: number): void {
    this.at += bytes;
  }

  int16(): number {
    this.at += 2;
    return this.source.readInt16BE(this.at - 2);
  }

  int32(): number {
    this.at += 4;
    return this.source.readInt32BE(this.at - 4);
  }

  int64(): bigint {
    this.at += 8;
    return this.source.readBigInt64BE(this.at - 8);
  }

  text(): string {
    return this.textOf(this.int16());
  }

  /** A view. */
  bytes(): Buffer {
    return this.take(Math.max(this.int32(), 0));
  }

  /** The methods below read flexible versions (KIP-482): a length is sent plus one, and 0 stands for null. */
  compactLength(): number {
    return Math.max(this.varint() - 1, 0);
  }

  compactText(): string {
    return this.textOf(this.compactLength());
  }

  /** A view. */
  compactBytes(): Buffer {
    return this.take(this.compactLength());
  }

  /** As Kafka's tools print it. */
  id(): string {
    return this.take(ID_BYTES).toString('base64url');
  }

  skipTags(): void {
    for (let tags = this.varint(); tags > 0; tags--) {
      this.varint();
      this.skip(this.varint());
    }
  }

  private varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.source.readUInt8(this.at++);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  private textOf(length: number): string {
    this.at += length;
    return this.source.toString('utf8', this.at - length, this.at);
  }

  private take(length: number): Buffer {
    this.at += length;
    return this.source.subarray(this.at - length, this.at);
  }
}

const ID_BYTES = 16;
