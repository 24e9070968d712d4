import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run } from './command';
import { codeBlocks, instead } from './guide';
import { javaCommand } from './java';
import { jars } from './maven';
import type { Servers } from './servers';

export interface Flink {
  readonly java: string;
  /** Folder of jars. */
  readonly libraries: string;
  /** For its files. */
  readonly folder: string;
}

/** The outcome of a query. */
export interface Answer {
  readonly query: string;
  /** The table at its end, and how many changes made it. */
  readonly rows?: readonly (readonly unknown[])[];
  readonly changes?: number;
  /** The error and its causes, a line each. */
  readonly error?: string;
}

const QUERIES_MS = 180_000;
const project = path.join(__dirname, 'flink');

/** @throws MissingToolError without Java or Maven */
export async function flinkProgram(folder: string): Promise<Flink> {
  const java = await javaCommand();
  return { java, libraries: await jars('flink', path.join(project, 'pom.xml')), folder };
}

/** The statements of the guide, over these servers and topics. */
export function guideStatements({ brokers, registryUrl }: Servers, prefix: string): string {
  return instead(codeBlocks('flink.md', 'sql').join('\n'), {
    'localhost:9092': brokers,
    'http://localhost:8081/apis/ccompat/v7': registryUrl,
    "'topic' = '": `'topic' = '${prefix}`,
  });
}

/** Runs statements on a cluster of its own. @returns what became of each query, in order */
export async function query({ java, libraries, folder }: Flink, statements: string): Promise<Answer[]> {
  const own = mkdtempSync(path.join(folder, 'flink-'));
  const [input, output] = [path.join(own, 'statements.sql'), path.join(own, 'answers.json')];
  writeFileSync(input, statements);
  // Off: a session cluster logs as an error that a job which has ended is not there any more.
  const quiet = '-Dorg.slf4j.simpleLogger.defaultLogLevel=off';
  const vm = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx1g', quiet, '-cp', `${libraries}/*`];
  const args = [...vm, path.join(project, 'RunQueries.java'), input, output];
  const { code, stdout, stderr } = await run(java, args, { withinMs: QUERIES_MS });
  if (code !== 0) throw new Error(`Flink ended with ${code}:\n${stdout}${stderr}`);
  return JSON.parse(readFileSync(output, 'utf8')) as Answer[];
}
