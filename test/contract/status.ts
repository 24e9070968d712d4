import { jsonLines } from '../support/cli';
import { cliPublisher } from '../support/cli-publisher';
import { leaveDeadLetters } from '../support/dead-letters';
import type { Values } from '../support/published';
import { until } from '../support/until';

/** `highwater status`, over either log. @param log settings that name it, of a log that is empty at the begin of each test */
export function statusContract(name: string, log: () => Readonly<Record<string, string>>): void {
  describe(`status of ${name}`, () => {
    const { api, start, done, running, stillPolled, owning } = cliPublisher(log);

    async function status(
      ...args: string[]
    ): Promise<{ code: number | null; feeds: Record<string, Values> }> {
      const { code, out, err } = await done(['status', '--json', ...args]);
      if (err !== '') throw new Error(err);
      return { code, feeds: Object.fromEntries(jsonLines<Values>(out).map((line) => [line.feed, line])) };
    }

    it('shows who has each feed, how far it is and that it is up to date by the interval of its publisher', async () => {
      const publisher = await running('--poll-interval', '20s');
      // By the interval of this command, a tenth of a second, both would be behind before it has started.
      await until(async () => (await status()).code === 0);
      const { feeds } = await status();
      expect(Object.keys(feeds)).toEqual(['analysts', 'ipos']);
      const now = Date.now();
      expect(feeds.ipos).toMatchObject({
        owner: expect.stringMatching(new RegExp(`:${publisher.pid}$`)),
        behind: false,
        records: 60,
        seq: 60,
        high_water_mark: api().stores.ipos.view().byUpdated.at(-1)!.updated,
        snapshot: 'complete',
        paused: false,
        parked: null,
        last_error: null,
        backfill: null,
        poll_interval_ms: 20_000,
        condition: 'up-to-date',
        being_read: false,
        problems: [],
      });
      expect(now - feeds.ipos!.last_complete_scan_ms).toBeLessThan(60_000);

      const shown = await done(['status']);
      expect(shown.out.split('\n')[0]).toMatch(/^FEED +STATE +LAST SCAN +RECORDS +MARK +OWNER$/);
      expect(shown.out).toMatch(/^ipos +✓ up to date +(now|\d+ s ago) +60 +\S.* ago +\S+:\d+$/m);
    });

    it('says that nobody publishes, and exits with 3 by the interval of the publisher that has gone', async () => {
      const publisher = await running();
      await stillPolled('analysts');
      await publisher.stop();
      const late = () => status('--poll-interval', '1h');
      await until(async () => (await late()).feeds.ipos!.behind);
      const after = await late();
      expect([after.code, after.feeds.ipos!.owner, after.feeds.ipos!.behind]).toEqual([3, null, true]);
      const { out } = await done(['status']);
      expect(out).toMatch(/^ipos +✗ no publisher .* nobody$/m);
      expect(out).toMatch(/^✗ No publisher runs on this log\.\n {2}do: .*highwater run/m);
    });

    it('a feed that an operator has paused is well, however long ago its last scan was', async () => {
      await running();
      expect((await done(['pause', 'ipos'])).code).toBe(0);
      const scanned = (await status()).feeds.ipos!.last_complete_scan_ms;
      await until(() => Date.now() - scanned > 300);
      const { code, feeds } = await status('--feeds', 'ipos');
      expect([code, feeds.ipos!.behind, feeds.ipos!.condition]).toEqual([0, false, 'paused']);
    });

    it('shows what an operator has paused, and the error for which a feed waits', async () => {
      await running();
      expect((await done(['pause', 'ipos'])).code).toBe(0);
      api().fault({ fault: { kind: 'status', status: 401 } });
      await until(async () => (await status()).feeds.analysts!.parked !== null);
      const { feeds } = await status();
      expect([feeds.ipos!.paused, feeds.analysts!.parked]).toEqual([true, 'SOURCE_UNAUTHORIZED']);
      const { out } = await done(['status']);
      expect(out).toMatch(/^ipos +‖ paused/m);
      expect(out).toMatch(/^analysts +✗ parked/m);
      expect(out).toMatch(/^✗ analysts: SOURCE_UNAUTHORIZED: .*401.*\n {2}do: .*HIGHWATER_API_TOKEN/m);
      expect(out).toMatch(/^‖ ipos: Paused by an operator.*\n {2}do: `highwater resume ipos`$/m);
      expect(out).toMatch(/^0 of 2 feeds up to date\.$/m);
    });

    it('exits with 3 as soon as a feed is parked, long before it is behind', async () => {
      await running('--poll-interval', '3s');
      await until(async () => (await status()).code === 0);
      api().fault({ fault: { kind: 'status', status: 401 } });
      let found = await status();
      await until(async () => {
        found = await status();
        return Object.values(found.feeds).some(({ condition }) => condition === 'parked');
      });
      expect(found.code).toBe(3);
    });

    it('counts the dead letters of each feed, and says how to see them', async () => {
      await done(['run', '--once']);
      await owning('ipos', async (feed, owned) => {
        await leaveDeadLetters(feed, owned, { raw: '{"name":"x"}' }, { raw: '{}' });
      });
      const { feeds } = await status();
      expect([feeds.ipos!.dead_letters, feeds.analysts!.dead_letters]).toEqual([2, 0]);
      const { out } = await done(['status']);
      expect(out).toMatch(/^FEED .* DEAD LETTERS +OWNER$/m);
      expect(out).toMatch(/^! ipos: 2 rows could not be.*\n {2}do: `highwater dead-letters list ipos` says/m);
    });

    it('asks again and again with --watch, a block or JSON lines each time where nothing can be drawn over', async () => {
      await done(['run', '--once']);
      const [text, json] = [start(['status', '--watch', '50ms']), start(['status', '--json', '-w', '50ms'])];
      await text.sees(/(^20\S+Z\nFEED [\s\S]*?^0 of 2 feeds up to date\.\n\n){2}/m);
      await json.sees(/("feed":"ipos"[\s\S]*?){3}/);
      text.signal('SIGINT');
      json.signal('SIGTERM');
      expect([await text.ended(), await json.ended()]).toEqual(
        (['SIGINT', 'SIGTERM'] as const).map((signal) => ({ code: null, signal })),
      );
      expect(jsonLines<Values>(json.stdout())[0]).toMatchObject({ feed: 'analysts', owner: null });
    });

    it('names a log that is not there, and shows nothing', async () => {
      const { code, out, err } = await done(['status', '--data-dir', 'nowhere']);
      if (log().KAFKA_BROKERS === undefined) expect([code, out]).toEqual([1, '']);
      else expect(code).toBe(3);
      if (code === 1) expect(err).toContain('LOG_MISSING');
      else expect(out).toMatch(/^ipos +✗ no publisher +never +0 +- +nobody$/m);
    });
  });
}
