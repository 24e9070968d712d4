import fc from 'fast-check';
import { HighwaterError } from '../../../src/errors';
import type { ProducerRecord } from '../../../src/log/commit-log';
import { idsIn } from '../../support/ids-in';
import type { Values } from '../../support/published';
import { insight, ipo } from '../../support/records';
import { runs } from '../../support/runs';
import {
  type ScriptedPublisher as Publisher,
  passing,
  scriptedPublisher as publisherOf,
} from '../../support/scripted-publisher';

type Row = Record<string, unknown>;

/** A page that was read waits no longer than this for the next one. */
const LINGER_MS = 200;

/** n IPOs, a second apart, so that pages overlap by their last row. */
const ipos = (n: number): Row[] =>
  Array.from({ length: n }, (_, i) => ipo({ id: `ipo-${i}`, updated: 1000 + i }));

const byTime = (...rows: readonly Row[]) => rows.toSorted((a, b) => Number(a.updated) - Number(b.updated));

/** How many pages each transaction had. */
function pagesPerCommit({ reports }: Publisher): number[] {
  const counts = new Map<number, number>();
  for (const { transactions } of reports) counts.set(transactions, (counts.get(transactions) ?? 0) + 1);
  return [...counts.values()];
}

const seqs = (publisher: Publisher) => publisher.topic('ipos').map(({ source }) => source.seq);
/** The published events of one record. */
const eventsOf = (publisher: Publisher, id: string) =>
  publisher.topic('ipos').filter(({ after }) => after.id === id);
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

describe('pages while a scan catches up', () => {
  it('share a transaction, a few at a time, when the API is fast', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(99);
    publisher.vendor.beforeAnswer = () => passing(20);
    const result = await publisher.poll();
    // Pages of 10 rows, the first of which was the last of the page before.
    expect(pagesPerCommit(publisher)).toEqual([5, 5, 1]);
    expect(result).toEqual({ pages: 11, rows: 109, changes: 99, deadLetters: 0, complete: true });
    expect(seqs(publisher)).toEqual(upTo(99));
    expect(publisher.topic('ipos.source-offset').map(({ commit, seq }) => [commit, seq])).toEqual([
      [1, 0],
      [2, 46],
      [3, 91],
      [4, 99],
    ]);
    expect(publisher.topic('ipos.source-offset').at(-1)).toMatchObject({ record_count: 99 });
    for (const { records, position } of publisher.session.transactions) {
      expect(records.filter(({ topic }) => topic === 'ipos.source-offset')).toEqual([records.at(-1)]);
      expect(records.at(-1)!.headers.commit).toBe(String(position.commit));
    }
  });

  it('keep their own time of observation and are reported one by one, in order', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(40);
    await publisher.poll();
    expect(pagesPerCommit(publisher)).toEqual([5]);
    const times = publisher.reports.map(({ observedAtMs }) => observedAtMs);
    expect(new Set(times).size).toBe(5);
    expect(times).toEqual([...times].sort());
    const observed = publisher.reports.flatMap(({ changes, observedAtMs }) =>
      Array<number>(changes.count).fill(observedAtMs),
    );
    expect(publisher.topic('ipos').map(({ ts_ms }) => ts_ms)).toEqual(observed);
    for (const topic of ['ipos', 'ipos.current']) {
      const records = publisher.records().filter((record) => record.topic === topic);
      expect(records.map(({ timestamp }) => timestamp)).toEqual(observed);
    }
    expect(publisher.reports.findIndex(({ progress }) => progress.complete)).toBe(4);
  });

  it('are committed one by one, soon after they were read, when the API is slow', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(40);
    const answeredAtMs: number[] = [];
    publisher.vendor.beforeAnswer = async () => {
      await passing(5_000);
      answeredAtMs.push(Date.now());
    };
    await publisher.poll();
    expect(pagesPerCommit(publisher)).toEqual([1, 1, 1, 1, 1]);
    publisher.reports.forEach(({ atMs }, i) => {
      // The clock goes on while a busy machine works, but not to the next answer.
      expect(atMs - answeredAtMs[i]!).toBeLessThan(5_000);
    });
  });

  it('do not wait at the end of the scan, nor for more than are taken together', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(5);
    jest.setSystemTime(0);
    await publisher.poll();
    publisher.vendor.rows = ipos(100);
    await publisher.poll();
    // Answers that cost no time: any waiting would show in the clock.
    expect(pagesPerCommit(publisher).length).toBeGreaterThan(2);
    expect(Date.now()).toBeLessThan(LINGER_MS);
  });

  it('are committed before the error that ends the scan', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(100);
    const first = publisher.vendor.requests.length;
    publisher.vendor.beforeAnswer = (request) => {
      if (request === first + 4) throw new HighwaterError('SOURCE_UNAVAILABLE', 'down');
    };
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    expect(pagesPerCommit(publisher)).toEqual([3]);
    publisher.vendor.beforeAnswer = () => {};
    await publisher.poll();
    expect(seqs(publisher)).toEqual(upTo(100));
  });

  it('are committed when a later one cannot be worked on', async () => {
    const publisher = await publisherOf('ipos');
    const { deps } = publisher.owned;
    const { decode } = deps;
    Object.assign(deps, {
      decode: (rows: readonly Row[]) => {
        if (rows.some(({ id }) => id === 'ipo-20')) throw new Error('a bug');
        return decode(rows);
      },
    });
    publisher.vendor.rows = ipos(100);
    await expect(publisher.poll()).rejects.toThrow('a bug');
    expect(pagesPerCommit(publisher)).toEqual([2]);
    Object.assign(deps, { decode });
    await publisher.poll();
    expect(seqs(publisher)).toEqual(upTo(100));
  });

  it('are not in the state where the log has not taken their records over', async () => {
    const publisher = await publisherOf('ipos');
    const { session } = publisher;
    const { gather } = session;
    let pages = 0;
    function* breaking([first]: Iterable<ProducerRecord>) {
      yield first!;
      throw new Error('no memory');
    }
    Object.assign(session, {
      gather() {
        const gathered = gather();
        const add = gathered.add.bind(gathered);
        return Object.assign(gathered, {
          add(records: Iterable<ProducerRecord>) {
            add(++pages === 2 ? breaking(records) : records);
          },
        });
      },
    });
    publisher.vendor.rows = ipos(100);
    await expect(publisher.poll()).rejects.toThrow('no memory');
    expect(pagesPerCommit(publisher)).toEqual([1]);
    expect(publisher.owned.deps.state.recordCount).toBe(10);
    await publisher.poll();
    expect(seqs(publisher)).toEqual(upTo(100));
  });

  it('are dropped together when the commit fails, and come again with the next poll', async () => {
    const publisher = await publisherOf('ipos');
    const { state } = publisher.owned.deps;
    const { offset } = state;
    publisher.vendor.rows = byTime(...ipos(30), { name: 'No Id Inc', updated: 1005 });
    publisher.session.failNext(new HighwaterError('LOG_FAILED', 'no'));
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'LOG_FAILED' });
    expect(publisher.reports).toStrictEqual([]);
    expect(publisher.session.transactions).toHaveLength(1);
    expect(state.offset).toEqual(offset);
    expect(state.recordCount).toBe(0);
    const result = await publisher.poll();
    expect(result).toMatchObject({ changes: 30, deadLetters: 1, complete: true });
    expect(seqs(publisher)).toEqual(upTo(30));
    expect(publisher.topic('ipos.source-offset').map(({ commit }) => commit)).toEqual([1, 2]);
  });

  it('are read and compared while those before them are committed, one transaction after the other', async () => {
    const publisher = await publisherOf('ipos');
    const { session, vendor, owned } = publisher;
    vendor.rows = byTime(...ipos(100), ipo({ id: 'ipo-3', updated: 1050, name: 'Second name' }));
    let underWay = 0;
    const seen: { readonly requests: number; readonly counted: number }[] = [];
    const first = vendor.requests.length;
    session.beforeCommit = async () => {
      expect(++underWay).toBe(1);
      await passing(1_000);
      // The state has not moved, and nobody was told; but the next pages are read.
      seen.push({ requests: vendor.requests.length - first, counted: owned.deps.state.recordCount });
      underWay--;
    };
    await publisher.poll();
    expect(seen.map(({ counted }) => counted)).toEqual([0, 46, 90, 100].slice(0, seen.length));
    expect(seen[0]!.requests).toBeGreaterThan(10);
    expect(seqs(publisher)).toEqual(upTo(101));
    const [created, updated] = eventsOf(publisher, 'ipo-3');
    expect(updated!.before).toEqual(created!.after);
    expect(publisher.topic('ipos.source-offset').map(({ record_count }) => record_count)).toEqual([
      0, 46, 90, 100,
    ]);
  });

  it('count as drifted once they are committed', async () => {
    const { session, vendor, owned, poll } = await publisherOf('ipos');
    vendor.rows = ipos(30).map((row) => ({ ...row, cusip: '7' }));
    const { drift } = owned.deps;
    session.failNext(new HighwaterError('LOG_FAILED', 'no'));
    await expect(poll()).rejects.toMatchObject({ code: 'LOG_FAILED' });
    expect(drift.found().paths).toStrictEqual([]);
    await poll();
    expect(drift.found().paths).toMatchObject([{ path: 'cusip', count: 30 }]);
  });

  it('tell of a commit that failed behind a scan that failed too', async () => {
    const publisher = await publisherOf('ipos');
    const { session, vendor } = publisher;
    vendor.rows = ipos(100);
    const first = vendor.requests.length;
    vendor.beforeAnswer = (request) => {
      if (request === first + 7) throw new HighwaterError('SOURCE_UNAVAILABLE', 'down');
    };
    session.failNext(new HighwaterError('LOG_FENCED', 'no'));
    session.beforeCommit = () => passing(1_000);
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'LOG_FENCED' });
    expect(session.transactions).toHaveLength(1);
  });

  it('are committed when the signal comes while they wait', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(100);
    const stop = new AbortController();
    const first = publisher.vendor.requests.length;
    publisher.vendor.beforeAnswer = async (request, signal) => {
      if (request < first + 3) return;
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        setTimeout(() => stop.abort(), 50);
      });
    };
    expect(await publisher.poll({ signal: stop.signal })).toMatchObject({ pages: 2, complete: false });
    expect(pagesPerCommit(publisher)).toEqual([2]);
  });

  it('are chained: a record that changes on one and again on a later one is two events of one transaction', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = byTime(...ipos(30), ipo({ id: 'ipo-3', updated: 1025, name: 'Second name' }));
    await publisher.poll();
    expect(pagesPerCommit(publisher)).toEqual([4]);
    const [created, updated] = eventsOf(publisher, 'ipo-3');
    expect(created).toMatchObject({ op: 'c', before: null });
    expect(updated).toMatchObject({ op: 'u', changed_fields: ['name'] });
    expect(updated!.before).toEqual(created!.after);
    const { state, codec } = publisher.owned.deps;
    expect(codec.image.decode(state.image('ipo-3')!).values).toEqual(updated!.after);
  });

  it('keep a row that is no record once, on however many of them it comes', async () => {
    const publisher = await publisherOf('ipos');
    const nameless = { name: 'No Id Inc', updated: 1004 };
    publisher.vendor.rows = [...ipos(8), nameless, ...ipos(30).slice(8), nameless];
    await publisher.poll();
    expect(publisher.topic('ipos.dead-letters')).toHaveLength(1);
  });

  it('share no more than a bound of bytes', async () => {
    const publisher = await publisherOf('ipos');
    const notes = 'x'.repeat(500_000);
    publisher.vendor.rows = ipos(30).map((row) => ({ ...row, notes }));
    await publisher.poll();
    // Nine records, 0.5 MB each, as event and as image.
    expect(pagesPerCommit(publisher)).toEqual([1, 1, 1, 1]);
  });

  it('wait for nobody when there is nothing to commit', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(40);
    await publisher.poll();
    publisher.vendor.beforeAnswer = () => passing(5_000);
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await publisher.poll({ wide: true });
    expect(publisher.session.transactions).toHaveLength(2);
    expect(timers.mock.calls.filter(([, ms]) => ms === LINGER_MS)).toEqual([]);
    timers.mockRestore();
  });

  it('share a transaction also when some of them bring nothing', async () => {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = ipos(40);
    await publisher.poll();
    publisher.reports.length = 0;
    publisher.vendor.rows = ipos(40).map((row, i) => ([12, 33].includes(i) ? { ...row, name: 'New' } : row));
    await publisher.poll({ wide: true });
    expect(publisher.reports.map(({ changes }) => changes.count)).toEqual([0, 1, 0, 1, 0, 0, 0]);
    expect(publisher.session.transactions).toHaveLength(3);
    expect(publisher.owned.deps.state.storedOffset).toMatchObject({ commit: 3, seq: 42 });
  });

  it('put a mark that goes back into the log before anything else is waited for', async () => {
    const publisher = await publisherOf('ipos');
    const shown = ipos(40);
    // From the third page on, the vendor gives up its order. That page is asked for twice.
    publisher.vendor.rows = [...shown.slice(0, 22), ...shown.slice(22).reverse()];
    const first = publisher.vendor.requests.length;
    const stored: Values[] = [];
    publisher.vendor.beforeAnswer = async (request) => {
      if (request < first + 5) return;
      await passing(LINGER_MS - 50);
      stored.push(publisher.topic('ipos.source-offset').at(-1)!);
    };
    await publisher.poll();
    expect(stored[0]).toMatchObject({ ordered: false, high_water_mark: 0 });
    expect(publisher.topic('ipos.source-offset').at(-1)).toMatchObject({ record_count: 40 });
  });
});

describe('a page that has to be read again', () => {
  async function aheadOfTheVendor(): Promise<Publisher> {
    const publisher = await publisherOf('ipos');
    publisher.vendor.rows = [ipo({ id: 'ipo-25', updated: 5000, name: 'Later' })];
    await publisher.poll();
    publisher.reports.length = 0;
    publisher.vendor.rows = ipos(30);
    return publisher;
  }
  /** From now on: whether the request under way has been made before. */
  function secondReads({ vendor }: Publisher): () => boolean {
    const from = vendor.requests.length;
    return () => {
      const { updatedSince } = vendor.requests.at(-1)!;
      return vendor.requests.slice(from, -1).some((request) => request.updatedSince === updatedSince);
    };
  }

  it('holds back none of those before it', async () => {
    const publisher = await aheadOfTheVendor();
    const isSecondRead = secondReads(publisher);
    let committed: number | null = null;
    publisher.vendor.beforeAnswer = async () => {
      if (committed !== null || !isSecondRead()) return;
      await passing(60_000);
      committed = publisher.reports.length;
    };
    await publisher.poll({ wide: true });
    expect(committed).toBe(2);
    expect(publisher.reports.map(({ changes }) => changes.count)).toEqual([10, 9, 9, 2, 0, 0]);
    expect(seqs(publisher)).toEqual(upTo(31));
    expect(publisher.reports.map(({ changes }) => changes.ops.u)).toEqual([0, 0, 1, 0, 0, 0]);
    expect(eventsOf(publisher, 'ipo-25')).toMatchObject([
      { op: 'c', source: { seq: 1 } },
      { op: 'u', source: { seq: 29 } },
    ]);
  });

  it('fails alone when it cannot be', async () => {
    const publisher = await aheadOfTheVendor();
    const isSecondRead = secondReads(publisher);
    publisher.vendor.beforeAnswer = () => {
      if (isSecondRead()) throw new HighwaterError('SOURCE_UNAVAILABLE', 'down');
    };
    await expect(publisher.poll({ wide: true })).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    expect(publisher.reports).toHaveLength(2);
    expect(publisher.owned.deps.state.recordCount).toBe(20);
    publisher.vendor.beforeAnswer = () => {};
    await publisher.poll({ wide: true });
    expect(seqs(publisher)).toEqual(upTo(31));
  });
});

describe('what is published', () => {
  const version = fc.record({
    id: fc.nat(25),
    after: fc.nat(2),
    choice: fc.nat(3),
    withId: fc.integer({ min: 0, max: 9 }),
  });
  const versions = fc.array(version, { maxLength: 70 });
  const latency = fc.constantFrom(0, 20, 150, 250, 2000);
  const latencies = fc.array(latency, { minLength: 1, maxLength: 12 });

  function rowsOf(
    name: 'ipos' | 'insights',
    of: readonly { id: number; after: number; choice: number; withId: number }[],
  ): Row[] {
    let updated = 2000;
    return of.map(({ id, after, choice, withId }) => {
      updated += after;
      const key = withId === 0 ? {} : { id: `record-${id}` };
      if (name === 'ipos') {
        const { id: _, ...row } = ipo({ updated, deal_status: `Status ${choice}`, notes: String(id % 3) });
        return { ...row, ...key };
      }
      const { id: _, ...row } = insight({
        updated,
        firm_id: `firm-${id % 3}`,
        rating: ['Buy', 'Hold', 'Sell', 'Buy'][choice],
        date: `2026-01-0${1 + ((id + choice) % 5)}`,
      });
      return { ...row, ...key };
    });
  }

  it('does not depend on how pages came together (property)', async () => {
    const property = fc.asyncProperty(
      fc.constantFrom('ipos' as const, 'insights' as const),
      versions,
      versions,
      latencies,
      async (name, first, second, delays) => {
        const published = async (delaysOf: readonly number[]) => {
          const publisher = await publisherOf(name);
          publisher.vendor.beforeAnswer = (request) => passing(delaysOf[request % delaysOf.length]!);
          publisher.vendor.rows = rowsOf(name, first);
          await publisher.poll();
          publisher.vendor.rows = rowsOf(name, second);
          await publisher.poll({ wide: true });
          const { state } = publisher.owned.deps;
          const bytes = idsIn(state).reduce((sum, id) => sum + state.image(id)!.length, 0);
          expect(state.imageBytes).toBe(bytes);
          const { incarnation, commit: _c, ts_ms: _t, ...offset } = state.offset;
          const records = publisher
            .records()
            .filter(({ topic }) => topic !== `${name}.source-offset`)
            .map(({ value, headers, ...rest }) => ({
              ...rest,
              value: value!.toString('latin1').replaceAll(incarnation, 'i'),
              headers: JSON.stringify(headers).replaceAll(incarnation, 'i'),
            }));
          // The beginning is a commit of its own; after it no page takes more than one.
          expect(publisher.session.transactions.length).toBeLessThanOrEqual(1 + publisher.reports.length);
          return { records, offset };
        };
        const together = await published(delays);
        const oneByOne = await published([2000]);
        expect(together.records).toEqual(oneByOne.records);
        expect(together.offset).toEqual(oneByOne.offset);
      },
    );
    await fc.assert(property, { numRuns: runs(6) });
  });
});
