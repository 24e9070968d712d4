import { watch } from 'node:fs';
import path from 'node:path';
import type { Random } from '../../src/simulator/random';
import type { Simulator } from '../../src/simulator/simulator';
import type { JudgedLog } from '../support/judge/log';
import { withLogFile } from '../support/judge/log-file';
import type { KillMoment } from './kill-moment';
import { hasTornCommit } from './wal-frames';

/** Where a publisher under test writes, and how a test looks at it behind the publisher's back. */
export interface PublisherLog {
  /** Settings of the program that lead there. */
  readonly env: Readonly<Record<string, string>>;
  /** Reads the present commits. */
  read<T>(use: (log: JudgedLog) => T): Promise<T>;
  /** How long after a commit it may take until a reader sees all of it, in ms. */
  readonly visibleMs: number;
  /** @param early soon after the start: in a first snapshot */
  drawMoment(random: Random, early: boolean): KillMoment;
  /**
   * Calls `hit` at each occurrence of a moment.
   * @param hit returns true if it killed the publisher
   * @returns a function that stops this
   */
  watch(at: string, sim: Simulator, hit: () => boolean): () => void;
  /** Whether a publisher that was killed at the moment died in the middle of a commit. */
  diedCommitting(moment: KillMoment): boolean;
}

/**
 * The embedded log. Moments: `request`, the publisher asks the API; `commit`, it writes to the WAL, which SQLite does in the
 * middle of a commit, counted from its first request; `start`, the same, counted from its start (it opens the log and claims
 * its feeds).
 */
export function embeddedLog(dataDir: string): PublisherLog {
  const file = path.join(dataDir, 'highwater.db');
  return {
    env: { HIGHWATER_DATA_DIR: dataDir },
    read: async (use) => withLogFile(file, use),
    visibleMs: 0,
    drawMoment(random, early) {
      const at = random.pick(['request', 'request', 'commit', 'commit', 'commit', 'start'] as const);
      switch (at) {
        case 'request':
          return { at, nth: early ? random.int(3, 12) : random.int(20, 90), delayMs: random.int(0, 20) };
        case 'commit':
          return { at, nth: early ? random.int(1, 10) : random.int(5, 80), delayMs: 0 };
        case 'start':
          return { at, nth: random.int(1, 30), delayMs: 0 };
      }
    },
    watch(at, sim, hit) {
      let isReading = at === 'start';
      const watcher = watch(dataDir, (_event, name) => {
        if (at !== 'request' && isReading && name === 'highwater.db-wal') hit();
      });
      sim.onRequest(() => {
        isReading = true;
        if (at === 'request') hit();
      });
      return () => {
        watcher.close();
        sim.onRequest(null);
      };
    },
    diedCommitting: () => hasTornCommit(`${file}-wal`),
  };
}
