/** Entries of a chunk: growing by one takes no time to speak of, and copies nothing. */
const SHIFT = 14;
const ENTRIES = 2 ** SHIFT;

type Chunk = Uint16Array | Uint32Array;

/** A number for each index, outside the heap. Numbers that were never set are 0. */
export class Column {
  private readonly chunks: Chunk[] = [];

  constructor(private readonly chunk: { new (length: number): Chunk }) {}

  get(index: number): number {
    return this.chunks[index >>> SHIFT]?.[index & (ENTRIES - 1)] ?? 0;
  }

  set(index: number, value: number): void {
    if (value === 0 && this.get(index) === 0) return;
    const number = index >>> SHIFT;
    while (number >= this.chunks.length) this.chunks.push(new this.chunk(ENTRIES));
    this.chunks[number]![index & (ENTRIES - 1)] = value;
  }

  /** All entries at once: ten million take some milliseconds. */
  update(change: (value: number) => number): void {
    for (const chunk of this.chunks) for (let i = 0; i < ENTRIES; i++) chunk[i] = change(chunk[i]!);
  }
}
