import { readSchemaId } from '../avro/codec/wire';
import { type WireType, wireType } from '../avro/codec/wire-type';
import type { SchemaRegistry } from '../avro/registry/registry';
import { fullName, readSchema, typeName } from '../avro/schemas';
import { HighwaterError } from '../errors';
import type { CommitLog, SharedTopicSpec } from '../log/commit-log';

/** One value of the command topic. `schemas/command.avsc` explains the names. */
export interface CommandRecord {
  readonly request_id: string;
  readonly kind: 'request' | 'accepted' | 'withdrawn' | 'progress' | 'done' | 'failed';
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
  readonly error: Readonly<Record<'code' | 'message' | 'now' | 'remedy', string>> | null;
  /** ms */
  readonly ts_ms: number;
}

export const commandSchema = readSchema('command.avsc');

export function commandSubject(topic: Pick<SharedTopicSpec, 'name'>): string {
  return `${topic.name}-value`;
}

/** How long a refusal is remembered, in ms. The registry may answer otherwise later. */
const ASK_AGAIN_MS = 5_000;
/** Most ids that are remembered. Any program can write to the topic, with any id. */
const MOST_FOREIGN = 1_000;

type CommandCodec = ReturnType<typeof commandCodec>;

/**
 * Values of the command topic to and from the wire format.
 * @param passesOver called once for each schema id whose records are passed over
 * @param now ms
 */
export function commandCodec(
  topic: Pick<SharedTopicSpec, 'name'>,
  registry: Pick<SchemaRegistry, 'register' | 'schemaById'>,
  {
    passesOver,
    now = () => performance.now(),
  }: {
    readonly passesOver?: (schemaId: number, why: string) => void;
    readonly now?: () => number;
  } = {},
) {
  let writer: WireType<CommandRecord> | null = null;
  const reader = wireType<CommandRecord>(commandSchema, NO_ID);
  /** Schema ids that are not of commands, as far as is known → when the registry is asked again, ms. */
  const foreign = new Map<number, number>();

  async function isOurs(id: number): Promise<boolean> {
    if (reader.knowsWriter(id)) return true;
    if (now() < (foreign.get(id) ?? 0)) return false;
    try {
      const schema = await registry.schemaById(id);
      const isCommand = typeName(schema) === fullName(commandSchema);
      if (isCommand) reader.addWriter(id, schema);
      else passOver(id, `it is ${typeName(schema)}`, Number.POSITIVE_INFINITY);
      return isCommand;
    } catch (error) {
      // A record of another program must not block commands, for any answer of the registry about its schema id.
      if (error instanceof HighwaterError && error.kind.retriable) throw error;
      passOver(id, (error as Error).message, now() + ASK_AGAIN_MS);
      return false;
    }
  }

  function passOver(id: number, why: string, askAgainAt: number): void {
    if (!foreign.has(id)) passesOver?.(id, why);
    if (foreign.size >= MOST_FOREIGN) foreign.clear();
    foreign.set(id, askAgainAt);
  }

  return {
    /** @throws HighwaterError REGISTRY_*, SCHEMA_*: the schema is registered, or looked up, by the first call that can */
    async encode(record: CommandRecord): Promise<Buffer> {
      writer ??= wireType(commandSchema, await registry.register(commandSubject(topic), commandSchema));
      return writer.encode(record);
    },
    /** Null for a value that is not a command. @throws HighwaterError what may pass by itself, such as REGISTRY_UNREACHABLE */
    async decode(value: Buffer): Promise<CommandRecord | null> {
      const id = schemaIdOf(value);
      if (id === null || !(await isOurs(id))) return null;
      try {
        return reader.decode(value);
      } catch {
        return null;
      }
    },
  };
}

/** No registry gives this id: the reader knows only the ids of writers. */
const NO_ID = -1;

function schemaIdOf(value: Buffer): number | null {
  try {
    return readSchemaId(value);
  } catch {
    return null;
  }
}

interface CommandWriterDeps {
  readonly log: Pick<CommitLog, 'append'>;
  readonly topic: SharedTopicSpec;
  readonly codec: CommandCodec;
}

/** @throws HighwaterError LOG_*, KAFKA_*, REGISTRY_*, SCHEMA_*; the signal's reason */
export async function writeCommandRecord(
  record: CommandRecord,
  { log, topic, codec }: CommandWriterDeps,
  signal: AbortSignal,
): Promise<void> {
  const { feed: key, ts_ms: timestamp } = record;
  const value = await codec.encode(record);
  await log.append(topic, [{ topic: topic.name, key, value, headers: {}, timestamp }], signal);
}
