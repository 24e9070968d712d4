import path from 'node:path';
import { findJava } from '../../tools/servers/java';
import { runJson } from '../process/run-program';
import type { BenchKafka } from './bench-kafka';

/** What is committed in a topic. */
export interface TopicContent {
  readonly topic: string;
  readonly records: number;
  /** Different ones. */
  readonly keys: number;
  /** Unix ms at which the broker appended the record that completed the set of keys. */
  readonly completedMs: number;
}

/** Reads topics to their ends with Java's consumer, which shares nothing with any contender. */
export async function readTopics(
  { brokers, classpath }: BenchKafka,
  topics: readonly string[],
): Promise<TopicContent[]> {
  return runJson<TopicContent>({
    command: await findJava(),
    args: [...javaOptions, '-cp', classpath, path.join(__dirname, 'ReadTopics.java'), brokers, ...topics],
  });
}

/** Of programs that run for seconds. */
export const javaOptions = ['-Xmx1g', '-XX:+UseSerialGC', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];
