import { statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { committingProcess, localLogs } from '../../../support/local-logs';
import { batch, record } from '../../../support/log-records';
import { until } from '../../../support/until';

const { folder, topics, own } = localLogs();
const RECORDS = 6_000;
const BYTES = 500;
const page = Array.from({ length: RECORDS }, (_, i) =>
  record(topics.changes.name, `${i}`, Buffer.alloc(BYTES)),
);

describe('checkpoints of the embedded log', () => {
  const size = (name: string) => statSync(path.join(folder(), name)).size;

  it('the write-ahead log is copied into the file in another thread, and begins anew', async () => {
    const { session } = await own();
    const rounds = 8;
    for (let round = 1; round <= rounds; round++) {
      await session.commit(batch(session, topics, page, round));
      await until(() => size('highwater.db') >= round * RECORDS * BYTES);
      // The message of the thread, after which the committing connection finishes.
      await after(100);
    }

    expect(size('highwater.db-wal')).toBeLessThan((rounds / 2) * RECORDS * BYTES);
  });

  it('a process that ends in the middle of a checkpoint ends with its own exit code', () => {
    const ended = committingProcess(folder(), 'for (let i = 0; i < 3; i++) await commit(); process.exit(7);');
    expect(ended).toEqual({ status: 7, signal: null, stdout: '', stderr: '' });
  });
});
