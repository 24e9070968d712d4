/** Entries of a chunk: growing by one takes no time to speak of, and copies nothing. */
const ENTRIES = 2 ** 14;

/** A number for each index, outside the heap. Numbers that were never set are 0. */
export class Column {
  private readonly chunks: (Uint8Array | Uint32Array)[] = [];

  constructor(private readonly Chunk: Uint8ArrayConstructor | Uint32ArrayConstructor) {}

  get(index: number): number {
    return this.chunks[Math.floor(index / ENTRIES)]?.[index % ENTRIES] ?? 0;
  }

  set(index: number, value: number): void {
    const number = Math.floor(index / ENTRIES);
    while (number >= this.chunks.length) this.chunks.push(new this.Chunk(ENTRIES));
    this.chunks[number]![index % ENTRIES] = value;
  }

  /** All entries at once: a byte of ten million takes a millisecond. */
  update(change: (value: number) => number): void {
    for (const chunk of this.chunks) for (let i = 0; i < ENTRIES; i++) chunk[i] = change(chunk[i]!);
  }
}
