import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, FeedSession, FeedTopics, ProducerRecord } from '../../src/log/commit-log';
import type { AssignedPartition, ConsumerLog, EndsAt, TopicEnds } from '../../src/log/consumer-log';
import { feedTopics } from '../../src/log/topics';
import { said, startMember, type TestMember, type TestMemberOptions } from '../support/group-members';
import { batch, byKey, collect, deadline, plain, record } from '../support/log-records';
import { until } from '../support/until';

/** One storage of its own for each test: a folder, or a topic prefix on a broker. */
export interface ConsumerLogHarness {
  /** Goes before every topic name, and every group's. */
  readonly prefix: string;
  /** Another instance over the same storage. The suite closes it. */
  open(): Promise<ConsumerLog>;
  /** The publisher that writes the records for consumers. The suite closes it. */
  publisher(): Promise<CommitLog>;
  /** Frees the storage. */
  close(): Promise<void>;
}

/** Everything that `src/log/consumer-log.ts` promises, for any adapter. */
export function consumerLogContract(name: string, makeHarness: () => Promise<ConsumerLogHarness>): void {
  describe(`${name} as a consumer log`, () => {
    let harness: ConsumerLogHarness;
    let log: ConsumerLog;
    let publisher: CommitLog;
    let session: FeedSession | null;
    let commits: number;
    let opened: ConsumerLog[];

    const topics = (): FeedTopics => feedTopics({ ...ipos, name: 'ipos', topic: 'ipos' }, harness.prefix);
    const changes = () => topics().changes.name;
    const current = () => topics().current.name;
    const group = () => `${harness.prefix}desk`;
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

    async function open(): Promise<ConsumerLog> {
      const another = await harness.open();
      opened.push(another);
      return another;
    }

    async function publish(records: readonly ProducerRecord[]): Promise<void> {
      session ??= await publisher.acquire(topics(), deadline());
      await session.commit(batch(session, topics(), records, ++commits));
    }

    /** One record of each key. */
    const publishAll = (value: string, topic = changes()) =>
      publish(keys.map((key) => record(topic, key, value)));
    const all = (...values: string[]) =>
      values.flatMap((value) => keys.map((key) => `${key} ${value}`)).sort();

    const start = (from = log, rest: Partial<TestMemberOptions> = {}): TestMember =>
      startMember(from, { groupId: group(), topics: [changes()], ...rest });

    beforeEach(async () => {
      harness = await makeHarness();
      opened = [];
      session = null;
      commits = 0;
      publisher = await harness.publisher();
      log = await open();
    });

    afterEach(async () => {
      for (const each of opened) await each.close();
      await publisher.close();
      await harness.close();
    });

    describe('ends, and all that a topic holds,', () => {
      it.each([
        ['while there is no such topic', 'ipos'],
        ['if Kafka takes no topic of that name', 'a b/ö'],
      ])('are nothing %s', async (_, name) => {
        const topic = `${harness.prefix}${name}`;
        for (const at of ['committed', 'written', 'reachable'] as const) {
          const { topicId, ends } = await log.ends(topic, at, deadline());
          expect([topicId, ends]).toEqual([null, new Map()]);
        }
        expect(await collect(log.load(topic, deadline()))).toStrictEqual([]);
      });

      it('are of every partition, behind the last record', async () => {
        await publishAll('1');
        // Waits until readers see the committed records.
        const found = await collect(log.load(changes(), deadline()));
        expect(found.map(({ key }) => key).sort()).toEqual(keys);
        const { ends } = await log.ends(changes(), 'committed', deadline());
        expect([...ends.keys()].sort()).toEqual([0, 1, 2]);
        for (const [partition, end] of ends) {
          const last = found.filter((one) => one.partition === partition).at(-1);
          expect(end).toBeGreaterThanOrEqual((last?.logOffset ?? -1) + 1);
        }
        expect((await log.ends(changes(), 'reachable', deadline())).ends).toEqual(ends);
        const written = (await log.ends(changes(), 'written', deadline())).ends;
        for (const [partition, end] of ends) expect(written.get(partition)).toBeGreaterThanOrEqual(end!);
      });

      it('are there in order, tombstones too, and no fences', async () => {
        await publishAll('1', current());
        await publish([record(current(), 'a', '2', { headers: { op: 'u' } }), record(current(), 'b', null)]);
        await session!.release();
        session = null;
        await publish([record(current(), 'a', '3')]);

        const found = await collect(log.load(current(), deadline()));

        expect([...new Set(found.map(({ key }) => key))].sort()).toEqual(keys);
        const latest = byKey(found.map(plain));
        expect(latest[`${current()} a`]!.at(-1)!.value?.toString()).toBe('3');
        expect(latest[`${current()} b`]!.at(-1)!.value).toBeNull();
      });

      it('are not taken for whole when the signal ends them', async () => {
        await publishAll('1', current());
        const reason = new Error('enough');
        const aborted = AbortSignal.abort(reason);
        await expect(collect(log.load(current(), aborted))).rejects.toBe(reason);
        await expect(log.ends(current(), 'committed', aborted)).rejects.toBe(reason);
      });
    });

    describe('following a topic', () => {
      async function followed(from: TopicEnds['ends'], wanted: number): Promise<string[]> {
        const found: string[] = [];
        const end = new AbortController();
        const stop = AbortSignal.any([end.signal, deadline()]);
        for await (const { key, value } of log.follow(changes(), from, stop)) {
          found.push(`${key} ${value}`);
          if (found.length === wanted) end.abort();
        }
        return found.sort();
      }

      it('begins where it is told, at the beginning where it is not, and ends at the signal', async () => {
        await publishAll('1');
        const { ends } = await log.ends(changes(), 'written', deadline());
        const following = followed(ends, keys.length);
        await publishAll('2');
        expect(await following).toEqual(all('2'));
        expect(await followed(new Map(), 2 * keys.length)).toEqual(all('1', '2'));
      });

      it('takes up a topic that appears later', async () => {
        const following = followed(new Map(), keys.length);
        await publishAll('1');
        expect(await following).toEqual(all('1'));
      });
    });

    describe('a member of a group', () => {
      it('is given every partition, and where it stands', async () => {
        await publishAll('1');
        await collect(log.load(changes(), deadline()));
        const given: AssignedPartition[] = [];
        const member = log.joinGroup({ ...joining(), work: async (one) => void given.push(one) });
        await until(() => given.length === 3);
        expect(given.map(({ topic, partition }) => [topic, partition]).sort()).toEqual(
          [0, 1, 2].map((partition) => [changes(), partition]),
        );
        const { ends } = await log.ends(changes(), 'committed', deadline());
        for (const { partition, committed, range } of given) {
          expect(committed).toBeNull();
          expect(range.first).toBe(0);
          expect(range.end).toBe(ends.get(partition));
          expect(range.sinceJoined).toBeLessThanOrEqual(range.end);
        }
        await member.leave();
      });

      const joining = () => ({ groupId: group(), topics: [changes()], sessionTimeoutMs: 6_000 });

      it('is given no more than some hundred records at a time, of however many', async () => {
        const many = Array.from({ length: 1_500 }, (_, i) => record(changes(), 'a', String(i)));
        await publish(many);
        const sizes: number[] = [];
        const one = start(log, { handle: async (records) => void sizes.push(records.length) });
        await until(() => one.handled.length === many.length);
        expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
        expect(one.handled.map(({ value }) => Number(value))).toEqual(many.map((_, i) => i));
      });

      it('goes on exactly where the one before it had committed, whatever that one had seen', async () => {
        await publishAll('1');
        const first = start();
        await until(() => first.handled.length === keys.length);
        await first.member.leave();
        await first.member.over;
        await publishAll('2');
        const half = start(log, {
          handle: async () => {
            throw new Error('not handled');
          },
        });
        await until(() => half.failures.length > 0);
        await half.member.leave();
        expect(half.handled).toStrictEqual([]);
        const second = start(await open());
        await until(() => second.handled.length === keys.length);
        expect(said(second)).toEqual(all('2'));
      });

      it('finishes and commits what it has in hand before it has left', async () => {
        await publishAll('1');
        const begun: string[] = [];
        let goOn = (): void => undefined;
        const inHand = new Promise<void>((resolve) => {
          goOn = resolve;
        });
        const one = start(log, {
          handle: async (_, { partition, revoked }) => {
            begun.push(`${partition}`);
            await inHand;
            expect(revoked.aborted).toBe(true);
          },
        });
        await until(() => begun.length > 1);
        let hasLeft = false;
        const left = one.member.leave().then(() => {
          hasLeft = true;
        });
        await until(() => [...one.held.values()].every(({ revoked }) => revoked.aborted));
        expect(hasLeft).toBe(false);
        goOn();
        await left;
        expect(one.failures).toStrictEqual([]);
        expect(one.held.size).toBe(0);
        const next = start(await open());
        await publishAll('2');
        await until(() => next.handled.length === keys.length);
        expect(said(one, next)).toEqual(all('1', '2'));
      });

      it('is over only when it has left', async () => {
        const { member } = start();
        let isOver = false;
        member.over.then(() => {
          isOver = true;
        });
        await publishAll('1');
        expect(isOver).toBe(false);
        await member.leave();
        await member.leave();
        await member.over;
      });

      it('shares with others so that each record is handled once', async () => {
        await publishAll('1');
        const one = start();
        await until(() => one.handled.length === keys.length);
        const two = start(await open());
        for (const value of ['2', '3', '4']) await publishAll(value);
        await until(() => one.handled.length + two.handled.length === 4 * keys.length);
        await one.member.leave();
        await publishAll('5');
        await until(() => one.handled.length + two.handled.length === 5 * keys.length);
        expect(said(one, two)).toEqual(all('1', '2', '3', '4', '5'));
        expect(two.has()).toEqual([0, 1, 2].map((partition) => `${changes()} ${partition}`));
      });

      it('takes up a topic that appears later', async () => {
        const one = start(log, { topics: [changes(), current()] });
        await publishAll('1');
        await publishAll('2', current());
        await until(() => one.handled.length === 2 * keys.length);
        expect(said(one)).toEqual(all('1', '2'));
      });

      it('is given the other topics if Kafka takes no topic of the name of one', async () => {
        await publishAll('1');
        const one = start(log, { topics: [`${harness.prefix}a b/ö`, changes()] });
        await until(() => one.handled.length === keys.length);
        expect(said(one)).toEqual(all('1'));
      });

      it('is told when its place is after the end, and the other partitions go on', async () => {
        await publishAll('1');
        const errors: unknown[] = [];
        const seen: string[] = [];
        const member = log.joinGroup({
          ...joining(),
          async work({ partition, range, records }) {
            const from = partition === 0 ? range.end + 10 : range.first;
            try {
              for await (const found of records(from)) seen.push(...found.map(({ key }) => key));
            } catch (error) {
              errors.push(error);
              throw error;
            }
          },
        });
        await until(() => errors.length === 1);
        expect(errors[0]).toMatchObject({
          code: 'LOG_POSITION_LOST',
          message: expect.stringContaining(changes()),
        });
        const before = seen.length;
        await publishAll('2');
        await until(() => seen.length > before);
        await member.leave();
      });
    });

    describe('a group', () => {
      const at = (timestamp: number, value: string) =>
        publish(keys.map((key) => record(changes(), key, value, { timestamp })));
      const report = async (groupId = group()) =>
        (await log.groups(harness.prefix, deadline())).find((one) => one.groupId === groupId);

      /** Moves all partitions of the topic. */
      async function move(to: EndsAt, groupId = group()): Promise<void> {
        const { topicId, ends } = await log.ends(changes(), to, deadline());
        const places = [...ends].map(([partition, next]) => {
          return { topic: changes(), topicId, partition, next: next! };
        });
        await log.moveGroup(groupId, places, deadline());
      }

      /** Records that a member reads before a last record, which is published now. */
      async function shown(wanted: number): Promise<string[]> {
        const one = start(await open());
        await until(() => one.held.size === 3);
        await publishAll('last');
        await until(() => one.handled.length === wanted + keys.length);
        await one.member.leave();
        expect(one.failures).toStrictEqual([]);
        return said(one).filter((text) => !text.endsWith(' last'));
      }

      async function readTo(count: number): Promise<void> {
        const one = start();
        await until(() => one.handled.length === count);
        await one.member.leave();
        await one.member.over;
      }

      it('is listed with its positions, and is none before it has any', async () => {
        await publishAll('1');
        expect(await report()).toBeUndefined();
        const one = start();
        await until(() => one.handled.length === keys.length);
        const { ends } = await log.ends(changes(), 'committed', deadline());
        const stands = async () =>
          new Map((await report())?.places.map(({ partition, next }) => [partition, next]));
        await until(async () => (await stands()).size === 3);
        // The record of a transaction is followed by its marker, which the position may have passed or not.
        for (const [partition, next] of await stands()) expect([0, 1]).toContain(ends.get(partition)! - next);
        expect([1, null]).toContain((await report())!.members);
        expect(await log.groups(`${harness.prefix}other`, deadline())).toStrictEqual([]);
        await one.member.leave();
        await one.member.over;
        expect([0, null]).toContain((await report())!.members);
      });

      it('is moved to the first record of each partition with a time or a later one, else to the end', async () => {
        await at(1_760_000_001_000, '1');
        await at(1_760_000_003_000, '2');
        await readTo(2 * keys.length);
        await move({ sinceMs: 1_760_000_001_001 });
        expect(await shown(keys.length)).toEqual(all('2'));
        await move({ sinceMs: 1_760_000_001_000 });
        expect((await shown(3 * keys.length)).sort()).toEqual(all('1', '2'));
        await move({ sinceMs: 4_000_000_000_000 });
        expect(await shown(0)).toEqual([]);
      });
    });

    it('a closed log has left its groups and refuses every call', async () => {
      await publishAll('1');
      const one = start();
      await until(() => one.handled.length === keys.length);
      await log.close();
      await one.member.over;
      for (const asking of [
        log.ends(changes(), 'committed', deadline()),
        log.groups(harness.prefix, deadline()),
        log.moveGroup(group(), [], deadline()),
      ])
        await expect(asking).rejects.toMatchObject({ code: 'LOG_CLOSED' });
    });
  });
}
