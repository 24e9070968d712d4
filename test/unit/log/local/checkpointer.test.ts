import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { ipos } from '../../../../src/feeds/ipos';
import { openLocalLog } from '../../../../src/log/local/local-log';
import { feedTopics } from '../../../../src/log/topics';
import { batch, deadline, record } from '../../../support/log-records';
import { tempFolder } from '../../../support/temp-folder';
import { until } from '../../../support/until';

const topics = feedTopics(ipos, '');
const RECORDS = 6_000;
const BYTES = 500;
const page = Array.from({ length: RECORDS }, (_, i) =>
  record(topics.changes.name, `${i}`, Buffer.alloc(BYTES)),
);

describe('checkpoints of the embedded log', () => {
  const folder = tempFolder();
  const size = (name: string) => statSync(path.join(folder(), name)).size;

  it('the write-ahead log is copied into the file in another thread, and begins anew', async () => {
    const log = openLocalLog({ dataDir: folder() });
    const session = await log.commitLog.acquire(topics, deadline());
    const rounds = 8;
    for (let round = 1; round <= rounds; round++) {
      await session.commit(batch(session, topics, page, round));
      await until(() => size('highwater.db') >= round * RECORDS * BYTES);
      // The message of the thread, after which the committing connection finishes.
      await after(100);
    }

    expect(size('highwater.db-wal')).toBeLessThan((rounds / 2) * RECORDS * BYTES);
    await log.commitLog.close();
  });

  it('a process that ends in the middle of a checkpoint ends with its own exit code', () => {
    const program = `
      const { openLocalLog } = require('./src/log/local/local-log.ts');
      const { feedTopics } = require('./src/log/topics.ts');
      const topics = feedTopics({ name: 'ipos', topic: 'ipos', transitions: [] }, '');
      const records = Array.from({ length: ${RECORDS} }, (_, i) => (
        { topic: 'ipos', key: String(i), value: Buffer.alloc(${BYTES}), headers: {}, timestamp: 1 }
      ));
      async function main() {
        const { commitLog } = openLocalLog({ dataDir: process.argv[1] });
        const session = await commitLog.acquire(topics, new AbortController().signal);
        const { ownerEpoch } = session;
        const position = { incarnation: 'i', ownerEpoch, commit: 1 };
        for (let i = 0; i < 3; i++) await session.commit({ feed: 'ipos', records, position });
        process.exit(7);
      }
      void main();`;
    const args = ['--require', 'tsx/cjs', '-e', program, folder()];
    const { status, signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });

    expect({ status, signal, stderr }).toEqual({ status: 7, signal: null, stderr: '' });
  });
});
