import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../../tools/servers/server-process';
import { sampleUsage } from '../measure/usage-samples';
import { type Measured, measuredRun } from '../measured';
import type { Scene } from '../scene';
import { readTopics, type TopicContent } from './read-topics';

export interface KafkaRun {
  /** Topics that must hold each record of the API by its id. */
  readonly topics: readonly string[];
  start(): ServerProcess;
  /** @throws Error when this is not what the contender promises */
  verify(contents: readonly TopicContent[]): void;
}

/** Few records still come where the newest are asked for again and again. */
const FEW = 50;
const LOOK_MS = 200;
const QUIET_MS = 1_000;

/**
 * One run of a publisher: from the API's first request to the moment at which the broker appended the record that made the
 * last topic complete. Wall and CPU are of that time alone, so that nobody's start counts.
 */
export async function publishToKafka(scene: Scene, run: KafkaRun): Promise<Measured> {
  const { records, api, kafka } = scene;
  await api.reset();
  const publisher = run.start();
  const samples = sampleUsage(publisher.pid);
  try {
    await untilQuiet(scene, run, publisher);
    const { firstRequestMs } = await api.stats();
    samples.stop();
    await publisher.stop();
    const contents = await readTopics(kafka, run.topics);
    for (const { topic, keys } of contents) {
      if (keys !== records) throw new Error(`${topic} has ${keys} of ${records} records`);
    }
    run.verify(contents);
    const completedMs = Math.max(...contents.map((each) => each.completedMs));
    return measuredRun(records, firstRequestMs, completedMs, samples);
  } finally {
    samples.stop();
    await publisher.stop();
  }
}

/** Until each topic has as many records as the API, and hardly any come. When that was is found out afterwards. */
async function untilQuiet(scene: Scene, { topics }: KafkaRun, publisher: ServerProcess): Promise<void> {
  const deadline = Date.now() + scene.patienceMs;
  let before = { size: 0, atMs: Date.now() };
  for (;;) {
    if (publisher.hasEnded) throw new Error(`it ended by itself:\n${publisher.output()}`);
    if (Date.now() > deadline) throw new Error(`it is not done in time:\n${publisher.output()}`);
    const sizes = [...(await scene.kafka.sizes(topics)).values()];
    const size = sizes.reduce((sum, each) => sum + each, 0);
    if (size > before.size + FEW) before = { size, atMs: Date.now() };
    const isQuiet = Date.now() - before.atMs > QUIET_MS;
    if (isQuiet && sizes.every((each) => each >= scene.records)) return;
    await sleep(LOOK_MS);
  }
}
