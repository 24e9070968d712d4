import type { Feed } from '../../src/feeds/feed';
import { type ReconcileResult, reconcile } from '../../src/pipeline/rounds/reconcile';
import type { Simulator } from '../../src/simulator/simulator';
import { serverDateMs } from '../../src/source/retry';
import type { Source } from '../../src/source/source';
import { testFeed } from './feeds';
import type { Published } from './published';
import type { TestPublisher } from './test-publisher';
import { world } from './world';

/** More requests than this for some dozen records: the poll would never end. */
const MOST_REQUESTS = 400;

/** A feed whose vendor, the `Date` of its answers and the own clock are three things. The time of day is made up. */
export interface ClockedFeed {
  readonly api: Simulator;
  readonly publisher: TestPublisher;
  readonly feed: Feed;
  readonly source: Source;
  /** Unix ms: the clock by which the vendor dates its rows, and the own one. */
  readonly clocks: { vendor: number; own: number };
  /** The `Date` header of an answer, given the vendor's clock and the number of the answer from 1. Undefined: none. */
  date: (vendorMs: number, answer: number) => string | undefined;
  /** Called before each request with its number in the poll, from 1. */
  beforeRequest: (request: number) => void;
  /** Time passes, the same for all. */
  pass(ms: number): void;
  /** Writes so many records again at the vendor's now, one after the other. */
  write(count: number, updated?: (nowSecond: number) => unknown, everyMs?: number): void;
  /** A poll, after which the mark must be within its limits. */
  poll(wide?: boolean): Promise<void>;
  /** With a poll between its scans. */
  reconcile(): Promise<ReconcileResult>;
  /** Ids whose last image differs from the vendor's row. */
  behind(): string[];
  /** Checks that every event continues from the one before it, none came twice, and the numbers have no gap. */
  judge(): Promise<Published[]>;
  close(): Promise<void>;
}

export interface ClockedFeedOptions {
  readonly startMs?: number;
  readonly records?: number;
  readonly pageSize?: number;
}

export async function clockedFeed(options: ClockedFeedOptions = {}): Promise<ClockedFeed> {
  const { startMs = 1_790_000_000_000, records = 60, pageSize = 20 } = options;
  const clocks = { vendor: startMs, own: startMs };
  const feed = testFeed('ipos', { pageSize, pollIntervalMs: 60_000 });
  let answers = 0;
  let requests = 0;
  /** For this poll: the latest second that both clocks have reached, and the latest `updated` ever seen. */
  let known = 0;
  let seen = 0;
  const between = (client: Source): Source => ({
    async fetchPage(of, request, signal) {
      if (++requests > MOST_REQUESTS) throw new Error('the poll does not end');
      clocked.beforeRequest(requests);
      const page = await client.fetchPage(of, request, signal);
      const shown = serverDateMs(clocked.date(clocks.vendor, ++answers));
      known = Math.max(known, Math.floor(Math.min(shown ?? page.receivedAtMs, page.receivedAtMs) / 1000));
      for (const { updated } of of === feed ? publisher.owned().deps.decode(page.rows).records : [])
        seen = Math.max(seen, updated);
      return { ...page, serverDateMs: shown };
    },
  });
  const { api, source, publisher, close } = await world({
    ...{ feed, between, bodyLimitBytes: 2 ** 24, now: () => clocks.own },
    vendor: { records: { insights: 0, analysts: 0, ipos: records }, clock: () => clocks.vendor },
  });
  let next = 0;
  const state = () => publisher.owned().deps.state;

  const clocked: ClockedFeed = {
    api,
    publisher,
    feed,
    source,
    clocks,
    date: (vendorMs) => new Date(vendorMs).toUTCString(),
    beforeRequest() {},
    pass(ms) {
      clocks.vendor += ms;
      clocks.own += ms;
    },
    write(count, updated, everyMs = 1000) {
      const keys = api.stores.ipos.keys().sort();
      for (let i = 0; i < count; i++) {
        const { updated: _, ...record } = api.stores.ipos.get(keys[next++ % keys.length]!)!;
        const second = Math.floor(clocks.vendor / 1000);
        const change = { ...record, notes: `note ${next}`, deal_status: `status ${next % 3}` };
        api.stores.ipos.upsert({ ...change, ...(updated && { updated: updated(second) }) } as never);
        clocked.pass(everyMs);
      }
    },
    async poll(wide = false) {
      requests = 0;
      known = 0;
      await publisher.poll({ wide });
      const { high_water_mark } = state().offset;
      expect(high_water_mark).toBeLessThanOrEqual(Math.max(0, known));
      expect(high_water_mark).toBeLessThanOrEqual(seen);
    },
    reconcile() {
      requests = 0;
      const options = {
        dryRun: false,
        allowDeletes: 10,
        between: async () => {},
        poll: async () => {},
        async rest(ms: number) {
          clocked.pass(ms);
          await clocked.poll();
        },
      };
      return reconcile(publisher.owned().deps, options, new AbortController().signal);
    },
    behind() {
      const { images, decode } = publisher.owned().deps;
      const shown = decode([...api.truth('ipos').values()]).records;
      return shown
        .filter((record) => {
          const wire = state().image(record.id);
          return wire === undefined || images.compare(wire, record).changedFields.length > 0;
        })
        .map(({ id }) => id);
    },
    async judge() {
      const events = await publisher.topic('ipos');
      events.sort((a, b) => a.decoded!.source.seq - b.decoded!.source.seq);
      const live = new Map<string, unknown>();
      for (const [index, { key, decoded }] of events.entries()) {
        const { before, after, op, source: of } = decoded!;
        expect(of.seq).toBe(index + 1);
        if (op === 'r' || op === 'c') expect(live.has(key)).toBe(false);
        else expect(before).toEqual(live.get(key));
        if (after === null) live.delete(key);
        else live.set(key, after);
      }
      expect(clocked.behind()).toStrictEqual([]);
      return events;
    },
    close,
  };
  return clocked;
}
