import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type AvroSchema, connectTexts } from './connect-text';
import { type ConnectJars, type ConnectWorker, startWorker } from './connect-worker';
import { propertyFiles, type Settings, withValues } from './guide';
import type { KeyedValue } from './python-judge';
import type { Results } from './results';
import type { Servers } from './servers';

/** A record that the sink may write: by its key, in all texts that are right. */
interface Line {
  readonly key: string;
  readonly texts: readonly string[];
}

interface Sink {
  readonly what: string;
  readonly settings: Settings;
  readonly expected: readonly Line[];
}

type Json = Record<string, unknown>;
type RecordSchema = Exclude<AvroSchema, string | AvroSchema[]>;

const SINKS_MS = 60_000;
/** How long to wait for lines that should not come, when all that should have come. */
const SURPLUS_MS = 500;

/**
 * Kafka Connect with the settings of its guide: what its sinks write is what was committed, and one that reads uncommitted
 * records fails on those of aborted transactions.
 * @param held records of the topics `ipos` and `ipos.current`, by topic
 */
export async function checkConnect(
  jars: ConnectJars,
  { brokers, registryUrl }: Servers,
  prefix: string,
  held: Readonly<Record<string, readonly KeyedValue[]>>,
  folder: string,
  results: Results,
): Promise<void> {
  const own = path.join(folder, 'connect');
  mkdirSync(own);
  const guide = propertyFiles('connect.md');
  const worker = withValues(guide.get('worker.properties')!, {
    'bootstrap.servers': brokers,
    'value.converter.apicurio.registry.url': registryUrl.replace(/ccompat\/.*/, 'registry/v2'),
  });
  const sink = (file: string): Settings => {
    const settings = guide.get(file)!;
    const output = path.join(own, `${settings.name}.txt`);
    // The name is the group's too, of which the offsets stay.
    const name = prefix + settings.name;
    return withValues(settings, { name, topics: prefix + settings.topics, file: output });
  };
  const schema = await schemaOf(registryUrl, `${prefix}ipos.current-value`);
  const lines = linesOf(held, schema);
  const sinks: Sink[] = [
    {
      what: 'the image after each change, deletes dropped (ExtractNewRecordState)',
      settings: sink('images.properties'),
      expected: lines.images,
    },
    {
      what: 'every change with op and sequence number, deletes rewritten (ExtractNewRecordState)',
      settings: sink('changes.properties'),
      expected: lines.changes,
    },
    {
      what: 'the images of the table topic, tombstones and fences filtered',
      settings: sink('table.properties'),
      expected: lines.table,
    },
  ];
  const uncommitted: Settings = {
    ...sink('images.properties'),
    name: `${prefix}uncommitted`,
    file: path.join(own, 'uncommitted.txt'),
    'consumer.override.isolation.level': 'read_uncommitted',
  };
  const connectors = [...sinks.map(({ settings }) => settings), uncommitted];
  const connect = await startWorker(jars, own, worker, connectors);
  try {
    await written(connect, sinks);
    for (const { what, settings, expected } of sinks) {
      const { state, trace } = await connect.task(settings.name!);
      const difference =
        state === 'RUNNING' ? firstDifference(settings.file!, expected) : `${state}: ${trace}`;
      const text = `${what}: ${expected.length} lines, in order for each key`;
      results.check(difference === null, text, [
        `${difference}`,
        connect.output().split('\n').slice(-10).join('\n'),
      ]);
    }
    const { state, trace } = await taskThatEnded(connect, uncommitted.name!);
    const isSo = state === 'FAILED' && /convertAndTransformRecord/.test(trace ?? '');
    results.check(isSo, 'a sink that reads uncommitted records fails on those of an aborted transaction', [
      `${state}: ${trace}`,
    ]);
  } finally {
    await connect.stop();
  }
}

function linesOf(held: Readonly<Record<string, readonly KeyedValue[]>>, schema: RecordSchema) {
  const changes = held.ipos!.map(({ key, value }) => ({ key, ...(value as Change) }));
  const images = changes.flatMap(({ key, after }) =>
    after === null ? [] : [{ key, texts: connectTexts(after, schema) }],
  );
  const all = changes.map(({ key, before, after, op, source }) => {
    const added = { __deleted: op === 'd', __op: op, __source_seq: source.seq };
    return { key, texts: connectTexts((after ?? before)!, schema, added) };
  });
  const table = held['ipos.current']!.flatMap(({ key, value }) =>
    value === null ? [] : [{ key, texts: connectTexts(value as Json, schema) }],
  );
  return { images, changes: all, table };
}

interface Change {
  readonly before: Json | null;
  readonly after: Json | null;
  readonly op: string;
  readonly source: { readonly seq: number };
}

async function schemaOf(registryUrl: string, subject: string): Promise<RecordSchema> {
  const answer = await fetch(`${registryUrl}/subjects/${encodeURIComponent(subject)}/versions/latest`);
  const { schema } = (await answer.json()) as { schema: string };
  return JSON.parse(schema) as RecordSchema;
}

/** Until all that is expected has come, or something has failed. */
async function written(connect: ConnectWorker, sinks: readonly Sink[]): Promise<void> {
  const deadline = Date.now() + SINKS_MS;
  const isShort = ({ settings, expected }: Sink) => linesIn(settings.file!).length < expected.length;
  while (sinks.some(isShort) && Date.now() < deadline) {
    const states = await Promise.all(sinks.map(({ settings }) => connect.task(settings.name!)));
    if (states.some(({ state }) => state === 'FAILED')) break;
    await delay(100);
  }
  await delay(SURPLUS_MS);
}

async function taskThatEnded(connect: ConnectWorker, name: string) {
  const deadline = Date.now() + SINKS_MS;
  for (;;) {
    const task = await connect.task(name);
    if (task.state === 'FAILED' || Date.now() > deadline) return task;
    await delay(100);
  }
}

function linesIn(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

function firstDifference(file: string, expected: readonly Line[]): string | null {
  const found = linesIn(file);
  const wanted = new Map<string, Line[]>();
  for (const line of expected) wanted.set(line.key, [...(wanted.get(line.key) ?? []), line]);
  const next = new Map<string, number>();
  for (const line of found) {
    const key = /^Struct\{id=([^,]*)/.exec(line)?.[1] ?? '';
    const at = next.get(key) ?? 0;
    const texts = wanted.get(key)?.[at]?.texts ?? [];
    if (!texts.includes(line))
      return `line ${at + 1} of key ${key}: ${line}\nexpected: ${texts[0] ?? 'none'}`;
    next.set(key, at + 1);
  }
  return found.length === expected.length ? null : `${found.length} lines, expected ${expected.length}`;
}
