import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { TopicEnd } from '../log/commit-log';
import type { Tabular } from './column';
import type { HashIndex } from './hash-index';
import type { StoreFacts } from './image-store';

/** Raise it with each change of hashes, flags, entries, groups and their ranks: a table of another form is not used. */
const FORM = 2;

/** What a table says of the state that it holds. */
export interface KeptFacts {
  /** The topic of the images, and where it ended. */
  readonly topic: string;
  readonly end: TopicEnd;
  readonly incarnation: string;
  /** The last batch, and the ownership that committed it. */
  readonly commit: number;
  readonly ownerEpoch: string;
  /** As in the source offset: the ages of the images go by them. */
  readonly snapshotSeq: number;
  readonly scopeSeq: number;
  readonly partitionCounts: readonly number[];
  /** Schema by which the groups were read from the images. */
  readonly schemaId: number;
  readonly store: StoreFacts;
  readonly groups: readonly KeptGroups[];
}

export interface KeptGroups {
  /** The definition, as JSON. */
  readonly transition: string;
  readonly facts: ReturnType<HashIndex['table']['facts']>;
}

/** A number of 32 bits: size or checksum. */
const NUMBER_BYTES = 4;

type Columns = Pick<Tabular<unknown>, 'columns'>;

/** Writes, one after the other, the size of the facts, the facts, the columns, and a checksum of all that. */
export async function writeTable(
  file: FileHandle,
  facts: KeptFacts,
  tables: readonly Columns[],
): Promise<void> {
  const columns = tables.flatMap((table) => table.columns);
  const pieces = columns.map((column) => column.pieces);
  const header = Buffer.from(JSON.stringify({ form: FORM, facts, pieces }));
  let checksum = 0;
  const write = async (bytes: Uint8Array): Promise<void> => {
    checksum = crc32(bytes, checksum);
    await file.writeFile(bytes);
  };
  await write(number(header.length));
  await write(header);
  for (const column of columns) for (let i = 0; i < column.pieces; i++) await write(column.piece(i));
  await file.writeFile(number(checksum));
}

/**
 * @param tablesFor gives what the columns are read into, in the order in which they were written; then `restored` is called
 * @throws RangeError for a table that is not whole, or of another form; what `tablesFor` throws
 */
export async function readTable<T extends { readonly tables: readonly Columns[]; restored(): void }>(
  file: FileHandle,
  tablesFor: (facts: KeptFacts) => T,
): Promise<T> {
  let checksum = 0;
  const read = async <B extends Uint8Array>(bytes: B): Promise<B> => {
    for (let done = 0; done < bytes.length; ) {
      const { bytesRead } = await file.read(bytes, done, bytes.length - done, null);
      if (bytesRead === 0) throw new RangeError('the table is cut');
      done += bytesRead;
    }
    checksum = crc32(bytes, checksum);
    return bytes;
  };
  const { size } = await file.stat();
  const length = (await read(Buffer.alloc(NUMBER_BYTES))).readUInt32LE();
  if (length > size) throw new RangeError('the table is damaged');
  const { form, facts, pieces } = JSON.parse((await read(Buffer.alloc(length))).toString());
  if (form !== FORM) throw new RangeError(`another version wrote the table (form ${form}, not ${FORM})`);
  const wanted = tablesFor(facts);
  for (const [i, column] of wanted.tables.flatMap((table) => table.columns).entries()) {
    for (let piece = 0; piece < pieces[i]; piece++) await read(column.piece(piece));
  }
  const expected = checksum;
  if ((await read(Buffer.alloc(NUMBER_BYTES))).readUInt32LE() !== expected)
    throw new RangeError('the table is damaged');
  wanted.restored();
  return wanted;
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeUInt32LE(value);
  return bytes;
}
