import { existsSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import type { Contender } from '../contender';
import { sampleUsage } from '../measure/usage-samples';
import { measuredRun } from '../measured';
import type { Scene } from '../scene';
import { startHighwater } from './highwater';

/** Between two looks into the file, and so how exactly the end is known. */
const LOOK_MS = 5;
const QUIET_MS = 1_000;

/** highwater as it comes without Kafka: the end is seen in the file, by a reader that asks for the number of its last row. */
export const highwaterEmbedded: Contender = {
  name: 'highwater-embedded',
  title: 'highwater, embedded log (no Kafka)',
  role: 'ours',
  isTypical: true,
  async run(scene) {
    const { api, records } = scene;
    const folder = mkdtempSync(path.join(scene.folder, 'highwater-embedded-'));
    await api.reset();
    const publisher = startHighwater(scene, folder, {});
    const samples = sampleUsage(publisher.pid);
    const file = path.join(folder, 'data', 'highwater.db');
    try {
      const arrivals = await watch(scene, file, () => {
        if (publisher.hasEnded) throw new Error(`it ended by itself:\n${publisher.output()}`);
      });
      samples.stop();
      const { firstRequestMs } = await api.stats();
      await publisher.stop();
      const complete = completedAt(file, records);
      const completedMs = arrivals.find(({ row }) => row >= complete)!.atMs;
      return measuredRun(records, firstRequestMs, completedMs, samples);
    } finally {
      samples.stop();
      await publisher.stop();
    }
  },
};

interface Arrival {
  readonly atMs: number;
  /** Number of the last row then; rows are numbered in the order of their arrival. */
  readonly row: number;
}

/** Until there are twice as many rows as records, and no more come. */
async function watch(scene: Scene, file: string, assertAlive: () => void): Promise<Arrival[]> {
  const deadline = Date.now() + scene.patienceMs;
  const arrivals: Arrival[] = [];
  let db: Database.Database | null = null;
  try {
    for (;;) {
      assertAlive();
      if (Date.now() > deadline) throw new Error('it is not done in time');
      db ??= open(file);
      const row = db === null ? 0 : lastRow(db);
      const last = arrivals.at(-1);
      if (row > (last?.row ?? 0)) arrivals.push({ atMs: Date.now(), row });
      else if (last && last.row >= 2 * scene.records && Date.now() - last.atMs > QUIET_MS) return arrivals;
      await sleep(LOOK_MS);
    }
  } finally {
    db?.close();
  }
}

/** Null until the tables are there. */
function open(file: string): Database.Database | null {
  if (!existsSync(file)) return null;
  const db = new Database(`${pathToFileURL(file).href}?mode=ro`, { timeout: 5_000 });
  const tables = db.prepare("SELECT count(*) AS tables FROM sqlite_master WHERE name = 'records'").get();
  if ((tables as { readonly tables: number }).tables === 1) return db;
  db.close();
  return null;
}

function lastRow(db: Database.Database): number {
  const { row } = db.prepare('SELECT max(rowid) AS row FROM records').get() as {
    readonly row: number | null;
  };
  return row ?? 0;
}

/** The row that completed the events and the images. @throws Error unless each record is there once, as one and as the other */
function completedAt(file: string, records: number): number {
  const db = new Database(file);
  try {
    const rows = ['ipos', 'ipos.current'].map((topic) => {
      const found = db
        .prepare(
          'SELECT count(*) AS rows, count(DISTINCT key) AS keys, max(rowid) AS last FROM records WHERE topic = ?',
        )
        .get(topic) as { readonly rows: number; readonly keys: number; readonly last: number };
      if (found.rows !== records || found.keys !== records) {
        throw new Error(`${topic} has ${found.rows} records of ${found.keys} keys instead of ${records}`);
      }
      return found.last;
    });
    return Math.max(...rows);
  } finally {
    db.close();
  }
}
