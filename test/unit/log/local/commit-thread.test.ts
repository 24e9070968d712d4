import { renameSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { analysts } from '../../../../src/feeds/analysts';
import type { LocalLog } from '../../../../src/log/local/local-log';
import { feedTopics } from '../../../../src/log/topics';
import { committingProcess, localLogs } from '../../../support/local-logs';
import { batch, deadline, readAll, record } from '../../../support/log-records';

const { folder, topics, open, own } = localLogs();
const page = (size: number, name = topics.changes.name) =>
  Array.from({ length: size }, (_, i) => record(name, `${i}`, Buffer.alloc(500, i)));
const large = page(2_000);

/** There are so many changes, each in a place of its own. */
async function expectRecords({ commitLog }: LocalLog, count: number): Promise<void> {
  const read = await readAll(commitLog, ['ipos']);
  expect(read).toHaveLength(count);
  expect(new Set(read.map(({ partition, logOffset }) => `${partition} ${logOffset}`)).size).toBe(count);
}

describe('large commits of the embedded log', () => {
  it('the event loop goes on while a large batch is committed', async () => {
    const { log, session } = await own();
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 0);

    await session.commit(batch(session, topics, large));
    clearInterval(ticking);

    expect(ticks).toBeGreaterThan(0);
    await expectRecords(log, large.length);
  });

  it('large and small batches of two feeds are committed in the order of the calls', async () => {
    const { log, session } = await own();
    const others = feedTopics(analysts, '');
    const { session: other } = await own(log, others);
    const order: string[] = [];
    const commit = async (name: string, size: number, commit: number) => {
      await session.commit(batch(session, topics, page(size), commit));
      order.push(name);
    };

    await Promise.all([
      commit('large', 2_000, 1),
      commit('small', 3, 2),
      other.commit(batch(other, others, page(300, others.changes.name))).then(() => order.push('other')),
      commit('large again', 400, 3),
    ]);

    expect(order).toEqual(['large', 'small', 'other', 'large again']);
    await expectRecords(log, 2_403);
  });

  it('a large batch of an owner that lost the feed is refused, and leaves nothing', async () => {
    const { log, session: fenced } = await own();
    const { session: owner } = await own(log);

    await expect(fenced.commit(batch(fenced, topics, large))).rejects.toMatchObject({ code: 'LOG_FENCED' });

    await expectRecords(log, 0);
    await owner.commit(batch(owner, topics, large));
    await expectRecords(log, large.length);
  });

  it.each([
    ['before the thread has opened it', 0],
    ['after a large commit', 1],
  ])('a large batch is refused when the file was moved away %s', async (_when, commits) => {
    const { log, session } = await own();
    for (let n = 1; n <= commits; n++) await session.commit(batch(session, topics, large, n));
    const moved = path.join(folder(), 'moved.db');
    for (const part of ['', '-wal', '-shm'])
      renameSync(path.join(folder(), `highwater.db${part}`), moved + part);

    await expect(session.commit(batch(session, topics, large, commits + 1))).rejects.toMatchObject({
      code: 'LOG_GONE',
    });

    await log.commitLog.close();
    for (const part of ['', '-wal', '-shm'])
      renameSync(moved + part, path.join(folder(), `highwater.db${part}`));
    await expectRecords(open(), commits * large.length);
  });

  it('a feed is released, and the log closed, after the commit that is under way', async () => {
    const { log, session } = await own();
    const committed = session.commit(batch(session, topics, large));
    await log.commitLog.close();
    await committed;

    await expectRecords(open(), large.length);
  });

  /** The n-th message from now on is not sent; this happens instead. */
  function insteadOfMessage(nth: number, happens: (worker: Worker) => void) {
    const { postMessage } = Worker.prototype;
    let sent = 0;
    return jest.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, task) {
      if (++sent === nth) happens(this);
      else postMessage.call(this, task);
    });
  }

  /** Messages of a large batch: begin, three slices, commit. */
  const messages = [1, 2, 3, 4, 5];

  it.each(messages)(
    'the outcome is unknown if the thread ends at message %i, and the next owner commits without it',
    async (nth) => {
      const { log, session } = await own();
      await session.commit(batch(session, topics, large));
      // A task that cannot be read ends the thread. Ended in the middle of a call to the library, it would take the process down.
      const post = insteadOfMessage(nth, (worker) => worker.postMessage(null));

      await expect(session.commit(batch(session, topics, large, 2))).rejects.toMatchObject({
        code: 'LOG_OUTCOME_UNKNOWN',
      });
      post.mockRestore();
      const { session: next } = await own(log);
      await next.commit(batch(next, topics, large, 2));

      await expectRecords(log, 4_000);
    },
  );

  it.each(messages)('the same, if this process is busy when the thread ends at message %i', async (nth) => {
    const { log, session } = await own();
    const isBusy = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    const post = insteadOfMessage(nth, (worker) => {
      worker.postMessage(null);
      isBusy();
    });

    await expect(session.commit(batch(session, topics, large))).rejects.toMatchObject({
      code: 'LOG_OUTCOME_UNKNOWN',
    });
    post.mockRestore();
    const { session: next } = await own(log);
    await next.commit(batch(next, topics, large));

    await expectRecords(log, large.length);
  });

  it('a batch of which slices are missing at the thread is not committed', async () => {
    const { log, session } = await own();
    const post = insteadOfMessage(5, (worker) => worker.postMessage(['commit', { places: [], slices: 4 }]));

    await expect(session.commit(batch(session, topics, large))).rejects.toThrow('3 of 4 slices have arrived');
    post.mockRestore();

    await expectRecords(log, 0);
  });

  it('another log of this process on the same folder waits for its turn, not for the file', async () => {
    const { log, session } = await own();
    const other = open();
    const shared = { name: 'letters', partitions: 1, cleanup: 'delete', retentionMs: 60_000 } as const;
    let isCommitted = false;

    const committed = session.commit(batch(session, topics, large)).then(() => {
      isCommitted = true;
    });
    await new Promise(setImmediate);
    for (let n = 1; !isCommitted; n++)
      await other.commitLog.append(shared, [record('letters', `${n}`, null)], deadline());
    await committed;

    await expectRecords(log, large.length);
  });

  it.each(messages)('a batch whose message %i cannot be copied to the thread is taken again', async (nth) => {
    const { log, session } = await own();
    const post = insteadOfMessage(nth, () => {
      throw new Error('no memory');
    });

    await expect(session.commit(batch(session, topics, large))).rejects.toThrow('no memory');
    post.mockRestore();
    // Neither a small batch, by the main connection, nor a large one finds the earlier transaction open.
    await session.commit(batch(session, topics, page(3)));
    await session.commit(batch(session, topics, large, 2));
    await log.commitLog.close();

    await expectRecords(open(), large.length + 3);
  });

  it.each([2, 3, 4])(
    'if a slice fails at the thread (message %i), nothing of the batch is written',
    async (nth) => {
      const { log, session } = await own();
      const post = insteadOfMessage(nth, (worker) => {
        const noStatement = [99, []];
        worker.postMessage(['write', [noStatement]]);
      });

      await expect(session.commit(batch(session, topics, large))).rejects.toThrow('undefined');
      post.mockRestore();

      await expectRecords(log, 0);
      await session.commit(batch(session, topics, large));
      await expectRecords(log, large.length);
    },
  );

  it('a record that cannot be written leaves nothing of its batch, also of the slices before it', async () => {
    const { log, session } = await own();
    const bad = { ...record(topics.changes.name, 'bad', null), timestamp: Number.NaN };

    await expect(session.commit(batch(session, topics, [...large, bad]))).rejects.toThrow(
      'the timestamp NaN',
    );
    await session.commit(batch(session, topics, page(3)));

    await expectRecords(log, 3);
  });

  it('of a key that has images in several slices the last one stays', async () => {
    const { log, session } = await own();
    const images = Array.from({ length: 2_500 }, (_, i) =>
      record(topics.current.name, `${i % 700}`, Buffer.from(`image ${i}`)),
    );
    await session.commit(batch(session, topics, images));

    const kept = await readAll(log.commitLog, [topics.current.name]);
    expect(kept.map(({ value }) => String(value)).sort()).toEqual(
      Array.from({ length: 700 }, (_, i) => `image ${1_800 + i}`).sort(),
    );
  });

  it('a process lives on until it is told that its batch is committed', () => {
    expect(committingProcess(folder(), "await commit(); process.stdout.write('committed');")).toEqual({
      status: 0,
      signal: null,
      stdout: 'committed',
      stderr: '',
    });
  });
});
