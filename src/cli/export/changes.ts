import type { PublishedTopic } from '../../avro/published-topics';
import { isSameSchema } from '../../avro/registry/compatibility';
import type { SchemaLookup } from '../../avro/registry/registry';
import { fullName, type RecordSchema, typeName } from '../../avro/schemas';
import { HighwaterError } from '../../errors';
import type { LogReader, LogRecord } from '../../log/commit-log';
import { tolerantDecoder } from '../log/tolerant-decoder';
import type { CommandContext } from '../process/command-context';
import { type Column, columnsOf, haveRoom, mergedColumns, plainColumn } from './columns';

/** A row of an export: a value for each column, and the record that it was made of. */
export interface ExportRow {
  readonly values: readonly unknown[];
  readonly of: Pick<LogRecord, 'key' | 'value'> & Partial<LogRecord>;
}

/** The columns and rows of an export. */
export interface Exported {
  readonly columns: readonly Column[];
  rows(): AsyncIterable<ExportRow>;
  /** For the end of the line that reports the export. */
  said(): string;
  exitCode(): number;
}

/** What is known of an event beside its value. */
const facts: readonly Column[] = [
  plainColumn('event_id', 'string'),
  plainColumn('type', 'string'),
  plainColumn('op', 'string'),
  plainColumn('key', 'string'),
  plainColumn('observed_at', 'timestamp-millis'),
  plainColumn('incarnation', 'string'),
  plainColumn('seq', 'long'),
  plainColumn('partition', 'int'),
  plainColumn('offset', 'long'),
];
/** `ipos:3f2a91c0:802`, `ipos:3f2a91c0:802:deal_status` */
const EVENT_ID = /^[^:]+:([^:]+):(\d+)/;

function factsOf({ headers, key, timestamp, partition, logOffset }: LogRecord, type: string): unknown[] {
  const id = headers.ce_id ?? null;
  const [, incarnation = null, seq] = EVENT_ID.exec(id ?? '') ?? [];
  const number = seq === undefined ? null : Number(seq);
  return [id, type, headers.op ?? null, key, timestamp, incarnation, number, partition, logOffset];
}

/**
 * A column for each field of the values, and the name of the field by the type of the value. A name that is taken by another column gets
 * `value_` before it.
 */
function valueColumns(topics: readonly ExportedType[]) {
  const found = new Map<string, { readonly column: Column; readonly fields: Map<string, string> }>();
  for (const { schema, kind, columns } of topics) {
    for (const column of columns) {
      if (column.name === 'event_id' || (column.name === 'op' && kind === 'changes')) continue;
      const same = found.get(column.name);
      const isTaken =
        facts.some(({ name }) => name === column.name) ||
        (same !== undefined && JSON.stringify(same.column) !== JSON.stringify(column));
      const name = isTaken ? `value_${column.name}` : column.name;
      const { fields } = found.get(name) ?? { fields: new Map<string, string>() };
      found.set(name, { column: { ...column, name }, fields: fields.set(fullName(schema), column.name) });
    }
  }
  return [...found.values()];
}

/** A type of values in a topic, with the columns of all its versions. */
export interface ExportedType extends PublishedTopic {
  readonly columns: readonly Column[];
}

/** @throws HighwaterError REGISTRY_* */
export async function exportedType(topic: PublishedTopic, registry: SchemaLookup): Promise<ExportedType> {
  const type = fullName(topic.schema);
  const registered = (await registry.versions(topic.subject)).map(({ schema }) => schema);
  const written = registered.filter((schema) => typeName(schema) === type) as unknown as RecordSchema[];
  // Nothing was written by a schema that is not registered, and it may be incompatible with the registered ones.
  const own = written.length === 0 || written.some((one) => isSameSchema(one, topic.schema));
  const versions = [...(own ? [topic.schema] : []), ...written.reverse()];
  return { ...topic, columns: mergedColumns(versions.map((schema) => columnsOf(schema))) };
}

/**
 * The events of one topic, observed in [`sinceMs`, `untilMs`), in order per partition.
 * @param topics the types of values in the topic
 */
export function changes(
  topic: string,
  topics: readonly ExportedType[],
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
  { log, registry, context }: { log: LogReader; registry: SchemaLookup; context: CommandContext },
): Exported {
  const valued = valueColumns(topics);
  const { decode, exitCode } = tolerantDecoder(wholeLookup(registry, topics), context);
  const notBefore = sinceMs === Number.NEGATIVE_INFINITY ? {} : { notBefore: { sinceMs } };
  return {
    columns: [...facts, ...valued.map(({ column }) => column)],
    exitCode,
    said: () => '',
    async *rows() {
      const { signal } = context;
      const options = { fromBeginning: true, follow: false, signal, ...notBefore };
      for await (const record of log.read([topic], options)) {
        if (record.timestamp < sinceMs || record.timestamp >= untilMs) continue;
        const decoded = await decode(record);
        if (decoded === null) continue;
        const type = decoded.type ?? '';
        const value = decoded.value as Readonly<Record<string, unknown>> | null;
        const ofValue = valued.map(({ fields }) => value?.[fields.get(type) ?? '']);
        yield { values: [...factsOf(record, type), ...ofValue], of: record };
      }
    },
  };
}

/**
 * A lookup that refuses schemas whose values have no place in the columns: they would be lost. The registry lacks such a schema among the
 * versions, or it was registered during the export, or it is of a type that the settings do not name.
 * @throws HighwaterError EXPORT_NEWER
 */
export function wholeLookup(registry: SchemaLookup, types: readonly ExportedType[]): SchemaLookup {
  return {
    ...registry,
    async schemaById(id) {
      const written = await registry.schemaById(id);
      const type = types.find(({ schema }) => fullName(schema) === typeName(written));
      const what = `schema ${id} of ${typeName(written)}`;
      if (type === undefined)
        throw new HighwaterError('EXPORT_NEWER', `${what} is of a type that the settings do not name`);
      if (!haveRoom(type.columns, columnsOf(written as unknown as RecordSchema)))
        throw new HighwaterError('EXPORT_NEWER', `${what} has other fields`);
      return written;
    },
  };
}
