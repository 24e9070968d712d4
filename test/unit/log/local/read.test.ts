import type { FeedSession } from '../../../../src/log/commit-log';
import { prepare } from '../../../../src/log/local/file/sqlite';
import type { LocalLog } from '../../../../src/log/local/local-log';
import { localLogs } from '../../../support/local-logs';
import { batch, deadline, readAll, record } from '../../../support/log-records';

const { topics, own, outside } = localLogs();
const options = { fromBeginning: true, follow: false };

describe('reading the embedded log', () => {
  let log: LocalLog;
  let session: FeedSession;
  let commits: number;

  async function commit(records: Parameters<typeof batch>[2]): Promise<void> {
    await session.commit(batch(session, topics, records, ++commits));
  }

  function numbered(topic: string, from: number, count: number, keyOf = (i: number) => `${i}`) {
    return Array.from({ length: count }, (_, i) => record(topic, keyOf(from + i), `${from + i}`));
  }

  beforeEach(async () => {
    ({ log, session } = await own());
    commits = 0;
  });

  it('merges partitions and topics as they were committed, over many batches of a reader', async () => {
    // Long runs in one partition make the reader run out of one before the others.
    const keyOf = (i: number) => (i % 1000 < 700 ? 'same' : `${i}`);
    for (let from = 0; from < 3000; from += 500) {
      await commit(numbered('ipos', from, 500, keyOf));
      await commit(numbered('ipos.deal-status', from, 1));
    }

    const read = await readAll(log.commitLog, ['ipos', 'ipos.deal-status', 'ipos']);

    const expected = Array.from({ length: 6 }, (_, i) => [
      ...numbered('ipos', i * 500, 500, keyOf),
      ...numbered('ipos.deal-status', i * 500, 1),
    ]).flat();
    expect(read.map(({ topic, key, value }) => [topic, key, String(value)])).toEqual(
      expected.map(({ topic, key, value }) => [topic, key, String(value)]),
    );
  });

  it('ends where a plain topic ended at the call, however much is committed meanwhile', async () => {
    await commit(numbered('ipos', 0, 600));
    let read = 0;

    for await (const _ of log.commitLog.read(['ipos'], { ...options, signal: deadline() })) {
      if (read++ % 100 === 0) await commit(numbered('ipos', 10_000 + read, 200));
    }

    expect(read).toBe(600);
  });

  it('brings the newest record of every key, though compaction moves records while it reads', async () => {
    await commit(numbered('ipos.current', 0, 2000));
    const newest = new Map<string, string>();
    let read = 0;

    const reading = log.commitLog.read(['ipos.current'], { ...options, signal: deadline() });
    for await (const { key, value } of reading) {
      newest.set(key, String(value));
      // Keys that were read and keys that were not.
      if (read++ === 300)
        await commit([0, 1, 1500, 1998, 1999].map((i) => record('ipos.current', `${i}`, `new ${i}`)));
    }

    const expected = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`${i}`, `${i}`]));
    for (const i of [0, 1, 1500, 1998, 1999]) expected[`${i}`] = `new ${i}`;
    expect(Object.fromEntries(newest)).toEqual(expected);
  });

  it('holds up neither the publisher nor the emptying of the WAL while it pauses', async () => {
    await commit(numbered('ipos', 0, 2000));
    const reading = log.commitLog.read(['ipos'], { ...options, signal: deadline() })[Symbol.asyncIterator]();
    await reading.next();

    await commit(numbered('ipos', 2000, 10));
    const db = outside(0);

    expect(prepare(db, 'PRAGMA wal_checkpoint(TRUNCATE)').all()).toEqual([[0, 0, 0]]);
    await commit(numbered('ipos', 2010, 10));
    db.close();
    await reading.return?.();
  });

  it('begins at the end that there was at the call, not at the first record asked for', async () => {
    await commit(numbered('ipos', 0, 3));
    const reading = log.commitLog.read(['ipos'], { fromBeginning: false, follow: true, signal: deadline() });
    await commit(numbered('ipos', 3, 1));

    for await (const { value } of reading) {
      expect(String(value)).toBe('3');
      break;
    }
  });

  it('is not led astray by a VACUUM of the file', async () => {
    for (let i = 0; i < 20; i++) await commit(numbered('ipos.current', 0, 50));
    await commit(numbered('ipos', 0, 1000));
    const seen: string[] = [];

    for await (const { value } of log.commitLog.read(['ipos'], { ...options, signal: deadline() })) {
      seen.push(String(value));
      if (seen.length !== 400) continue;
      const db = outside();
      db.exec('VACUUM');
      db.close();
    }

    expect(new Set(seen).size).toBe(1000);
    expect(seen).toHaveLength(1000);
  });

  it('ends with the log that it reads from', async () => {
    const stop = deadline();
    const reading = (async () => {
      const forever = { fromBeginning: true, follow: true, signal: stop };
      // Nothing is ever written.
      for await (const _ of log.commitLog.read(['ipos'], forever));
    })();
    await log.commitLog.close();
    await reading;

    expect(stop.aborted).toBe(false);
  });

  it('does not pass half a state for the whole when the log is closed under a restore', async () => {
    await commit(numbered('ipos.current', 0, 10));
    const restoring = (async () => {
      for await (const _ of session.restore('ipos.current', deadline())) await log.commitLog.close();
    })();

    await expect(restoring).rejects.toMatchObject({ code: 'LOG_CLOSED' });
  });

  it('restores compacted topics of its feed only', () => {
    expect(() => session.restore('ipos', deadline())).toThrow(
      'ipos is not a compacted topic of the feed ipos',
    );
  });
});
