import { recordDecoder } from '../../avro/codec/record-decoder';
import type { SchemaLookup } from '../../avro/registry/registry';
import { changePlace } from '../../consumer/table';
import { HighwaterError } from '../../errors';
import type { FeedTopics, LogReader, LogRecord } from '../../log/commit-log';
import { latestRecords } from '../../log/latest-records';
import { openSpool, type Spool } from '../../log/local/file/spool';
import type { SourceOffset } from '../../state/source-offset';
import { type Exported, type ExportedType, type ExportRow, wholeLookup } from './changes';

interface AsOfDeps {
  readonly log: LogReader;
  readonly registry: SchemaLookup;
  readonly topics: FeedTopics;
  readonly changes: ExportedType;
  readonly signal: AbortSignal;
  /** For a temporary file of the size of the table. */
  readonly folder: string;
}

/** What the changes of a life say about a moment. */
interface History {
  /** Number of the last change up to the moment; 0: none. */
  readonly upTo: number;
  /** Whether all changes after that one are there. */
  readonly isProven: boolean;
  /** Whether all changes are there. */
  readonly isWhole: boolean;
  /** Time of the first change that is kept, ms; Infinity: there is none. */
  readonly firstMs: number;
}

/** Goes behind what any change says. */
const IMAGE = Number.MIN_SAFE_INTEGER;

/**
 * The table of a feed as it was after the last change that was observed at a moment or before it. A record is what its last change up
 * to there left, or what its next change found, or, if no change of it is kept, its image. That is proven if the numbers of all changes
 * after the moment are there, in the present life of the feed. A change that is committed during the export is after it.
 * @throws HighwaterError EXPORT_UNPROVEN, EXPORT_NEWER; as the log and the registry
 */
export function tableAsOf(atMs: number, deps: AsOfDeps): Exported {
  const { log, registry, topics, changes, signal, folder } = deps;
  /** Images are written by the schema of the record in a change. */
  const columns = changes.columns.find(({ name }) => name === 'after')!.children;
  let last = '';
  return { columns, rows, said: () => last, exitCode: () => 0 };

  async function* rows(): AsyncGenerator<ExportRow> {
    const life = await presentLife();
    const spool = openSpool(folder);
    try {
      let history = await readChanges(life, spool);
      if (!history.isWhole) {
        // Before the changes are read to their end: each image that is too new has its change there.
        await readImages(life, spool);
        history = await readChanges(life, spool);
      }
      assertProven(atMs, life, history);
      const later = await presentLife();
      if (later.incarnation !== life.incarnation)
        throw unproven(`the feed began incarnation ${later.incarnation} meanwhile`, 'Export it again.');
      last = `, as of ${new Date(atMs).toISOString()}: after change ${history.upTo} of incarnation ${life.incarnation}`;
      yield* recordsIn(spool, history.isWhole, later.record);
    } finally {
      spool.close();
    }
  }

  async function presentLife(): Promise<Life> {
    const { feed, sourceOffset } = topics;
    const record = (await latestRecords(log, [sourceOffset.name], signal))?.get(sourceOffset.name)?.get(feed);
    signal.throwIfAborted();
    const { incarnation, seq } = record?.headers ?? {};
    if (record === undefined || incarnation === undefined)
      throw unproven(
        `nothing of feed ${feed} was published yet`,
        'Publish the feed first (`highwater run`).',
      );
    return { incarnation, seq: Number(seq), record };
  }

  async function* recordsOf(topic: string): AsyncGenerator<LogRecord> {
    yield* log.read([topic], { fromBeginning: true, follow: false, signal });
    signal.throwIfAborted();
  }

  /** Reads all changes of a life into the spool. */
  async function readChanges(life: Life, spool: Spool, limit?: number): Promise<History> {
    let [count, after, upTo, last, firstMs] = [0, 0, 0, life.seq, Number.POSITIVE_INFINITY];
    let firstAfter = Number.POSITIVE_INFINITY;
    for await (const record of recordsOf(topics.changes.name)) {
      const place = changePlace(record);
      if (place?.incarnation !== life.incarnation) continue;
      const { seq } = place;
      const isUpTo = limit === undefined ? record.timestamp <= atMs && seq <= life.seq : seq <= limit;
      // The last change up to the moment outranks all, and the first change after it outranks later ones.
      spool.put(record.key, isUpTo ? seq : -seq, record.value!);
      count += 1;
      last = Math.max(last, seq);
      firstMs = Math.min(firstMs, record.timestamp);
      if (isUpTo) upTo = Math.max(upTo, seq);
      else {
        after += 1;
        firstAfter = Math.min(firstAfter, seq);
      }
    }
    // The clock went back: what lies before the last change up to the moment is up to it, too.
    if (firstAfter < upTo) return readChanges(life, spool, upTo);
    return { upTo, isProven: after === last - upTo, isWhole: count === last, firstMs };
  }

  async function readImages(life: Life, spool: Spool): Promise<void> {
    for await (const { key, value, headers } of recordsOf(topics.current.name)) {
      if (value === null) spool.remove(key, IMAGE);
      else if (headers.incarnation === life.incarnation) spool.put(key, IMAGE, value);
    }
  }

  /** The records of the table, by id. */
  async function* recordsIn(
    spool: Spool,
    isWhole: boolean,
    sourceOffset: LogRecord,
  ): AsyncGenerator<ExportRow> {
    const image = { ...changes, schema: changes.record, columns };
    const decode = recordDecoder(wholeLookup(registry, [changes, image]));
    const { name: topic } = topics.changes;
    for (const { key, rank, value } of spool.all()) {
      signal.throwIfAborted();
      const { value: decoded } = await decode({ ...sourceOffset, topic, key, value });
      const { op, before, after } = decoded as Envelope;
      const found = rank === IMAGE ? decoded : rank > 0 ? after : before;
      // A read has no `before`, and may be of a record that was there: an earlier change that tells is not kept.
      if (rank < 0 && rank !== IMAGE && op === 'r' && !isWhole) {
        const { snapshot_seq } = (await recordDecoder(registry)(sourceOffset)).value as SourceOffset;
        const what = `${key} was read again by a later snapshot, and no earlier change of it is kept`;
        if (snapshot_seq > 0) throw unproven(what, 'Choose a time after that snapshot.');
      }
      if (found === null) continue;
      const members = found as Readonly<Record<string, unknown>>;
      yield { values: columns.map(({ name }) => members[name]), of: { key, value } };
    }
  }
}

interface Life {
  readonly incarnation: string;
  /** Number of its last change. */
  readonly seq: number;
  readonly record: LogRecord;
}

/** @throws HighwaterError EXPORT_UNPROVEN */
function assertProven(atMs: number, life: Life, { upTo, isProven, isWhole, firstMs }: History): void {
  const at = new Date(atMs).toISOString();
  if (upTo === 0 && life.seq === 0 && isWhole && life.record.timestamp <= atMs) return;
  const first = Number.isFinite(firstMs) ? new Date(firstMs).toISOString() : 'now';
  if (!isWhole && !isProven) {
    const what = `${at}: changes after that time are no longer in the log, or cannot be read; the first that is kept is of ${first}`;
    throw unproven(
      what,
      'Choose a later time. A log that keeps changes for longer can be asked about earlier times. If no time is late enough, another program has a transaction open on the topic (kafka-transactions.sh find-hanging).',
    );
  }
  if (upTo > 0) return;
  const what = `${at}: the present life of the feed (incarnation ${life.incarnation}) has no change until ${first}`;
  throw unproven(what, 'Choose a later time.');
}

const unproven = (what: string, remedy: string): HighwaterError =>
  new HighwaterError('EXPORT_UNPROVEN', what, { remedy });

type Envelope = Readonly<Record<'before' | 'after', unknown>> & { readonly op: string };
