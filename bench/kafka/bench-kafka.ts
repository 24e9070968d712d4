import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka as Client, logLevel } from 'kafkajs';
import { artefacts } from '../../tools/servers/artefacts';
import { startKafka } from '../../tools/servers/kafka';
import { startRegistry } from '../../tools/servers/registry';
import { processUsage } from '../measure/process-usage';

export interface NewTopic {
  readonly name: string;
  readonly partitions: number;
  readonly settings?: Readonly<Record<string, string>>;
}

/** A broker and a registry for the time of the benchmarks. Records carry the time at which the broker appended them. */
export interface BenchKafka {
  readonly brokers: string;
  readonly registryUrl: string;
  /** Of Kafka's own jars. */
  readonly classpath: string;
  create(topics: readonly NewTopic[]): Promise<void>;
  /** How many records and markers are in the topics, by topic. */
  sizes(topics: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** User and system time of the broker since it started. */
  cpuMs(): number;
  /** Of the log of the topics whose names begin so. */
  logBytes(prefix: string): number;
  /** Deletes the topics that begin so. */
  deleteTopics(prefix: string): Promise<void>;
  stop(): Promise<void>;
}

/** Of topics that say nothing else. */
export const logAppendTime = { 'message.timestamp.type': 'LogAppendTime' };

async function ready(work: () => Promise<unknown>, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

/** @throws MissingToolError without Java or Maven */
export async function startBenchKafka(): Promise<BenchKafka> {
  const kafka = await startKafka({ measured: true });
  const stops = [kafka.stop];
  const stop = async () => {
    for (const each of stops.reverse()) await each();
  };
  try {
    const registry = await startRegistry();
    stops.push(registry.stop);
    const admin = new Client({ brokers: [kafka.bootstrap], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    stops.push(() => admin.disconnect());
    const sizes = async (topics: readonly string[]): Promise<ReadonlyMap<string, number>> => {
      const found = new Map<string, number>();
      for (const topic of topics) {
        const partitions = await admin.fetchTopicOffsets(topic);
        found.set(
          topic,
          partitions.reduce((sum, { high }) => sum + Number(high), 0),
        );
      }
      return found;
    };
    return {
      brokers: kafka.bootstrap,
      registryUrl: registry.url,
      classpath: `${(await artefacts()).kafka}/*`,
      async create(topics) {
        await admin.createTopics({
          // kafkajs gives up at once where a broker does not know the topic yet: `ready` waits, below.
          waitForLeaders: false,
          topics: topics.map(({ name, partitions, settings = {} }) => ({
            topic: name,
            numPartitions: partitions,
            configEntries: Object.entries({ ...settings, ...logAppendTime }).map(([name, value]) => ({
              name,
              value,
            })),
          })),
        });
        // A broker is told of its partitions a moment after the controller has made them.
        const names = topics.map(({ name }) => name);
        await ready(() => sizes(names), 20_000);
      },
      sizes,
      cpuMs: () => processUsage(kafka.brokers[0]!.pid).cpuMs,
      logBytes: (prefix) =>
        readdirSync(kafka.folder, { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.log') && path.basename(path.dirname(name)).startsWith(prefix))
          .reduce((sum, name) => sum + statSync(path.join(kafka.folder, name)).size, 0),
      async deleteTopics(prefix) {
        const topics = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
        if (topics.length > 0) await admin.deleteTopics({ topics });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
