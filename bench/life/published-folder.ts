import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config';
import { openLocalLog } from '../../src/log/local/local-log';
import { runWorker } from '../../src/runtime/worker';
import { startSimulator } from '../../src/simulator/simulator';
import { quiet } from './quiet';

export interface PublishedFolder {
  readonly dataDir: string;
  remove(): void;
}

/** An embedded log that the publisher has written: a first snapshot, and a change of some of the records. */
export async function publishedFolder(given: {
  /** Records of the feed. */
  readonly ipos: number;
  /** Part of them that change once, 0 to 1. */
  readonly updatesOf: number;
}): Promise<PublishedFolder> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'highwater-life-'));
  const api = await startSimulator({ records: { ipos: given.ipos }, compress: false, keepHistory: false });
  try {
    await pollOnce(api, dataDir);
    const ids = [...api.stores.ipos.truth().entries()];
    for (const [id, record] of ids.slice(0, Math.floor(ids.length * given.updatesOf))) {
      const { updated: _, ...rest } = record;
      api.stores.ipos.upsert({ ...rest, id, deal_status: 'Postponed' });
    }
    await pollOnce(api, dataDir);
  } finally {
    await api.stop();
  }
  return { dataDir, remove: () => rmSync(dataDir, { recursive: true, force: true }) };
}

async function pollOnce(
  api: { readonly url: string; readonly token: string },
  dataDir: string,
): Promise<void> {
  const env = {
    HIGHWATER_API_URL: api.url,
    HIGHWATER_API_TOKEN: api.token,
    HIGHWATER_DATA_DIR: dataDir,
    HIGHWATER_FEEDS: 'ipos',
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
  };
  const config = loadConfig({ flags: {}, env, cwd: dataDir });
  const { commitLog, registry } = openLocalLog({ dataDir, logger: quiet, instance: 'bench' });
  try {
    const deps = { log: commitLog, registry, logger: quiet };
    const [task] = await runWorker(config, deps, true, new AbortController().signal);
    if (task!.error !== null) throw task!.error;
  } finally {
    await commitLog.close();
  }
}
