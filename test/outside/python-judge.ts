import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type CommandResult, run } from './command';
import type { Results } from './results';
import type { Servers } from './servers';

export interface Topics {
  readonly servers: Servers;
  readonly prefix: string;
  readonly truthFile: string;
  /** Prefix of the original topics. */
  readonly copiedFrom?: string;
}

export interface Reading {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Check → its findings. */
  readonly problems: Readonly<Record<string, readonly string[]>>;
  /** Records of each topic, by partition and offset. */
  readonly topics: Readonly<Record<string, readonly KeyedValue[]>>;
}

export interface KeyedValue {
  readonly key: string;
  readonly value: unknown;
}

const READ_MS = 90_000;

/** Python (confluent-kafka, fastavro) reads all topics, and compares them with each other and with the API. */
export async function judgeInPython(
  python: string,
  folder: string,
  { servers: { brokers, registryUrl }, prefix, truthFile, copiedFrom }: Topics,
): Promise<Reading> {
  const script = path.join(__dirname, 'python', 'read_topics.py');
  const report = path.join(folder, `python-${prefix}json`);
  const copied = copiedFrom === undefined ? [] : ['--copied-from', copiedFrom];
  const args = ['-B', script, brokers, registryUrl, prefix, truthFile, ...copied, '--report', report];
  return reading(await run(python, args, { withinMs: READ_MS }), report);
}

function reading(result: CommandResult, report: string): Reading {
  if (result.code !== 0 && result.code !== 1)
    throw new Error(`the judge ended with ${result.code}:\n${result.stdout}${result.stderr}`);
  try {
    return {
      ...result,
      ...(JSON.parse(readFileSync(report, 'utf8')) as Pick<Reading, 'problems' | 'topics'>),
    };
  } catch (cause) {
    throw new Error(`the judge left no report:\n${result.stdout}${result.stderr}`, { cause });
  }
}

/** Each of the judge's checks as one of ours. */
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
