import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type * as SimulatorModule from '../../src/simulator/simulator';
import { fromDist } from '../dist';
import { publish } from './publisher';

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
  const { startSimulator } = fromDist<typeof SimulatorModule>('simulator/simulator');
  const api = await startSimulator({ records: { ipos: given.ipos }, compress: false, keepHistory: false });
  const pollOnce = () =>
    publish(
      { api, dataDir, pollInterval: '1s', kafka: null },
      true,
      () => undefined,
      new AbortController().signal,
    );
  try {
    await pollOnce();
    const ids = [...api.stores.ipos.truth().entries()];
    for (const [id, record] of ids.slice(0, Math.floor(ids.length * given.updatesOf))) {
      const { updated: _, ...rest } = record;
      api.stores.ipos.upsert({ ...rest, id, deal_status: 'Postponed' });
    }
    await pollOnce();
  } finally {
    await api.stop();
  }
  return { dataDir, remove: () => rmSync(dataDir, { recursive: true, force: true }) };
}
