import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type CommandResult, run } from './command';
import type { JavaProgram } from './java';
import type { Results } from './results';
import type { Servers } from './servers';

/** A program in another language that reads all topics and compares. */
export interface Reader {
  readonly name: string;
  read(from: Topics): Promise<Reading>;
}

export interface Topics {
  readonly servers: Servers;
  readonly prefix: string;
  readonly truthFile: string;
  /** Of the topics that these are a copy of. */
  readonly copiedFrom?: string;
}

export interface Reading {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What each check has found wrong. */
  readonly problems: Readonly<Record<string, readonly string[]>>;
  /** Records of each topic, by partition and offset; of the Python reader only. */
  readonly topics?: Readonly<Record<string, readonly KeyedValue[]>>;
}

export interface KeyedValue {
  readonly key: string;
  readonly value: unknown;
}

const READ_MS = 90_000;

export function pythonReader(python: string, folder: string): Reader {
  const script = path.join(__dirname, 'python', 'read_topics.py');
  return {
    name: 'Python (confluent-kafka, fastavro)',
    async read({ servers: { brokers, registryUrl }, prefix, truthFile, copiedFrom }) {
      const report = path.join(folder, `python-${prefix}json`);
      const copied = copiedFrom === undefined ? [] : ['--copied-from', copiedFrom];
      const args = ['-B', script, brokers, registryUrl, prefix, truthFile, ...copied, '--report', report];
      return reading(await run(python, args, { withinMs: READ_MS }), report);
    },
  };
}

export function javaReader({ java, classpath }: JavaProgram, folder: string): Reader {
  const quiet = '-Dorg.slf4j.simpleLogger.defaultLogLevel=error';
  return {
    name: 'Java (kafka-clients, avro)',
    async read({ servers: { brokers, registryUrl }, prefix, truthFile }) {
      const report = path.join(folder, `java-${prefix}json`);
      const vm = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx512m', quiet, '-cp', classpath];
      const args = [...vm, 'highwater.outside.ReadTopics', brokers, registryUrl, prefix, truthFile, report];
      return reading(await run(java, args, { withinMs: READ_MS }), report);
    },
  };
}

function reading(result: CommandResult, report: string): Reading {
  if (result.code !== 0 && result.code !== 1)
    throw new Error(`the reader ended with ${result.code}:\n${result.stdout}${result.stderr}`);
  try {
    return {
      ...result,
      ...(JSON.parse(readFileSync(report, 'utf8')) as Pick<Reading, 'problems' | 'topics'>),
    };
  } catch (cause) {
    throw new Error(`the reader left no report:\n${result.stdout}${result.stderr}`, { cause });
  }
}

/** Each of the reader's checks as one of ours. */
export function count({ stdout, code, stderr }: Reading, results: Results): void {
  let checks = 0;
  for (const block of stdout.split(/^(?=ok\t|FAIL\t)/m)) {
    const [line = '', ...details] = block.trimEnd().split('\n');
    const [verdict, name, summary] = line.split('\t');
    if (verdict !== 'ok' && verdict !== 'FAIL') continue;
    checks++;
    results.check(
      verdict === 'ok',
      `${name}: ${summary}`,
      details.map((detail) => detail.trim()),
    );
  }
  if (checks === 0 || (code === 0) !== !stdout.includes('FAIL\t'))
    results.fail(`it ended with ${code}`, [stdout, stderr]);
}
