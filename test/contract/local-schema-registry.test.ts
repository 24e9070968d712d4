import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openLocalLog } from '../../src/log/local/local-log';
import { schemaRegistryContract } from './schema-registry';

schemaRegistryContract('the embedded log', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'highwater-'));
  const opened = new Set<ReturnType<typeof openLocalLog>>();
  return {
    open() {
      const log = openLocalLog({ dataDir });
      opened.add(log);
      return log.registry;
    },
    async close() {
      for (const { commitLog } of opened) await commitLog.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
});
