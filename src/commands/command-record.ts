import type { SchemaRegistry } from '../avro/registry';
import { fullName, type RecordSchema, readSchema } from '../avro/schemas';
import { readSchemaId } from '../avro/wire';
import { type WireType, wireType } from '../avro/wire-type';
import { HighwaterError } from '../errors';
import type { SharedTopicSpec } from '../log/commit-log';

/** One value of the command topic; names are those of `schemas/command.avsc`, which says what they mean. */
export interface CommandRecord {
  readonly request_id: string;
  readonly kind: CommandRecordKind;
  readonly feed: string;
  readonly command: string;
  /** Name → JSON text. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly asked_by: string;
  /** ms */
  readonly expires_ms: number;
  readonly owner: string | null;
  readonly owner_id: string | null;
  readonly summary: string | null;
  /** Name → JSON text. */
  readonly facts: Readonly<Record<string, string>>;
  readonly error: CommandError | null;
  /** ms */
  readonly ts_ms: number;
}

export type CommandRecordKind = 'request' | 'accepted' | 'withdrawn' | 'progress' | 'done' | 'failed';

export interface CommandError {
  readonly code: string;
  readonly message: string;
  readonly now: string;
  readonly remedy: string;
}

export const commandSchema = readSchema('command.avsc');

export function commandSubject(topic: Pick<SharedTopicSpec, 'name'>): string {
  return `${topic.name}-value`;
}

/** Values of the command topic to and from the wire format. */
export interface CommandCodec {
  /** @throws HighwaterError REGISTRY_*, SCHEMA_*: the schema is registered, or looked up, by the first call that can */
  encode(record: CommandRecord): Promise<Buffer>;
  /** @throws HighwaterError REGISTRY_*; null for a value that is none of a command */
  decode(value: Buffer): Promise<CommandRecord | null>;
}

export function commandCodec(
  topic: Pick<SharedTopicSpec, 'name'>,
  registry: Pick<SchemaRegistry, 'register' | 'schemaById'>,
): CommandCodec {
  let writer: WireType<CommandRecord> | null = null;
  // Reads by the schemas of the writers alone: 0 is the id of none.
  const reader = wireType<CommandRecord>(commandSchema, 0);
  /** By schema id: whether it is that of a version of commands. */
  const writers = new Map<number, boolean>();

  async function isOurs(id: number): Promise<boolean> {
    const known = writers.get(id);
    if (known !== undefined) return known;
    const schema = await registry.schemaById(id);
    const ours = fullName(schema as RecordSchema) === fullName(commandSchema);
    if (ours) reader.addWriter(id, schema);
    writers.set(id, ours);
    return ours;
  }

  return {
    async encode(record) {
      writer ??= wireType(commandSchema, await registry.register(commandSubject(topic), commandSchema));
      return writer.encode(record);
    },
    async decode(value) {
      const id = schemaIdOf(value);
      if (id === null) return null;
      try {
        return (await isOurs(id)) ? reader.decode(value) : null;
      } catch (error) {
        // Anybody may write there: what cannot be read must not stand in the way of what can.
        if (error instanceof HighwaterError && error.code !== 'SCHEMA_UNKNOWN') throw error;
        return null;
      }
    },
  };
}

function schemaIdOf(value: Buffer): number | null {
  try {
    return readSchemaId(value) || null;
  } catch {
    return null;
  }
}
