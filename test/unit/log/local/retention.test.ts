import { statSync } from 'node:fs';
import path from 'node:path';
import type { FeedSession } from '../../../../src/log/commit-log';
import { backUp } from '../../../../src/log/local/backup';
import { openLocalConsumerLog } from '../../../../src/log/local/consumer/consumer-log';
import { prepare } from '../../../../src/log/local/file/sqlite';
import { logClock } from '../../../../src/log/local/log-clock';
import { putBack } from '../../../../src/log/local/put-back';
import { type RetentionLimits, retention } from '../../../../src/log/local/retention';
import { localLogs } from '../../../support/local-logs';
import { batch, collect, deadline, readAll, record } from '../../../support/log-records';
import { quietLogger } from '../../../support/source';
import { until } from '../../../support/until';

const { folder, file, topics, open, outside, own } = localLogs();
const keepsAll = { ageMs: null, bytes: null };
const [changes, transition, current] = [
  topics.changes.name,
  topics.transitions[0]!.name,
  topics.current.name,
];
const HOUR = 3_600_000;
const BYTES = 1_000;

describe('retention of the embedded log', () => {
  let commits = 0;

  const keeping = (retention: RetentionLimits, retentionEveryMs = 10) =>
    own(open({ retention, retentionEveryMs }));

  const page = (topic: string, size: number, timestamp = Date.now()) =>
    Array.from({ length: size }, (_, i) => record(topic, `${i}`, Buffer.alloc(BYTES), { timestamp }));

  const commit = (session: FeedSession, ...pages: ReturnType<typeof page>[]) =>
    session.commit(batch(session, topics, pages.flat(), ++commits));

  /** By SQL: a reader could be overtaken by what is removed. */
  function count(topic: string): number {
    const db = outside();
    const [[found]] = prepare(db, 'SELECT count(*) FROM records WHERE topic = ?').all(topic) as [[number]];
    db.close();
    return found;
  }

  /** A log of some records, with no event between the restores. */
  async function restoredTwice(size = 1_000): Promise<void> {
    const { log, session } = await keeping(keepsAll);
    await commit(session, page(changes, size));
    await log.commitLog.close();
    const copy = path.join(folder(), 'copy.db');
    await backUp(folder(), copy, false, deadline());
    await putBack(folder(), copy, async () => null, deadline());
    await backUp(folder(), copy, true, deadline());
    await putBack(folder(), copy, async () => null, deadline());
  }

  it('removes changes and transitions that are too old, and nothing else', async () => {
    const { session } = await keeping({ ageMs: HOUR, bytes: null });
    const old = Date.now() - 2 * HOUR;
    await commit(session, page(changes, 500, old), page(transition, 100, old), page(current, 50, old));
    await commit(session, page(changes, 30), page(transition, 30));

    await until(() => count(changes) === 30 && count(transition) === 30);
    expect(count(current)).toBe(50);
    expect(count(topics.sourceOffset.name)).toBe(1);
  });

  it('keeps the last record of each partition, whose offset the next one follows', async () => {
    const { log, session } = await keeping({ ageMs: HOUR, bytes: null });
    await commit(session, page(changes, 500, 1));
    await until(() => count(changes) === 3);
    const before = await readAll(log.commitLog, [changes]);
    await log.commitLog.close();

    const again = await keeping({ ageMs: HOUR, bytes: null });
    await commit(again.session, page(changes, 100));
    await until(() => count(changes) === 100);
    const first = await readAll(again.log.commitLog, [changes]);
    for (const { partition, logOffset } of before) {
      const next = first.find((one) => one.partition === partition)!;
      expect(next.logOffset).toBe(logOffset + 1);
    }
  });

  it('keeps a topic at its size while ten times as much is published, and uses the space again', async () => {
    const kept = 1_000_000;
    const { session } = await keeping({ ageMs: null, bytes: kept });
    const sizes: number[] = [];
    for (let published = 0; published < 10 * kept; published += 500 * BYTES) {
      await commit(session, page(changes, 500));
      await until(() => count(changes) <= (1.1 * kept) / BYTES);
      sizes.push(statSync(file()).size);
    }

    expect(count(changes)).toBeGreaterThan((0.9 * kept) / BYTES);
    expect(Math.max(...sizes)).toBeLessThan(4 * kept);
  });

  it.each([1, 30, 199, 1_500])('keeps up with commits of %i records that follow at once', async (size) => {
    const kept = 1_000_000;
    const { session } = await keeping({ ageMs: null, bytes: kept }, HOUR);
    await commit(session, page(changes, 990));
    for (let published = 0; published < 4 * size || published < 300; published += size) {
      await commit(session, page(changes, size));
      expect(count(changes) * BYTES).toBeLessThanOrEqual(kept + 2 * BYTES);
    }
    expect(count(changes) * BYTES).toBeGreaterThan(0.9 * kept);
  });

  it.each([
    ['size', { ageMs: null, bytes: 100_000 }],
    ['age', { ageMs: HOUR, bytes: null }],
  ])('removes more by %s than commits add, until nothing is beyond the limit', async (_rule, limits) => {
    const { session: earlier } = await keeping(keepsAll);
    await commit(earlier, page(changes, 3_000, Date.now() - 2 * HOUR));
    await earlier.release();
    const { session } = await keeping(limits, HOUR);
    for (let i = 0; i < 40; i++) await commit(session, page(changes, 100));
    expect(count(changes)).toBeLessThanOrEqual(limits.bytes === null ? 4_003 : 101);
  });

  it('keeps a topic at its size after two restores with no event between', async () => {
    await restoredTwice();
    const { session } = await keeping({ ageMs: null, bytes: 100_000 });
    await commit(session, page(changes, 500));
    await until(() => count(changes) <= 110);
  });

  it('begins the given number of records before the end, across two restores with no event between', async () => {
    await restoredTwice(2_000);
    const { log, session } = await keeping(keepsAll);
    const options = { fromBeginning: true, notBefore: { positionsToEnd: 400 }, follow: false };
    await commit(session, page(changes, 30));
    expect(await collect(log.commitLog.read([changes], { ...options, signal: deadline() }))).toHaveLength(
      1_200,
    );
  });

  it('removes something in each step, however late it is', async () => {
    const { session } = await keeping(keepsAll);
    await commit(session, page(changes, 500));
    const db = outside();
    const late = jest.spyOn(performance, 'now').mockImplementation(() => clock++ * 1_000);
    let clock = 0;
    const { step } = retention(db, logClock(db), { ageMs: null, bytes: 1 });
    const found = step([{ name: changes, partitions: 3 }]);
    late.mockRestore();
    db.close();

    expect(found).toEqual({ removed: 20, isMore: true });
  });

  describe('while the clock of the machine is wrong', () => {
    const DAY = 24 * HOUR;
    let wall: jest.SpyInstance<number>;
    let aheadMs = 0;
    const realNow = Date.now;

    beforeEach(() => {
      aheadMs = 0;
      wall = jest.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
    });
    afterEach(() => wall.mockRestore());

    /** As a publisher with such a retention would, so far. @returns how many records are kept */
    async function keptBy(ageMs: number): Promise<number> {
      const { log } = await own();
      await log.commitLog.close();
      const db = outside();
      const { step } = retention(db, logClock(db), { ageMs, bytes: null });
      while (step([{ name: changes, partitions: 3 }]).isMore);
      db.close();
      return count(changes);
    }

    async function publish(size: number): Promise<void> {
      const { log, session } = await own();
      await commit(session, page(changes, size));
      await log.commitLog.close();
    }

    it('a jump ahead removes nothing from a publisher that runs on', async () => {
      const { session } = await keeping({ ageMs: 30 * DAY, bytes: null });
      await commit(session, page(changes, 500));
      aheadMs = 40 * DAY;
      await commit(session, page(changes, 10));
      const steps = wall.mock.calls.length;
      await until(() => wall.mock.calls.length > steps + 5);
      expect(count(changes)).toBe(510);
      aheadMs = 0;
      await commit(session, page(changes, 10));
      expect(count(changes)).toBe(520);
    });

    it('a publisher that starts again and again within the jump removes nothing', async () => {
      await publish(500);
      for (let hours = 0; hours < 20; hours++) {
        aheadMs = 40 * DAY + hours * HOUR;
        await publish(1);
        expect(await keptBy(30 * DAY)).toBe(501 + hours);
      }
      aheadMs = 20 * HOUR;
      expect(await keptBy(30 * DAY)).toBe(520);
      aheadMs = 3 * DAY;
      expect(await keptBy(30 * DAY)).toBe(520);
    });

    it('a log of an earlier version, which has kept no clock, is measured by its newest record', async () => {
      await publish(500);
      const db = outside();
      db.exec('DROP TABLE clock');
      db.close();
      aheadMs = 40 * DAY;
      expect(await keptBy(30 * DAY)).toBe(500);
    });

    it.each([
      ['stopped for months', Array.from({ length: 60 }, (_, hour) => 90 * DAY + hour * HOUR)],
      ['started once a day', Array.from({ length: 34 }, (_, day) => day * DAY)],
      [
        'asleep every night',
        Array.from({ length: 33 }, (_, day) => [8, 12, 16, 20].map((hour) => day * DAY + hour * HOUR)).flat(),
      ],
    ])('old records of a machine that was %s are removed, two days late at most', async (_, moments) => {
      await publish(500);
      for (const moment of moments) {
        aheadMs = moment;
        await keptBy(30 * DAY);
      }
      expect(count(changes)).toBe(3);
    });

    it('a clock that was behind is believed after a day', async () => {
      aheadMs = -40 * DAY;
      await publish(500);
      for (const hours of [0, 1, 12, 20]) {
        aheadMs = hours * HOUR;
        expect(await keptBy(30 * DAY)).toBe(500);
      }
      for (const hours of [25, 30, 40, 49]) {
        aheadMs = hours * HOUR;
        await keptBy(30 * DAY);
      }
      expect(count(changes)).toBe(3);
    });
  });

  describe('a reader whose next record was removed', () => {
    const lost = { code: 'LOG_POSITION_LOST', message: expect.stringContaining(changes) };

    async function readerOfFirst() {
      const { log, session } = await keeping(keepsAll);
      await commit(session, page(changes, 3_000, 1));
      const records = open()
        .commitLog.read([changes], { fromBeginning: true, follow: true, signal: deadline() })
        [Symbol.asyncIterator]();
      await records.next();
      await log.commitLog.close();
      return records;
    }

    async function removeAllButLast(): Promise<void> {
      await keeping({ ageMs: HOUR, bytes: null });
      await until(() => count(changes) === 3);
    }

    it('is told so instead of skipping it', async () => {
      const records = await readerOfFirst();
      await removeAllButLast();
      const rest = async () => {
        for (let i = 0; i < 3_000; i++) await records.next();
      };

      await expect(rest()).rejects.toMatchObject(lost);
    });

    it('is told so when it is a group that begins where it stood', async () => {
      await readerOfFirst();
      await removeAllButLast();
      const { consumerLog } = openLocalConsumerLog({ dataDir: folder(), logger: quietLogger() });
      const errors: unknown[] = [];
      const member = consumerLog.joinGroup({
        groupId: 'desk',
        topics: [changes],
        sessionTimeoutMs: 10_000,
        async work({ records }) {
          try {
            for await (const found of records(1)) throw new Error(`was handed ${found.length} records`);
          } catch (error) {
            errors.push(error);
          }
        },
      });
      await until(() => errors.length === 3);
      expect(errors).toEqual([1, 2, 3].map(() => expect.objectContaining(lost)));
      await member.leave();
      await consumerLog.close();
    });

    it('begins with the first one that is kept, when it begins at the beginning', async () => {
      await readerOfFirst();
      await removeAllButLast();
      expect(await readAll(open().commitLog, [changes])).toHaveLength(3);
    });
  });
});
