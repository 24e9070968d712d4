import '../support/runs';
import fc from 'fast-check';
import { HighwaterError } from '../../src/errors';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, FeedTopics, LogRecord, ReadStart, SharedTopicSpec } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import {
  anyOf,
  batch,
  byKey,
  collect,
  deadline,
  gathered,
  groupBy,
  inOneMemory,
  isAscending,
  plain,
  readAll,
  record,
  restored,
  turn,
} from '../support/log-records';
import { runAgainstModel, steps } from './commit-log-model';

/** One storage of its own for each test: a folder, or a topic prefix on a broker. */
export interface CommitLogHarness {
  /** Goes before every topic name. */
  readonly prefix: string;
  /** Another instance over the same storage. The suite closes it. */
  open(): Promise<CommitLog>;
  /** From now on every batch with a source offset fails when its other records have been taken. */
  breakCommits(): Promise<void>;
  mendCommits(): Promise<void>;
  /** How a second live instance fails to acquire an owned feed. */
  readonly secondInstance: 'is refused' | 'fences the first';
  /** Frees the storage. */
  close(): Promise<void>;
}

/** Everything that `src/log/commit-log.ts` promises, for any adapter. */
export function commitLogContract(
  name: string,
  makeHarness: () => Promise<CommitLogHarness>,
  { modelRuns = 25 }: { readonly modelRuns?: number } = {},
): void {
  describe(`${name} as a commit log`, () => {
    let harness: CommitLogHarness;
    let log: CommitLog;
    let opened: CommitLog[];

    async function open(): Promise<CommitLog> {
      const another = await harness.open();
      opened.push(another);
      return another;
    }

    function topicsOf(feed: string): FeedTopics {
      const transitions = ipos.transitions.map((t) => ({ ...t, topic: `${feed}.deal-status` }));
      return feedTopics({ ...ipos, name: feed, topic: feed, transitions }, harness.prefix);
    }

    const ipo = () => topicsOf('ipos');
    const acquire = (topics = ipo(), from = log) => from.acquire(topics, deadline());

    beforeEach(async () => {
      harness = await makeHarness();
      opened = [];
      log = await open();
    });

    afterEach(async () => {
      for (const each of opened) await each.close();
      await harness.close();
    });

    it('gives back what was committed, with headers, timestamp and bytes', async () => {
      const session = await acquire();
      const committed = [
        record(ipo().changes.name, 'a', Buffer.from([0, 255, 128]), { headers: { op: 'c', ce_id: 'ä:"1"' } }),
        record(ipo().current.name, 'a', Buffer.alloc(0)),
        record(ipo().current.name, 'b', null, { timestamp: 1_700_000_000_123 }),
      ];
      await session.commit(batch(session, ipo(), committed));

      const read = await readAll(log, [ipo().changes.name, ipo().current.name]);

      expect(byKey(read.map(plain))).toEqual(byKey(committed));
    });

    it('commits what was gathered as what was given at once', async () => {
      const session = await acquire();
      const pages = [1, 2].map((commit) =>
        batch(
          session,
          ipo(),
          ['a', 'b', 'a', 'c', 'd'].flatMap((key, i) => [
            record(ipo().changes.name, key, `${commit} ${i}`, { headers: { op: 'c' } }),
            record(ipo().current.name, key, `${commit} ${i}`),
          ]),
          commit,
        ),
      );
      // The next one gathers while this one is being committed.
      const [first, second] = pages.map((page) => gathered(session, page));
      await session.commit(first!);
      await session.commit(second!);

      const read = await readAll(log, [ipo().changes.name]);
      const given = pages.flatMap(({ records }) =>
        records.filter(({ topic }) => topic === ipo().changes.name),
      );
      expect(byKey(read.map(plain))).toEqual(byKey(given));
      expect(await restored(session, ipo().current.name)).toEqual({ a: '2 2', b: '2 1', c: '2 3', d: '2 4' });
    });

    it('takes nothing over of records of which it could not take a part', async () => {
      const session = await acquire();
      const { feed, position, records: end } = batch(session, ipo(), []);
      const records = session.gather();
      const before = ['a', 'b'].map((key) => record(ipo().changes.name, key, 'before'));
      records.add(inOneMemory(before));
      const { valueBytes } = records;
      function* breaking() {
        for (const key of ['a', 'b', 'c', 'd', 'e']) {
          yield record(ipo().changes.name, key, 'a part');
          yield record(ipo().current.name, key, 'a part');
        }
        throw new Error('not encoded');
      }
      expect(() => records.add(breaking())).toThrow('not encoded');
      expect(records.valueBytes).toBe(valueBytes);
      const behind = record(ipo().changes.name, 'b', 'behind');
      records.add(inOneMemory([behind]));
      records.add(end);
      await session.commit({ feed, position, records });
      const read = await readAll(log, [ipo().changes.name, ipo().current.name]);
      expect(byKey(read.map(plain))).toEqual(byKey([...before, behind]));
    });

    it('takes records that another log has gathered for nobody’s', async () => {
      const session = await acquire();
      const foreign = { ...batch(session, ipo(), []), records: { add() {}, valueBytes: 0 } };
      await expect(session.commit(foreign)).rejects.toThrow('gathered for another log');
    });

    it('takes any text for a key', async () => {
      const session = await acquire();
      const keys = ['', ' ', 'a|b', 'Ä', '\u{1F680}', 'a\0b', 'a\0c', "'; DROP TABLE records"];
      await session.commit(
        batch(
          session,
          ipo(),
          keys.map((key) => record(ipo().current.name, key, 'x')),
        ),
      );

      expect(Object.keys(await restored(session, ipo().current.name)).sort()).toEqual([...keys].sort());
    });

    it('keeps the records of one key in one partition, in the order of their commits', async () => {
      const session = await acquire();
      for (let i = 0; i < 4; i++) {
        const records = ['a', 'b', 'c', 'd', 'e', 'f'].map((key) =>
          record(ipo().changes.name, key, `${key}${i}`),
        );
        await session.commit(batch(session, ipo(), records, i));
      }

      const read = await readAll(log, [ipo().changes.name]);

      for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const own = read.filter((each) => each.key === key);
        expect(own.map(({ value }) => value!.toString())).toEqual([0, 1, 2, 3].map((i) => `${key}${i}`));
        expect(new Set(own.map(({ partition }) => partition)).size).toBe(1);
        expect(isAscending(own.map(({ logOffset }) => logOffset))).toBe(true);
      }
      expect(new Set(read.map(({ partition }) => partition)).size).toBeGreaterThan(1);
    });

    it('reads a topic that nobody has written as empty', async () => {
      expect(await readAll(log, ['never-heard-of'])).toStrictEqual([]);
    });

    it('shows a tombstone to readers', async () => {
      const session = await acquire();
      await session.commit(batch(session, ipo(), [record(ipo().current.name, 'a', '1')]));
      await session.commit(batch(session, ipo(), [record(ipo().current.name, 'a', null)], 2));

      expect((await readAll(log, [ipo().current.name])).at(-1)).toMatchObject({ key: 'a', value: null });
    });

    it('tells where a topic ends, and restores what came behind', async () => {
      const { name } = ipo().current;
      const first = await acquire();
      await first.commit(batch(first, ipo(), [record(name, 'a', '1'), record(name, 'b', '1')]));
      const end = first.endOf(name)!;
      expect(end.commit).toBe(1);
      const underWay = first.commit(batch(first, ipo(), [record(name, 'b', '2'), record(name, 'c', '1')], 2));
      expect(first.endOf(name)).toBeNull();
      await underWay;
      const last = JSON.parse(JSON.stringify(first.endOf(name)));
      expect(last.commit).toBe(2);
      await first.release();
      expect(first.endOf(name)).toBeNull();

      const second = await acquire(ipo(), log);
      expect(await restored(second, name, { end, images: {} })).toEqual({ b: '2', c: '1' });
      expect(await restored(second, name, { end: last, images: {} })).toEqual({});
      expect(second.endOf(name)!.commit).toBeNull();
    });

    it('names an end that the topic does not reach', async () => {
      const { name } = ipo().current;
      const session = await acquire();
      await session.commit(batch(session, ipo(), [record(name, 'a', '1')]));
      const end = session.endOf(name)!;
      await session.release();
      const next = await acquire();
      const wrong = [
        { ...end, offsets: end.offsets.map((offset) => offset + 100) },
        { ...end, offsets: end.offsets.slice(1) },
        { ...end, topicId: 'another' },
      ];
      for (const each of wrong) {
        const lost = async () => restored(next, name, { end: each, images: {} });
        await expect(lost()).rejects.toMatchObject({ code: 'LOG_TOPIC_LOST' });
      }
      await next.release();
    });

    it('writes nothing of a batch that fails half-way', async () => {
      const session = await acquire();
      await harness.breakCommits();

      const failing = session.commit(batch(session, ipo(), [record(ipo().changes.name, 'a', '1')]));

      await expect(failing).rejects.toBeInstanceOf(HighwaterError);
      expect(await readAll(log, [ipo().changes.name, ipo().sourceOffset.name])).toStrictEqual([]);
    });

    it.each(['given at once', 'gathered'])('takes a batch again that has failed, once: %s', async (how) => {
      const session = await acquire();
      const given = batch(session, ipo(), [
        record(ipo().changes.name, 'a', '1'),
        record(ipo().current.name, 'a', '1'),
      ]);
      const page = how === 'gathered' ? gathered(session, given) : given;
      await harness.breakCommits();
      await expect(session.commit(page)).rejects.toThrow();
      await harness.mendCommits();

      await session.commit(page);

      expect((await readAll(log, [ipo().changes.name])).map(plain)).toEqual([given.records[0]]);
      expect(await restored(session, ipo().current.name)).toEqual({ a: '1' });
    });

    it('refuses a session whose feed was acquired again', async () => {
      const first = await acquire();
      await first.commit(batch(first, ipo(), [record(ipo().changes.name, 'a', 'before')]));
      const second = await acquire();

      const late = first.commit(batch(first, ipo(), [record(ipo().changes.name, 'a', 'late')], 2));

      await expect(late).rejects.toMatchObject({ code: 'LOG_FENCED' });
      await second.commit(batch(second, ipo(), [record(ipo().changes.name, 'a', 'after')], 2));
      expect((await readAll(log, [ipo().changes.name])).map(({ value }) => value!.toString())).toEqual([
        'before',
        'after',
      ]);
    });

    it('refuses a batch that was made under an earlier ownership', async () => {
      const first = await acquire();
      const page = batch(first, ipo(), [record(ipo().changes.name, 'a', '1')]);
      const second = await acquire();

      await expect(second.commit(page)).rejects.toMatchObject({ code: 'LOG_FENCED' });
      expect(await readAll(log, [ipo().changes.name])).toStrictEqual([]);
    });

    it('refuses a session that was released', async () => {
      const session = await acquire();
      await session.release();
      await session.release();

      await expect(session.commit(batch(session, ipo(), []))).rejects.toMatchObject({ code: 'LOG_CLOSED' });
    });

    it('lets one live instance own a feed', async () => {
      const first = await acquire();
      const second = await open();

      if (harness.secondInstance === 'is refused') {
        await expect(acquire(ipo(), second)).rejects.toMatchObject({ code: 'LOG_OWNED' });
        await first.commit(batch(first, ipo(), []));
        await first.release();
      }
      const successor = await acquire(ipo(), second);

      await successor.commit(batch(successor, ipo(), [], 2));
      await expect(first.commit(batch(first, ipo(), [], 3))).rejects.toBeInstanceOf(HighwaterError);
    });

    it('keeps feeds apart', async () => {
      const roster = topicsOf('analysts');
      const [a, b] = [await acquire(), await acquire(roster)];
      await Promise.all([
        a.commit(batch(a, ipo(), [record(ipo().current.name, 'x', 'ipo')])),
        b.commit(batch(b, roster, [record(roster.current.name, 'x', 'analyst')])),
      ]);
      await acquire();

      await b.commit(batch(b, roster, [record(roster.current.name, 'y', 'analyst')], 2));
      await b.release();
      const again = await acquire(roster);

      expect(await restored(again, roster.current.name)).toEqual({ x: 'analyst', y: 'analyst' });
    });

    it('refuses records of topics that are not the feed’s', async () => {
      const session = await acquire();
      const foreign = batch(session, ipo(), [
        record(ipo().changes.name, 'a', '1'),
        record('elsewhere', 'a', '1'),
      ]);

      await expect(session.commit(foreign)).rejects.toThrow('elsewhere');
      expect(await readAll(log, [ipo().changes.name])).toStrictEqual([]);
    });

    it('follows what other instances commit later, from the end', async () => {
      const session = await acquire();
      await session.commit(batch(session, ipo(), [record(ipo().changes.name, 'a', 'old')]));
      expect(await readAll(log, [ipo().changes.name])).toHaveLength(1);
      const stop = new AbortController();
      const reader = await open();
      const seen: string[] = [];
      const reading = (async () => {
        const options = { fromBeginning: false, follow: true, signal: anyOf(stop.signal, deadline()) };
        for await (const { value } of reader.read([ipo().changes.name], options)) {
          seen.push(value!.toString());
          if (seen.length === 3) stop.abort();
        }
      })();
      // Once it has seen a first record, it is known to wait at the end.
      for (let i = 0; seen.length === 0; i++) {
        await session.commit(batch(session, ipo(), [record(ipo().changes.name, 'a', `new ${i}`)], i + 2));
        await turn();
      }
      await session.commit(batch(session, ipo(), [record(ipo().changes.name, 'b', 'x')], 1000));
      await session.commit(batch(session, ipo(), [record(ipo().changes.name, 'b', 'y')], 1001));
      await reading;

      expect(seen).not.toContain('old');
      expect(seen).toHaveLength(3);
    });

    it('begins near the end, or at a time, for who asks for that, and follows from there', async () => {
      const session = await acquire();
      const { name } = ipo().changes;
      // Later than the marks of transactions, which have the time of the broker.
      const now = Date.now();
      const at = (i: number) => now + (i + 1) * 60_000;
      const written = Array.from({ length: 6 }, (_, i) => record(name, 'a', `v${i}`, { timestamp: at(i) }));
      for (const i of [0, 2, 4]) await session.commit(batch(session, ipo(), written.slice(i, i + 2)));
      const read = async (notBefore: ReadStart) =>
        (
          await collect(
            log.read([name], { fromBeginning: true, follow: false, notBefore, signal: deadline() }),
          )
        ).map(({ value }) => String(value));
      const all = written.map(({ value }) => String(value));

      expect(await read({ sinceMs: at(2) })).toEqual(all.slice(2));
      // Records of the same commit as the first one may come too.
      const since = await read({ sinceMs: at(3) });
      expect([3, 4]).toContain(since.length);
      expect(since).toEqual(all.slice(-since.length));
      expect(await read({ sinceMs: at(0) - 1 })).toEqual(all);
      expect(await read({ sinceMs: at(6) })).toStrictEqual([]);
      expect(await read({ positionsToEnd: 1_000 })).toEqual(all);
      // Marks of transactions take positions too.
      const last = await read({ positionsToEnd: 4 });
      expect([2, 3, 4]).toContain(last.length);
      expect(last).toEqual(all.slice(-last.length));

      const options = {
        fromBeginning: true,
        follow: true,
        notBefore: { sinceMs: at(4) },
        signal: deadline(),
      };
      const seen: string[] = [];
      const following = (async () => {
        for await (const { value } of log.read([name], options)) if (seen.push(String(value)) === 3) return;
      })();
      await turn();
      await session.commit(batch(session, ipo(), [record(name, 'a', 'late', { timestamp: at(1) })]));
      await following;
      expect(seen).toEqual(['v4', 'v5', 'late']);
    });

    it('follows a topic that does not exist yet', async () => {
      const stop = new AbortController();
      const options = { fromBeginning: false, follow: true, signal: anyOf(stop.signal, deadline()) };
      const first = (async () => {
        for await (const each of log.read([ipo().changes.name], options)) return each;
        return null;
      })();
      await turn();
      const publisher = await open();
      const session = await acquire(ipo(), publisher);
      await session.commit(batch(session, ipo(), [record(ipo().changes.name, 'a', 'first')]));

      expect(await first).toMatchObject({ key: 'a' });
    });

    it('ends a read that follows, without an error, when its signal says so', async () => {
      const stop = new AbortController();
      const reading = collect(
        log.read([ipo().changes.name], { fromBeginning: true, follow: true, signal: stop.signal }),
      );
      await turn();
      stop.abort();

      expect(await reading).toStrictEqual([]);
    });

    it('does not pass half a state for the whole when a restore is stopped', async () => {
      const session = await acquire();
      const images = Array.from({ length: 50 }, (_, i) => record(ipo().current.name, `${i}`, 'x'));
      await session.commit(batch(session, ipo(), images));
      const stop = new AbortController();

      const stopped = (async () => {
        for await (const _ of session.restore(ipo().current.name, stop.signal))
          stop.abort(new Error('stopped'));
      })();

      await expect(stopped).rejects.toThrow('stopped');
    });

    it('gives a reader that follows every record once', async () => {
      const session = await acquire();
      const reader = await open();
      const stop = new AbortController();
      const seen: LogRecord[] = [];
      const topics = [ipo().changes.name, ipo().current.name];
      const reading = (async () => {
        const options = { fromBeginning: true, follow: true, signal: anyOf(stop.signal, deadline()) };
        for await (const each of reader.read(topics, options)) {
          seen.push(each);
          if (each.value?.toString() === 'last') stop.abort();
        }
      })();
      for (let i = 0; i < 20; i++) {
        const records = ['a', 'b', 'c', 'd'].map((key) => record(ipo().changes.name, `${key}${i}`, `${i}`));
        await session.commit(batch(session, ipo(), records, i));
        await turn();
      }
      await session.commit(batch(session, ipo(), [record(ipo().changes.name, 'z', 'last')], 20));
      await reading;

      const counts = groupBy(seen, ({ value }) => value!.toString());
      expect([...counts.values()].map((group) => group.length)).toEqual([...Array(20).fill(4), 1]);
    });

    describe('records of a topic that belongs to no feed', () => {
      const spec = (partitions = 1): SharedTopicSpec => ({
        name: `${harness.prefix}shared`,
        partitions,
        cleanup: 'delete',
        retentionMs: 3_600_000,
      });
      const said = (key: string, value: string) => record(spec().name, key, value, { timestamp: Date.now() });
      const values = async () => (await readAll(log, [spec().name])).map(({ value }) => String(value));

      it('are given back as they were written, by whoever reads', async () => {
        const written = [
          record(spec().name, 'ipos', Buffer.from([0, 255]), { headers: { a: 'ä' }, timestamp: Date.now() }),
          record(spec().name, 'ipos', null, { timestamp: Date.now() }),
        ];
        await log.append(spec(), written, deadline());
        const another = await open();

        expect((await readAll(another, [spec().name])).map(plain)).toEqual(written);
        expect(await another.topicNames()).toContain(spec().name);
      });

      it('are none in a topic that is only made', async () => {
        await log.append(spec(), [], deadline());
        expect(await (await open()).topicNames()).toContain(spec().name);
        expect(await values()).toEqual([]);
      });

      it('keep their order per key over calls that do not wait for each other', async () => {
        const texts = Array.from({ length: 30 }, (_, i) => `${i}`);
        await Promise.all(
          texts.map((text) => log.append(spec(3), [said(`key ${+text % 4}`, text)], deadline())),
        );

        const read = await readAll(log, [spec().name]);
        expect(read.map(({ value }) => String(value)).sort()).toEqual([...texts].sort());
        for (const own of groupBy(read, ({ key }) => key).values())
          expect(isAscending(own.map(({ value }) => Number(value)))).toBe(true);
      });

      it('are written by several instances at once, while one of them publishes', async () => {
        const session = await acquire();
        const others = [log, await open(), await open()];
        const writing = others.map(async (other, o) => {
          for (let i = 0; i < 10; i++) await other.append(spec(), [said('ipos', `${o}:${i}`)], deadline());
        });
        for (let i = 1; i <= 10; i++)
          await session.commit(batch(session, ipo(), [record(ipo().changes.name, 'a', `${i}`)], i));
        await Promise.all(writing);

        expect((await values()).sort()).toEqual(
          others.flatMap((_, o) => Array.from({ length: 10 }, (_, i) => `${o}:${i}`)),
        );
        const offsets = (await readAll(log, [spec().name])).map(({ logOffset }) => logOffset);
        expect(new Set(offsets).size).toBe(30);
        expect(isAscending(offsets)).toBe(true);
        expect(await readAll(log, [ipo().changes.name])).toHaveLength(10);
      });

      it('reach a reader that follows, from before the topic exists, each once', async () => {
        const stop = new AbortController();
        const options = { fromBeginning: true, follow: true, signal: anyOf(stop.signal, deadline()) };
        const seen: string[] = [];
        const reading = (async () => {
          for await (const { value } of log.read([spec().name], options)) {
            seen.push(String(value));
            if (seen.at(-1) === 'last') stop.abort();
          }
        })();
        await turn();
        const another = await open();
        for (const text of ['a', 'b', 'c']) await another.append(spec(), [said('ipos', text)], deadline());
        await log.append(spec(), [said('ipos', 'last')], deadline());
        await reading;

        expect(seen).toEqual(['a', 'b', 'c', 'last']);
      });

      it('need no owner, and survive that there is one later', async () => {
        await log.append(spec(), [said('ipos', 'before')], deadline());
        const session = await acquire();
        await session.release();
        await log.append(spec(), [said('ipos', 'after')], deadline());

        expect(await values()).toEqual(['before', 'after']);
      });

      it('are refused where the topic is compacted, and once the log is closed', async () => {
        const session = await acquire();
        const compacted = { ...spec(), name: ipo().sourceOffset.name };
        const wrong = record(compacted.name, 'x', 'y');
        await expect(log.append(compacted, [wrong], deadline())).rejects.toMatchObject({
          code: 'LOG_TOPIC_MISMATCH',
        });
        await session.commit(batch(session, ipo(), []));
        const closed = await open();
        await closed.close();
        await expect(closed.append(spec(), [said('a', 'b')], deadline())).rejects.toMatchObject({
          code: 'LOG_CLOSED',
        });
      });
    });

    it('agrees with a model over random batches, failures and restarts', async () => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          await log.close();
          log = await runAgainstModel(sequence, topicsOf(`model-${++run}`), { harness, open });
        }),
        { numRuns: modelRuns },
      );
    });
  });
}
