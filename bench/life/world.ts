import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ApiServer, startApi } from '../api/api-server';
import { type BenchKafka, startBenchKafka } from '../kafka/bench-kafka';
import { runScript } from '../process/run-program';
import type { Mark, SnapshotInput, SnapshotMarks } from './parts/snapshot';
import type { PublisherSetup } from './publisher';

/** Where all that is measured takes place. */
export interface World {
  /** The logs that are asked for. */
  readonly logs: readonly LogName[];
  readonly isShort: boolean;
  /** With a million records. */
  readonly isFull: boolean;
  /**
   * A log that holds the first snapshot of so many records, and the API that it came from: made when it is first asked for.
   */
  filled(log: LogName, records: number): Promise<Filled>;
  /** An API with so many records that nobody else reads, and an empty log. */
  own(log: LogName, records: number): Promise<PublisherSetup>;
  /** An empty log, and an API that others read too. */
  empty(log: LogName, records: number): Promise<PublisherSetup>;
  /** The broker of all logs in Kafka. */
  broker(): Promise<BenchKafka>;
  stop(): Promise<void>;
}

export type LogName = 'embedded' | 'kafka';

export interface Filled {
  readonly setup: PublisherSetup;
  /** What it took up to 1, 2 and 5 of each power of ten from 10,000 on, and the end. */
  readonly marks: readonly Mark[];
}

/** Runs one of `parts/` in a process of its own. */
export function runPart<Output>(part: string, input: unknown): Promise<Output> {
  return runScript<Output>(path.join(__dirname, 'parts', `${part}.ts`), input);
}

export function openWorld(given: Pick<World, 'logs' | 'isShort' | 'isFull'>): World {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-life-'));
  const stops: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const stopped = async <Server extends { stop(): Promise<void> }>(
    starting: Promise<Server>,
  ): Promise<Server> => {
    const server = await starting;
    stops.push(() => server.stop());
    return server;
  };
  const once = <Key, Value>(make: (key: Key) => Promise<Value>) => {
    const made = new Map<Key, Promise<Value>>();
    return (key: Key): Promise<Value> => {
      const already = made.get(key) ?? make(key);
      made.set(key, already);
      return already;
    };
  };
  const api = once((records: number) => stopped(startApi({ records })));
  const kafka = once((_: 'one') => stopped(startBenchKafka()));
  let number = 0;

  const emptyLog = async (
    log: LogName,
    records: number,
    { url, token }: ApiServer,
  ): Promise<PublisherSetup> => {
    const name = `${log}-${records}-${++number}`;
    const dataDir = path.join(folder, name);
    mkdirSync(dataDir);
    const broker = log === 'kafka' ? await kafka('one') : null;
    return {
      ...{ api: { url, token }, dataDir, pollInterval: '10ms' },
      kafka:
        broker === null
          ? null
          : { brokers: broker.brokers, registryUrl: broker.registryUrl, prefix: `${name}.` },
    };
  };
  const world: World = {
    ...given,
    own: async (log, records) => emptyLog(log, records, await stopped(startApi({ records }))),
    filled: (log, records) => fill(`${log} ${records}`),
    empty: async (log, records) => emptyLog(log, records, await api(records)),
    broker: () => kafka('one'),
    async stop() {
      for (const each of stops.splice(0).reverse()) await each();
    },
  };
  const fill = once(async (key: string): Promise<Filled> => {
    const [log, count] = key.split(' ');
    const records = Number(count);
    const setup = await emptyLog(log as LogName, records, await api(records));
    const marks = [1, 2, 5].flatMap((factor) => [4, 5, 6].map((power) => factor * 10 ** power));
    const input: SnapshotInput = {
      setup,
      marks: [...marks.filter((mark) => mark < records).sort((a, b) => a - b), records],
    };
    return { setup, ...(await runPart<SnapshotMarks>('snapshot', input)) };
  });
  return world;
}
