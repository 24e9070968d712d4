import { mkdirSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { ipos } from '../../src/feeds/ipos';
import { roledTopics, settingsFor } from '../../src/log/kafka/admin/topic-rules';
import { feedTopics } from '../../src/log/topics';
import { type ServerProcess, startProcess } from '../../tools/servers/server-process';
import type { Contender } from '../contender';
import { program } from '../dist';
import { publishToKafka } from '../kafka/publish-to-kafka';
import type { Scene } from '../scene';

/** highwater into Kafka as it comes, but for the codec. */
export function highwaterOnKafka(codec: 'gzip' | 'lz4' | 'zstd'): Contender {
  return {
    name: `highwater-${codec}`,
    title: `highwater, ${codec}${codec === 'gzip' ? ' (its default)' : ''}`,
    role: 'ours',
    ...(codec === 'gzip' && { isTypical: true as const }),
    async run(scene) {
      const { kafka, records } = scene;
      const folder = mkdtempSync(path.join(scene.folder, `highwater-${codec}-`));
      const prefix = `${path.basename(folder)}.`;
      const topics = feedTopics(ipos, prefix);
      // As it makes them itself, but for the time that records carry: it would be that of the observation.
      await kafka.create(
        roledTopics(topics).map((topic) => ({
          name: topic.spec.name,
          partitions: topic.spec.partitions,
          settings: settingsFor(topic),
        })),
      );
      try {
        return await publishToKafka(scene, {
          topics: [topics.changes.name, topics.current.name],
          start: () =>
            startHighwater(scene, folder, {
              KAFKA_BROKERS: kafka.brokers,
              SCHEMA_REGISTRY_URL: kafka.registryUrl,
              HIGHWATER_TOPIC_PREFIX: prefix,
              HIGHWATER_COMPRESSION: codec,
            }),
          verify(contents) {
            // Each record is one event and one image, exactly once.
            for (const { topic, records: found } of contents) {
              if (found !== records) throw new Error(`${topic} has ${found} records instead of ${records}`);
            }
          },
        });
      } finally {
        await kafka.deleteTopics(prefix);
      }
    },
  };
}

/** The real program; only the feed, and how often it may ask, are not its defaults. */
export function startHighwater(
  { api }: Scene,
  folder: string,
  env: Readonly<Record<string, string>>,
): ServerProcess {
  const data = path.join(folder, 'data');
  mkdirSync(data, { recursive: true });
  return startProcess({
    command: process.execPath,
    args: [program, 'run'],
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HIGHWATER_API_URL: api.url,
      HIGHWATER_API_TOKEN: api.token,
      HIGHWATER_DATA_DIR: data,
      HIGHWATER_FEEDS: 'ipos',
      HIGHWATER_REQUESTS_PER_SECOND: '1000',
      ...env,
    },
    output: path.join(folder, 'highwater.out'),
    folder: null,
  });
}
