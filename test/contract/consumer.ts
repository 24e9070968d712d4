import type { SchemaRegistry } from '../../src/avro/registry/registry';
import {
  type ConnectOptions,
  connect,
  type HighwaterLog,
  type Ipo,
  type TableChange,
} from '../../src/consumer';
import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import { varint } from '../support/avro-bytes';
import { type ChangeWriter, changeWriter } from '../support/change-writer';
import { collect, turn } from '../support/log-records';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

/** A log that is empty at the begin of each test. */
export interface ConsumedLog {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
  /** By which consumers find it. */
  readonly connect: ConnectOptions;
  close(): Promise<void>;
}

/** `highwater/consumer` over either log. */
export function consumerContract(name: string, open: () => Promise<ConsumedLog>): void {
  describe(`consumers of ${name}`, () => {
    let consumed: ConsumedLog;
    let writer: ChangeWriter;
    const logs: HighwaterLog[] = [];

    beforeEach(async () => {
      consumed = await open();
      writer = await changeWriter(consumed, consumed.topicPrefix);
    });
    afterEach(async () => {
      for (const log of logs.splice(0)) await log.close();
      await writer.close();
      await consumed.close();
    });

    /** As a program of its own would have it. */
    function connected(): HighwaterLog {
      const log = connect({ ...consumed.connect, logger: quietLogger() });
      logs.push(log);
      return log;
    }

    /** Options of a group that reads the statuses of IPOs from the beginning. */
    const ofGroup = <More extends object>(stop: AbortController, more: More) => ({
      group: 'g',
      topics: ['ipos.deal-status'] as const,
      from: 'beginning' as const,
      signal: stop.signal,
      ...more,
    });

    /** Statuses of IPOs as they come: `a Priced`. */
    function listening(log: HighwaterLog, group = 'desk', from: 'beginning' | 'end' = 'beginning') {
      const seen: string[] = [];
      const stop = new AbortController();
      const ended = log.consume(
        { group, topics: ['ipos.deal-status'], from, signal: stop.signal },
        (event) => {
          seen.push(`${event.value.id} ${event.value.status}`);
        },
      );
      ended.catch(() => undefined);
      return {
        seen,
        async stop() {
          stop.abort();
          await ended;
        },
      };
    }

    it('hands over each event decoded, by the type of its topic, in the order of its record', async () => {
      const log = connected();
      const events: string[] = [];
      const stop = new AbortController();
      await writer.write({ id: 'a', status: 'Filed' }, { id: 'b', status: 'Filed' });
      const consuming = log.consume(
        { group: 'desk', topics: ['ipos', 'ipos.deal-status'], from: 'beginning', signal: stop.signal },
        (event) => {
          // The promise of the types: a union, told apart by `type` and then by `op`.
          if (event.type === 'marketdata.ipos.DealStatusChanged') {
            events.push(`${event.value.id} status ${event.value.previous_status} → ${event.value.status}`);
          } else if (event.value.op === 'u') {
            events.push(
              `${event.key} u ${event.value.before.deal_status} → ${event.value.after.deal_status}`,
            );
          } else if (event.value.op === 'd') {
            events.push(`${event.key} d ${event.value.before.deal_status} ${event.value.after}`);
          } else events.push(`${event.key} ${event.value.op} ${event.value.after.deal_status}`);
        },
      );
      await writer.write({ id: 'a', status: 'Priced' });
      await writer.write({ id: 'a', status: null });
      await until(() => events.length === 7);
      stop.abort();
      await consuming;
      const of = (text: string) => events.filter((event) => event.startsWith(text));
      expect(of('a c').concat(of('a u'), of('a d'))).toEqual([
        'a c Filed',
        'a u Filed → Priced',
        'a d Priced null',
      ]);
      expect(of('a status')).toEqual(['a status null → Filed', 'a status Filed → Priced']);
      expect(of('b')).toHaveLength(2);
    });

    it('goes on where the group stopped, and each group gets everything', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      const first = listening(connected());
      await until(() => first.seen.length === 1);
      await first.stop();
      await writer.write({ id: 'a', status: 'Priced' });
      const [second, other] = [listening(connected()), listening(connected(), 'others')];
      await until(() => second.seen.length === 1 && other.seen.length === 2);
      await second.stop();
      await other.stop();
      expect([first.seen, second.seen, other.seen]).toEqual([
        ['a Filed'],
        ['a Priced'],
        ['a Filed', 'a Priced'],
      ]);
    });

    it('begins with what comes after the call, and remembers that, though nothing came', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      const log = connected();
      const place = { group: 'late', topics: ['ipos.deal-status'] as const, from: 'end' as const };
      const stop = new AbortController();
      let beginnings = 0;
      // Asked for each partition before its work begins.
      const positions = { load: () => void beginnings++ as unknown as null };
      const first = log.consume({ ...place, positions, signal: stop.signal }, () => undefined);
      await until(() => beginnings === 3);
      stop.abort();
      await first;
      await writer.write({ id: 'a', status: 'Priced' });
      const second = listening(log, 'late', 'end');
      await until(() => second.seen.length > 0);
      expect(second.seen).toEqual(['a Priced']);
      await second.stop();
    });

    it('is told of a topic that is not there, however it reads it, and of no other', async () => {
      const logger = quietLogger();
      const log = connect({ ...consumed.connect, logger });
      logs.push(log);
      const told = (topic: string, rest = '; it is read once it exists') =>
        `The topic ${consumed.topicPrefix}${topic} does not exist yet${rest}.`;
      await writer.write({ id: 'a', status: 'Filed' });
      await log.table('ipos');
      expect(await collect(log.read('ipos'))).toHaveLength(1);
      expect(logger.warnings.splice(0)).toStrictEqual([]);

      const table = await log.table('analysts');
      expect([table.size, logger.warnings.splice(0)]).toEqual([0, [told('analysts')]]);
      expect(await collect(log.read('offerings'))).toStrictEqual([]);
      expect(logger.warnings.splice(0)).toEqual([told('offerings', '')]);
      for (const from of ['beginning', 'end'] as const) {
        const stop = new AbortController();
        const reading = collect(log.read('offerings', { follow: true, from, signal: stop.signal }));
        await until(() => logger.warnings.length === 1);
        expect(logger.warnings.splice(0)).toEqual([told('offerings')]);
        stop.abort();
        expect(await reading).toStrictEqual([]);
      }
    });

    it('takes up a topic that comes to be later with all that it holds, also from the end', async () => {
      const log = connected();
      const events: unknown[] = [];
      const stop = new AbortController();
      const consuming = log.consume({ group: 'g', topics: ['notes'], signal: stop.signal }, (event) => {
        events.push(event.key);
      });
      const spec = {
        name: `${consumed.topicPrefix}notes`,
        partitions: 1,
        cleanup: 'delete',
        retentionMs: 3_600_000,
      } as const;
      const note = { topic: spec.name, key: 'k', value: null, headers: {}, timestamp: Date.now() };
      await consumed.commitLog.append(spec, [note], AbortSignal.timeout(20_000));
      await until(() => events.length === 1);
      stop.abort();
      await consuming;
    });

    it('leaves out by headers what is not wanted', async () => {
      const log = connected();
      await writer.write({ id: 'a', status: 'Filed' }, { id: 'b', status: 'Filed' });
      await writer.write({ id: 'a', status: 'Priced' }, { id: 'b', status: 'Priced' });
      const read = async (where: object) => {
        const events = await collect(log.read('ipos', { where }));
        return events.map(({ key, headers }) => `${key} ${headers.op}`).sort();
      };
      expect(await read({ op: ['u'] })).toEqual(['a u', 'b u']);
      expect(await read({ symbol: ['B'] })).toEqual(['b c', 'b u']);
      expect(await read({ op: ['c', 'u'], key: ['a'] })).toEqual(['a c', 'a u']);
      expect(await read({ changedFields: ['name', 'deal_status'] })).toEqual(['a u', 'b u']);
      expect(await read({ changedFields: ['name'] })).toStrictEqual([]);
      expect(await read({ eventType: ['marketdata.ipos.created'], symbol: ['A'] })).toEqual(['a c']);
    });

    it('tries an event again before anything after it, and says which try it is', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      await writer.write({ id: 'a', status: 'Priced' });
      const tries: string[] = [];
      const stop = new AbortController();
      const options = { group: 'g', topics: ['ipos.deal-status'] as const, from: 'beginning' as const };
      await connected().consume({ ...options, retry: { delayMs: 1 }, signal: stop.signal }, (event) => {
        tries.push(`${event.value.status} ${event.attempt}`);
        if (event.attempt < 3 && event.value.status === 'Filed') throw new Error('not now');
        if (event.value.status === 'Priced') stop.abort();
      });
      expect(tries).toEqual(['Filed 1', 'Filed 2', 'Filed 3', 'Priced 1']);
    });

    it('stops at an event that cannot be handled, by its name, and begins there the next time', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      await writer.write({ id: 'a', status: 'Priced' });
      await writer.write({ id: 'a', status: 'Withdrawn' });
      const handled: unknown[] = [];
      const consume = (isBroken: boolean, stop = new AbortController()) =>
        connected().consume(
          ofGroup(stop, {
            retry: { attempts: 2, delayMs: 1 },
          }),
          ({ value: { status } }) => {
            if (isBroken && status === 'Priced') throw new Error('the database says no');
            handled.push(status);
            if (status === 'Withdrawn') stop.abort();
          },
        );
      await expect(consume(true)).rejects.toMatchObject({
        code: 'CONSUMER_HANDLER_FAILED',
        message: expect.stringMatching(
          /offset \d+ of .*ipos\.deal-status, partition \d \(event ipos:\w+:2:deal_status\): the database says no, after 2 tries/,
        ),
        cause: expect.objectContaining({ message: 'the database says no' }),
      });
      await consume(false);
      expect(handled).toEqual(['Filed', 'Priced', 'Withdrawn']);
    });

    it('goes on over one that cannot be handled when told so, and keeps it where the same program can read it', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      await writer.write({ id: 'a', status: 'Priced' });
      const log = connected();
      const stop = new AbortController();
      const handled: unknown[] = [];
      await log.consume(
        ofGroup(stop, {
          retry: { attempts: 2, delayMs: 1 },
          onFailure: 'dead-letter',
        }),
        ({ value: { status } }) => {
          if (status === 'Filed') throw new Error('unheard of');
          handled.push(status);
          stop.abort();
        },
      );
      expect(handled).toEqual(['Priced']);
      const [letter, ...others] = await collect(log.read('g.dead-letters'));
      expect(others).toStrictEqual([]);
      expect(letter).toMatchObject({
        type: 'marketdata.ipos.DealStatusChanged',
        key: 'a',
        value: { status: 'Filed' },
        id: expect.stringMatching(/:1:deal_status$/),
        headers: {
          'error.topic': `${consumed.topicPrefix}ipos.deal-status`,
          'error.message': 'unheard of',
          'error.group': `${consumed.topicPrefix}g`,
          'error.attempts': '2',
          op: 'c',
          'error.offset': expect.stringMatching(/^\d+$/),
        },
      });
    });

    it('keeps an event whose bytes claim what is not there as a dead letter, and goes on', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      const log = connected();
      const [event] = await collect(log.read('ipos'));
      const { value, key } = event!.record;
      // No images, op c, and then 2^40 names of changed fields in a few bytes.
      const claims = Buffer.concat([value!.subarray(0, 5), Buffer.from([0, 0, 2, 0x63]), varint(2 ** 40)]);
      const name = `${consumed.topicPrefix}copied`;
      const topic = { name, partitions: 1, cleanup: 'delete', retentionMs: 3_600_000 } as const;
      const copies = [claims, value].map((copy) => ({
        topic: name,
        key,
        value: copy,
        headers: {},
        timestamp: Date.now(),
      }));
      await consumed.commitLog.append(topic, copies, new AbortController().signal);
      const stop = new AbortController();
      const handled: unknown[] = [];
      await log.consume(
        {
          group: 'g',
          topics: ['copied'],
          from: 'beginning',
          signal: stop.signal,
          retry: { attempts: 2, delayMs: 1 },
          onFailure: 'dead-letter',
        },
        ({ type }) => {
          handled.push(type);
          stop.abort();
        },
      );
      expect(handled).toEqual(['marketdata.ipos.Envelope']);
      const letters: LogRecord[] = [];
      const options = { fromBeginning: true, follow: false, signal: new AbortController().signal };
      for await (const record of consumed.commitLog.read([`${consumed.topicPrefix}g.dead-letters`], options))
        letters.push(record);
      expect(letters).toMatchObject([
        {
          value: claims,
          headers: { 'error.message': expect.stringContaining('the array claims 1099511627776 items') },
        },
      ]);
    });

    it('tries again only what another try may help, however often', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      await writer.write({ id: 'a', status: 'Priced' });
      class Refused extends Error {}
      const tries: string[] = [];
      const stop = new AbortController();
      const isRetriable = (error: unknown) => !(error instanceof Refused);
      await connected().consume(
        ofGroup(stop, {
          retry: { attempts: Infinity, delayMs: 1, isRetriable },
          onFailure: 'dead-letter',
        }),
        ({ value: { status }, attempt }) => {
          tries.push(`${status} ${attempt}`);
          if (status === 'Filed') throw new Refused('never');
          if (attempt < 7) throw new Error('an outage');
          stop.abort();
        },
      );
      expect(tries).toEqual(['Filed 1', ...Array.from({ length: 7 }, (_, i) => `Priced ${i + 1}`)]);
    });

    it('a question of the program that throws ends it with a code, at the event, and none is given up over it', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      const cause = new TypeError('the question is wrong');
      const isRetriable = (): never => {
        throw cause;
      };
      const options = ofGroup(new AbortController(), {
        retry: { isRetriable },
        onFailure: 'dead-letter' as const,
      });
      const consuming = connected().consume(options, () => Promise.reject(new Error('an outage')));
      await expect(consuming).rejects.toMatchObject({ code: 'CONSUMER_HANDLER_FAILED', cause });
    });

    it('of a log that was closed fails, where it would only seem to have ended', async () => {
      const log = connected();
      await log.close();
      const consuming = log.consume(ofGroup(new AbortController(), {}), () => undefined);
      await expect(consuming).rejects.toMatchObject({ code: 'LOG_CLOSED' });
    });

    it('hands over batches of one partition, and begins where a database of the program stands', async () => {
      for (let i = 0; i < 10; i++)
        await writer.write({ id: 'a', status: `s${i}` }, { id: 'b', status: `s${i}` });
      /** A database whose content and position change together or not at all. */
      const database = { rows: [] as string[], places: new Map<string, number>() };
      let crashes = 0;
      const run = (stop: AbortController) =>
        connected().consumeBatches(
          ofGroup(stop, {
            maxBatch: 4,
            retry: { attempts: 1 },
            positions: { load: (topic, partition) => database.places.get(`${topic} ${partition}`) ?? null },
          }),
          (events, { topic, partition, next }) => {
            expect(events.length).toBeLessThanOrEqual(4);
            expect(new Set(events.map((event) => event.partition))).toEqual(new Set([partition]));
            expect(events.at(-1)!.offset).toBeLessThan(next);
            database.rows.push(...events.map(({ value }) => `${value.id} ${value.status}`));
            database.places.set(`${topic} ${partition}`, next);
            // After the database's commit, before the group hears of it.
            if (crashes < 3) throw new Error(`crash ${++crashes}`);
            if (database.rows.length >= 20) stop.abort();
          },
        );
      const ends: string[] = [];
      while (ends.at(-1) !== 'done') {
        const end = run(new AbortController()).then(
          () => 'done',
          ({ message }: Error) => /crash \d/.exec(message)?.[0] ?? message,
        );
        ends.push(await end);
      }
      expect(ends[0]).toBe('crash 1');
      const of = (id: string) => database.rows.filter((row) => row.startsWith(id));
      expect(of('a')).toEqual(Array.from({ length: 10 }, (_, i) => `a s${i}`));
      expect(of('b')).toEqual(Array.from({ length: 10 }, (_, i) => `b s${i}`));
    });

    it('begins at the beginning for a database that is empty, though the group has been further', async () => {
      await writer.write({ id: 'a', status: 'Filed' });
      const rows: unknown[] = [];
      const fill = async () => {
        const stop = new AbortController();
        await connected().consumeBatches(
          ofGroup(stop, {
            positions: { load: () => null },
          }),
          (events) => {
            rows.push(...events.map(({ value }) => value.status));
            stop.abort();
          },
        );
      };
      await fill();
      await fill();
      expect(rows).toEqual(['Filed', 'Filed']);
    });

    describe('a table', () => {
      const statuses = (table: Iterable<readonly [string, Ipo]>) =>
        Object.fromEntries([...table].map(([id, ipo]) => [id, ipo.deal_status]));

      it('shows the records as they are, then each change as it comes', async () => {
        await writer.write({ id: 'a', status: 'Filed', op: 'r' }, { id: 'b', status: 'Filed', op: 'r' });
        await writer.write({ id: 'b', status: null }, { id: 'c', status: 'Filed' });
        const changes: string[] = [];
        const table = await connected().table('ipos', {
          onChange: ({ kind, id, before, after }) => {
            changes.push(`${kind} ${id} ${before?.deal_status} ${after?.deal_status}`);
            expect(table.get(id ?? '')).toBe(after ?? undefined);
          },
        });
        expect(statuses(table)).toEqual({ a: 'Filed', c: 'Filed' });
        expect([table.size, table.has('b'), table.get('a')?.name]).toEqual([2, false, 'Issuer a']);
        await writer.write(
          { id: 'a', status: 'Priced' },
          { id: 'c', status: null },
          { id: 'd', status: 'New' },
        );
        await until(() => changes.length === 3);
        expect(changes.sort()).toEqual([
          'created d undefined New',
          'deleted c Filed undefined',
          'updated a Filed Priced',
        ]);
        expect(statuses(table)).toEqual({ a: 'Priced', d: 'New' });
        await table.close();
      });

      it('misses nothing and shows nothing twice, whenever it is opened', async () => {
        // Bounded while each table is opened: on a slow machine a writer without a pause would outrun its readers.
        const most = 40;
        let [isOver, written] = [false, 0];
        const writing = (async () => {
          for (let i = 0; ; i++) {
            await until(() => isOver || written < most);
            if (isOver) return;
            written++;
            const id = `id${i % 7}`;
            const gone = i % 11 === 10 && writer.rows.has(id);
            await writer.write({ id, status: gone ? null : `s${i}` }, { id: `x${i % 3}`, status: `t${i}` });
            await turn();
          }
        })();
        const log = connected();
        const seen: TableChange<Ipo>[][] = [];
        const tables = [];
        const at: Map<string, Ipo>[] = [];
        for (let i = 0; i < 6; i++) {
          const changes: TableChange<Ipo>[] = [];
          seen.push(changes);
          const table = await log.table('ipos', { onChange: (change) => void changes.push(change) });
          at.push(new Map(table));
          tables.push(table);
          written = 0;
        }
        await until(() => seen.every((changes) => changes.length > 20));
        isOver = true;
        await writing;
        const expected = Object.fromEntries(writer.rows);
        for (const [i, table] of tables.entries()) {
          await until(() => JSON.stringify(sorted(statuses(table))) === JSON.stringify(sorted(expected)));
          // From its first content, each change leads to the next.
          const rows = at[i]!;
          for (const { id, before, after } of seen[i]!) {
            expect(rows.get(id!)?.deal_status).toBe(before?.deal_status);
            if (after === null) rows.delete(id!);
            else rows.set(id!, after);
          }
          await table.close();
        }
      });

      it('drops what it holds when the feed begins anew, also what lags behind', async () => {
        await writer.write(...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id, status: 'old' })));
        const log = connected();
        const kinds: string[] = [];
        const table = await log.table('ipos', {
          onChange: ({ kind, id }) => void kinds.push(`${kind} ${id}`),
        });
        expect(table.size).toBe(6);
        await writer.write(...['a', 'b', 'c'].map((id) => ({ id, status: 'older' })));
        await writer.reset();
        await writer.write({ id: 'a', status: 'new', op: 'r' });
        await until(() => table.size === 1);
        expect(statuses(table)).toEqual({ a: 'new' });
        expect(kinds.filter((kind) => kind.startsWith('reset'))).toEqual(['reset null']);
        expect(kinds.at(-1)).toBe('created a');
        const fresh = await log.table('ipos');
        expect(statuses(fresh)).toEqual({ a: 'new' });
      });

      it('is empty for a feed without records, and fills', async () => {
        const table = await connected().table('ipos');
        expect(table.size).toBe(0);
        await writer.write({ id: 'a', status: 'Filed' });
        await until(() => table.size === 1);
      });
    });
  });
}

function sorted(rows: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(rows).sort();
}
