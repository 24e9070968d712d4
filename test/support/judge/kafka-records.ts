import type { ForeignRecord } from '../foreign-reader/foreign-reader';
import { type JudgedLog, type KnownSchema, type LogRow, schemaIdOf, wireReader } from './log';

/** Schemas by id, as the registry has them. Filled as ids are met. */
export interface RegistrySchemas {
  readonly known: ReadonlyMap<number, KnownSchema>;
  /** Asks for unknown schemas. @throws Error when the registry does not have one, or does not answer */
  learn(ids: Iterable<number>): Promise<void>;
}

/** @param url base address of the Confluent-compatible API */
export function registrySchemas(url: string, prefix: string): RegistrySchemas {
  const known = new Map<number, KnownSchema>();
  return {
    known,
    async learn(ids) {
      for (const id of ids) {
        if (known.has(id)) continue;
        const { schema } = (await get(`${url}/schemas/ids/${id}`)) as { schema: string };
        const versions = (await get(`${url}/schemas/ids/${id}/versions`)) as { subject: string }[];
        const subjects = versions
          .map(({ subject }) => subject)
          .filter((subject) => subject.startsWith(prefix))
          .map((subject) => subject.slice(prefix.length));
        known.set(id, { text: schema, subjects });
      }
    },
  };
}

async function get(url: string): Promise<unknown> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/** Topics into which a new owner writes its fence: a tombstone with a header that no delete has. */
const fenced = /\.(current|source-offset|dead-letters)$/;
const isFence = ({ value, headers }: ForeignRecord) => value === null && headers.owner_epoch !== undefined;

/**
 * A log on Kafka, of which every record is still there: the brokers must not have compacted it yet.
 * @param records of all topics that begin with the prefix, by offset in each partition
 */
export async function kafkaRecords(
  records: readonly ForeignRecord[],
  { schemas, prefix }: { readonly schemas: RegistrySchemas; readonly prefix: string },
): Promise<JudgedLog> {
  const topics = new Map<string, LogRow[]>();
  const ids = new Set<number>();
  for (const found of records) {
    const { topic: fullName, key, ...record } = found;
    if (!fullName.startsWith(prefix)) throw new Error(`${fullName} does not begin with ${prefix}`);
    const topic = fullName.slice(prefix.length);
    if (isFence(found) && fenced.test(topic)) continue;
    const row = { ...record, topic, key: key ?? '' };
    const rows = topics.get(topic);
    if (rows === undefined) topics.set(topic, [row]);
    else rows.push(row);
    if (row.value !== null) ids.add(schemaIdOf(row.value));
  }
  for (const rows of topics.values()) rows.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
  await schemas.learn(ids);
  return {
    keeps: 'all',
    rows: (topic) => topics.get(topic) ?? [],
    count: (topic) => topics.get(topic)?.length ?? 0,
    tableSize(topic) {
      const latest = new Map(topics.get(topic)?.map(({ key, value }) => [key, value]));
      return [...latest.values()].filter((value) => value !== null).length;
    },
    ...wireReader(schemas.known),
  };
}
