import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { backUp } from '../../../../src/log/local/backup';
import { putBack } from '../../../../src/log/local/put-back';
import { localLogs } from '../../../support/local-logs';
import { batch, deadline, record } from '../../../support/log-records';

const { folder, topics, own } = localLogs();
const page = Array.from({ length: 1_000 }, (_, i) =>
  record(topics.changes.name, `${i}`, Buffer.alloc(1_000)),
);

/** Gives up at once, when the copying thread has not yet opened its file. */
async function interrupted(start: (signal: AbortSignal, times: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const over = new AbortController();
    const ended = expect(start(over.signal, i)).rejects.toThrow('ended by the test');
    over.abort(new Error('ended by the test'));
    await ended;
  }
  // The library does not say when a thread has ended. A whole copy takes longer than an abandoned one takes to begin.
  await backUp(folder(), path.join(folder(), 'whole.db'), true, deadline());
  await after(200);
}

it('a copy that is given up leaves no file behind, however early', async () => {
  const { session, log } = await own();
  await session.commit(batch(session, topics, page));
  await log.commitLog.close();
  const copies = path.join(folder(), 'copies');
  mkdirSync(copies);
  await interrupted((signal) => backUp(folder(), path.join(copies, 'copy.db'), false, signal));
  expect(readdirSync(copies)).toStrictEqual([]);

  const whole = path.join(folder(), 'whole.db');
  // One folder for each: a thread of this process that was given up could still write into the same folder made anew.
  const targets = path.join(folder(), 'targets');
  await interrupted((signal, times) =>
    putBack(path.join(targets, `${times}`), whole, async () => null, signal),
  );
  const left = readdirSync(targets, { recursive: true, encoding: 'utf8' });
  expect(left.filter((name) => name.includes('restor'))).toStrictEqual([]);
});
