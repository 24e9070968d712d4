import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type DecodedRecord, recordDecoder } from '../../src/avro/codec/record-decoder';
import { fullName } from '../../src/avro/schemas';
import { loadConfig } from '../../src/config/load-config';
import { openLocalLog } from '../../src/log/local/local-log';
import { createLogger } from '../../src/logging/logger';
import { runWorker } from '../../src/runtime/worker';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { publishedTopics } from './catalogue';
import type { EventExample } from './event-examples';

const records = { insights: 120, analysts: 40, ipos: 80 };
const seed = 1;
/** Enough for one event of each kind. */
const steps = 12;

/**
 * Runs the publisher on a simulated API and an embedded log: a first snapshot, some minutes of a market day, a poll.
 * @returns an example of every Avro type that is published
 */
export async function recordExamples(): Promise<EventExample[]> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'highwater-examples-'));
  const simulator = await startSimulator({ seed, records });
  try {
    return examplesOf(await publish(simulator, dataDir));
  } finally {
    await simulator.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** @returns all that lies in the log then */
async function publish(simulator: Simulator, dataDir: string): Promise<DecodedRecord[]> {
  const config = loadConfig({
    flags: { dataDir, requestsPerSecond: '1000' },
    env: { HIGHWATER_API_URL: simulator.url, HIGHWATER_API_TOKEN: simulator.token },
    cwd: dataDir,
  });
  const logger = createLogger({ level: 'error', format: 'pretty', secrets: config.secrets });
  const { commitLog, registry } = openLocalLog({ dataDir, logger });
  const { signal } = new AbortController();
  try {
    const poll = () => runWorker(config, { log: commitLog, registry, logger }, true, signal);
    await poll();
    for (let step = 0; step < steps; step++) simulator.marketDay.step();
    showRowWithoutId(simulator);
    await poll();

    const decode = recordDecoder(registry);
    const topics = publishedTopics().map(({ spec }) => spec.name);
    const inLog: DecodedRecord[] = [];
    const options = { fromBeginning: true, follow: false, signal };
    for await (const record of commitLog.read(topics, options)) inLog.push(await decode(record));
    return inLog;
  } finally {
    await commitLog.close();
  }
}

function showRowWithoutId({ stores, behave }: Simulator): void {
  behave({ drift: { withoutId: 1 } }, 'ipos');
  stores.ipos.touch(stores.ipos.keys()[0]!);
}

/** Of each type the last one that shows something; of a change that caused a transition, the two belong together. */
function examplesOf(inLog: readonly DecodedRecord[]): EventExample[] {
  const topics = [...new Map(publishedTopics().map((topic) => [fullName(topic.schema), topic])).values()];
  const transitions = topics.flatMap(({ kind, spec }) =>
    kind === 'transition' ? [last(inLog, spec.name, ({ value }) => hasMoved(asObject(value)))] : [],
  );
  const causes = new Set(transitions.map(({ value }) => asObject(value).caused_by));
  return topics.map(({ kind, schema, spec, feed }) => {
    const type = fullName(schema);
    const transition = transitions.find((record) => record.type === type);
    if (transition) return exampleOf(transition);
    const telling = ({ value, headers }: DecodedRecord) => {
      if (kind === 'changes' && feed.transitions.length > 0) return causes.has(asObject(value).event_id);
      if (kind === 'current' && feed.transitions.length > 0) return causes.has(headers.event_id);
      return kind !== 'changes' || headers.op === 'u';
    };
    const topic = kind === 'dead-letters' ? 'ipos.dead-letters' : spec.name;
    return exampleOf(last(inLog, topic, telling));
  });
}

function last(
  inLog: readonly DecodedRecord[],
  topic: string,
  telling: (record: DecodedRecord) => boolean,
): DecodedRecord {
  const found = inLog.findLast((record) => record.topic === topic && telling(record));
  if (found === undefined)
    throw new Error(`the run published nothing telling to ${topic}: take another seed`);
  return found;
}

/** That something was known before shows more than a first call, or a first status. */
function hasMoved(transition: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(transition).some(([name, value]) => /^previous_(status|rating)$/.test(name) && value);
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return value as Readonly<Record<string, unknown>>;
}

function exampleOf({
  topic,
  partition,
  logOffset,
  timestamp,
  key,
  type,
  headers,
  value,
}: DecodedRecord): EventExample {
  // Where it was recorded is nobody's concern.
  const shown =
    'owner' in asObject(value) ? { ...asObject(value), owner: 'publisher-1:4711' } : asObject(value);
  return { topic, partition, offset: logOffset, timestamp, key, type: type!, headers, value: shown };
}
