import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { findJava } from '../../tools/servers/java';
import type { Contender } from '../contender';
import { javaOptions } from '../kafka/read-topics';
import { sampleUsage, type UsageSamples } from '../measure/usage-samples';
import type { Measured } from '../measured';
import { runJson, runScript } from '../process/run-program';
import type { Scene } from '../scene';
import type { LimitInput } from './limit-input';

const PARTITIONS = 3;

export const javaProducer: Contender = {
  name: 'limit-java',
  title: "Java's producer: events and images, transactions, lz4",
  role: 'limit',
  isTypical: true,
  run: (scene) =>
    withInput(scene, 'limit-java', true, async (input) => {
      const { file } = await runScript<{ readonly file: string }>(script('write-messages'), input);
      let samples: UsageSamples | null = null;
      const [measured] = await runJson<Measured>({
        command: await findJava(),
        args: [
          ...javaOptions,
          ...['-cp', scene.kafka.classpath, path.join(__dirname, 'JavaProducer.java')],
          ...[input.brokers, input.topic, String(input.records), file],
        ],
        started: (pid) => {
          samples = sampleUsage(pid);
        },
      });
      samples!.stop();
      return { ...measured!, peakRssBytes: samples!.peakRssBytes() };
    }),
};

/** In the order of the table: as the work of a first snapshot goes. */
export const limits: readonly Contender[] = [
  limit('fetch', 'fetch and parse', 'fetch-and-parse', false),
  limit('encode', 'encode image and event', 'encode', false),
  limit('kafkajs', 'kafkajs: events and images, transactions, lz4', 'kafkajs-transactions', true),
  limit('kafkajs-plain', 'kafkajs: events alone, no transactions, lz4', 'kafkajs-plain', true),
  javaProducer,
  limit('sqlite', 'SQLite: events and images inserted', 'sqlite-inserts', false),
];

function limit(name: string, title: string, file: string, writes: boolean): Contender {
  return {
    name: `limit-${name}`,
    title,
    role: 'limit',
    ...(name !== 'kafkajs-plain' && { isTypical: true as const }),
    run: (scene) =>
      withInput(scene, `limit-${name}`, writes, (input) => runScript<Measured>(script(file), input)),
  };
}

const script = (name: string) => path.join(__dirname, `${name}.ts`);

/** @param writes whether it needs topics */
async function withInput<Value>(
  { records, api, kafka, folder }: Scene,
  name: string,
  writes: boolean,
  run: (input: LimitInput) => Promise<Value>,
): Promise<Value> {
  const own = mkdtempSync(path.join(folder, `${name}-`));
  const topic = path.basename(own);
  const input = { records, apiUrl: api.url, token: api.token, brokers: kafka.brokers, topic, folder: own };
  try {
    if (writes) {
      const names = ['events', 'images'].map((each) => `${topic}.${each}`);
      await kafka.create(names.map((each) => ({ name: each, partitions: PARTITIONS })));
    }
    return await run(input);
  } finally {
    if (writes) await kafka.deleteTopics(topic);
    rmSync(own, { recursive: true, force: true });
  }
}
