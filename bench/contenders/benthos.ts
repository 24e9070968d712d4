import { mkdirSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { startProcess } from '../../tools/servers/server-process';
import type { Contender } from '../contender';
import { publishToKafka } from '../kafka/publish-to-kafka';
import { benthosProgram, isBenthosBuilt } from '../peers/benthos-program';
import { registerPeerSchema } from '../peers/peer-schema';

const typical = 'benthos.yaml';

/** Benthos with one of the configurations of bench/peers. */
export function benthos(config: string, title: string, role: 'peer' | 'lesser peer'): Contender {
  const name = config.replace(/\.yaml$/, '');
  let program = '';
  return {
    name,
    title,
    role,
    ...(config === typical && { isTypical: true as const }),
    async prepare({ isShort }) {
      if (isShort && !isBenthosBuilt()) return 'Benthos is not built yet, which npm run bench does once';
      const built = await benthosProgram();
      if ('missing' in built) return built.missing;
      program = built.file;
      return null;
    },
    async run(scene) {
      const { kafka, api } = scene;
      const folder = mkdtempSync(path.join(scene.folder, `${name}-`));
      const topic = path.basename(folder);
      mkdirSync(path.join(folder, 'state'));
      await kafka.create([{ name: topic, partitions: 1 }]);
      await registerPeerSchema(kafka.registryUrl, topic);
      try {
        return await publishToKafka(scene, {
          topics: [topic],
          start: () =>
            startProcess({
              command: program,
              args: ['-c', path.join(__dirname, '..', 'peers', config)],
              cwd: folder,
              env: {
                PATH: process.env.PATH,
                GOGC: '400',
                API_URL: api.url,
                API_TOKEN: api.token,
                KAFKA_BROKERS: kafka.brokers,
                SCHEMA_REGISTRY_URL: kafka.registryUrl,
                SUBJECT: topic,
                TOPIC: topic,
              },
              output: path.join(folder, 'benthos.out'),
              folder: null,
            }),
          // At least once: all of the ids are enough.
          verify: () => undefined,
        });
      } finally {
        await kafka.deleteTopics(topic);
      }
    },
  };
}
