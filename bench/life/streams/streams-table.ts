import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { versions } from '../../../tools/servers/artefacts';
import { findJava } from '../../../tools/servers/java';
import { runJson } from '../../process/run-program';

/** A topic as a table of Kafka Streams, as `StreamsTable.java` prints it. */
export interface StreamsTable {
  readonly seconds: number;
  /** Records that were read back instead of being processed. */
  readonly restored: number;
  /** Bytes. */
  readonly rss: number;
  readonly peak: number;
}

export interface StreamsInput {
  readonly brokers: string;
  /** Compacted. */
  readonly topic: string;
  readonly records: number;
  readonly folder: string;
}

/** A new application, one that has lost its store, and one that has it. @throws Error with Maven's words without Kafka Streams */
export async function streamsTables(
  input: StreamsInput,
): Promise<Record<'first' | 'lost' | 'kept', StreamsTable>> {
  const classpath = `${await jars()}/*`;
  const java = await findJava();
  const run = async (records: number): Promise<StreamsTable> => {
    const program = [path.join(__dirname, 'StreamsTable.java'), input.brokers, input.topic, input.folder];
    const args = ['-Xmx512m', '-cp', classpath, ...program, String(records)];
    const [table] = await runJson<StreamsTable>({ command: java, args, withinMs: 30 * 60_000 });
    return table!;
  };
  const first = await run(input.records);
  rmSync(input.folder, { recursive: true });
  const lost = await run(0);
  const kept = await run(0);
  rmSync(input.folder, { recursive: true });
  return { first, lost, kept };
}

/** Fetched once. */
async function jars(): Promise<string> {
  const folder = path.join(homedir(), '.cache', 'highwater', `kafka-streams-${versions.kafka}`);
  if (existsSync(folder)) return folder;
  mkdirSync(path.dirname(folder), { recursive: true });
  const goal = [
    'dependency:copy-dependencies',
    `-DoutputDirectory=${folder}.new`,
    `-Dkafka.version=${versions.kafka}`,
  ];
  await promisify(execFile)('mvn', ['-q', '-B', '-f', path.join(__dirname, 'pom.xml'), ...goal]);
  renameSync(`${folder}.new`, folder);
  return folder;
}
