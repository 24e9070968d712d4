import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { goTool } from './go-tool';
import type { JavaProgram } from './java';
import type { KeyedValue } from './python-judge';
import type { Results } from './results';
import type { Servers } from './servers';

/** A program of examples/ as the README shows it. */
export interface Example {
  readonly file: string;
  readonly command: readonly [string, ...string[]];
}

const folder = path.join(__dirname, '..', '..', 'examples');
const EXAMPLE_MS = 30_000;
/** How long to wait for records that should not come, when all that should have come. */
const SURPLUS_MS = 500;
const END_MS = 5_000;

export function examples(python: string, { java, libraries }: JavaProgram, go: string): Example[] {
  const quiet = '-Dorg.slf4j.simpleLogger.defaultLogLevel=error';
  const vm = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', quiet, '-cp', libraries];
  return [
    { file: 'consume.mjs', command: [process.execPath, path.join(folder, 'consume.mjs')] },
    { file: 'consume.py', command: [python, path.join(folder, 'consume.py')] },
    { file: 'Consume.java', command: [java, ...vm, path.join(folder, 'Consume.java')] },
    { file: 'consume.go', command: [go] },
  ];
}

/**
 * examples/consume.go, built.
 * @throws MissingToolError without Go, or when it fails
 */
export function goProgram(): Promise<string> {
  const source = path.join(folder, 'consume.go');
  return goTool({ name: 'consume-go', source, folder: path.join(__dirname, 'go') });
}

/**
 * Runs an example until it has printed as many records as a topic holds.
 * @param expected the records of the topic, in any order
 */
export async function checkExample(
  { file, command: [program, ...args] }: Example,
  { brokers, registryUrl }: Servers,
  topic: string,
  expected: readonly KeyedValue[],
  results: Results,
): Promise<void> {
  const env = { ...process.env, KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl };
  const child = spawn(program, [...args, topic], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'close');
  const printed: string[] = [];
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  createInterface({ input: child.stdout }).on('line', (line) => printed.push(line));
  try {
    const deadline = Date.now() + EXAMPLE_MS;
    while (printed.length < expected.length && Date.now() < deadline && child.exitCode === null)
      await delay(20);
    await delay(SURPLUS_MS);
  } finally {
    child.kill('SIGINT');
    const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
    await exited.finally(() => clearTimeout(timer));
  }
  const what = `examples/${file} prints the ${expected.length} records of ${topic.split('.').slice(1).join('.')}`;
  const difference = firstDifference(printed, expected);
  results.check(difference === null, what, [`${difference}`, ...complaints.trim().split('\n').slice(-10)]);
}

function firstDifference(printed: readonly string[], expected: readonly KeyedValue[]): string | null {
  let records: KeyedValue[];
  try {
    records = printed.map((line) => JSON.parse(line) as KeyedValue);
  } catch (error) {
    return `a line is no JSON: ${(error as Error).message}`;
  }
  const [found, wanted] = [byKey(records), byKey(expected)];
  for (const key of new Set([...found.keys(), ...wanted.keys()])) {
    // The records of a key are in one partition, and so in one order.
    if (!isDeepStrictEqual(found.get(key), wanted.get(key)))
      return `${printed.length} lines; key ${key}: ${JSON.stringify(found.get(key))?.slice(0, 500)}, expected ${JSON.stringify(wanted.get(key))?.slice(0, 500)}`;
  }
  return null;
}

function byKey(records: readonly KeyedValue[]): Map<string, unknown[]> {
  const values = new Map<string, unknown[]>();
  for (const { key, value } of records) values.set(key, [...(values.get(key) ?? []), value]);
  return values;
}
