import { jsonLines } from '../support/cli';
import type { CliPublisher, ReadRecord } from '../support/cli-publisher';
import { leaveDeadLetters } from '../support/dead-letters';
import { until } from '../support/until';

interface Said {
  readonly kind: string;
  readonly summary: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: figures of any command
  readonly facts: Record<string, any>;
}

/** The effect of every operator's command on the log, carried out by a publisher or by the command itself. */
export function operatorCommandContract(publisher: CliPublisher): void {
  const { api, done, running, records, start, stillPolled } = publisher;
  const store = () => api().stores.ipos;

  /** Carries commands out: the publisher, or the command itself. */
  let by: 'accepted' | 'acting';

  /** The outcome and the exit code. */
  async function said(...args: string[]): Promise<Said & { code: number | null }> {
    // Where nobody will accept it, there is nothing to wait for.
    const wait = by === 'acting' ? ['--wait', '1s'] : [];
    const { code, out, err } = await done([...args, '--json', ...wait]);
    const lines = jsonLines<Said>(out);
    if (lines.length < 2) throw new Error(out + err);
    expect(lines[0]!.kind).toBe(by);
    return { ...lines.at(-1)!, code };
  }
  /** The changes of ipos in their order: `c late reconcile`. */
  async function changes(): Promise<string[]> {
    const events = (await records('ipos')).map(({ value }) => value!);
    return events
      .sort((a, b) => a.source.seq - b.source.seq)
      .map(({ op, before, after, source }) => `${op} ${(after ?? before).id} ${source.origin}`);
  }
  const news = async () => (await changes()).filter((change) => !change.endsWith(' snapshot'));
  /** Ids that a reader of the images has. */
  async function images(): Promise<string[]> {
    const latest = new Map<string, ReadRecord['value']>();
    for (const { key, value } of await records('ipos.current')) latest.set(key, value);
    return [...latest].filter(([, value]) => value !== null).map(([key]) => key);
  }
  /** A record with the `updated` of another, which polls have already passed. */
  function addLate(id: string, beside: string): void {
    const { updated, ...record } = store().get(beside)!;
    store().upsert({ ...record, id } as never, { updated: updated as number });
  }

  async function reconciles(): Promise<void> {
    const keys = store().keys();
    const [silent, gone] = [keys[3]!, keys[20]!];
    const { updated, ...record } = store().get(silent)!;
    store().upsert({ ...record, notes: 'silently' } as never, { updated: updated as number });
    addLate('late', keys[10]!);
    store().remove(gone);
    const found = { created: 1, updated: 1, deleted: 1, missing: 0 };
    expect(await said('reconcile', 'ipos', '--dry-run')).toMatchObject({
      code: 0,
      kind: 'done',
      facts: { ...found, dryRun: true },
    });
    expect(await news()).toStrictEqual([]);
    expect(await said('reconcile', 'ipos')).toMatchObject({ code: 0, facts: { ...found, dryRun: false } });
    const published = ['c late reconcile', `d ${gone} reconcile`, `u ${silent} reconcile`];
    expect((await news()).sort()).toEqual(published);

    const many = keys.slice(30, 40);
    for (const key of many) store().remove(key);
    expect(await said('reconcile', 'ipos')).toMatchObject({
      code: 1,
      kind: 'done',
      facts: { deleted: 0, missing: 10, withheld: true },
    });
    // The operator asks the API for a few of them.
    const { code, summary } = await said('reconcile', 'ipos', '--dry-run');
    const ids = /Ids: (.*), …$/.exec(summary ?? '')?.[1]?.split(', ') ?? [];
    expect([code, ids.length, ids.filter((id) => !many.includes(id))]).toEqual([0, 5, []]);
    expect(await news()).toHaveLength(3);
    expect(await said('reconcile', 'ipos', '--allow-deletes', '10')).toMatchObject({
      code: 0,
      facts: { deleted: 10, missing: 0, withheld: false },
    });
    expect((await news()).slice(3).sort()).toEqual(many.map((key) => `d ${key} reconcile`).sort());
    expect((await images()).sort()).toEqual(store().keys().sort());
  }

  async function backfills(): Promise<void> {
    const keys = store().keys();
    addLate('older', keys[10]!);
    addLate('newer', keys[40]!);
    const dayOf = (key: string) =>
      new Date((store().get(key)!.updated as number) * 1_000).toISOString().slice(0, 10);
    const dates = ['--from', dayOf(keys[5]!), '--to', dayOf(keys[15]!)];
    expect(await said('backfill', 'ipos', ...dates)).toMatchObject({
      code: 0,
      kind: 'done',
      facts: { changes: 1, settled: true },
    });
    expect(await news()).toEqual(['r older backfill']);
  }

  async function retries(letters: readonly string[]): Promise<void> {
    const kept = async () =>
      jsonLines<{ raw: string }>((await done(['dead-letters', 'list', 'ipos', '--json'])).out)
        .map(({ raw }) => raw)
        .sort();
    expect(await kept()).toEqual([...letters].sort());
    expect(await said('dead-letters', 'retry', 'ipos')).toMatchObject({
      code: 0,
      facts: { retried: 1, published: 1, still: 1 },
    });
    expect(await news()).toEqual(['c revived poll']);
    expect(await kept()).toEqual([letters[1]]);
    expect(await images()).toContain('revived');
  }
  /** One letter that is a record by now, and one that is not. */
  async function leaveLetters(): Promise<string[]> {
    addLate('revived', store().keys()[0]!);
    const letters = [JSON.stringify(store().get('revived')), '{"name":"without id"}'];
    await publisher.owning('ipos', async (feed, owned) => {
      await leaveDeadLetters(feed, owned, ...letters.map((raw) => ({ raw })));
    });
    return letters;
  }

  describe('carried out by the publisher', () => {
    beforeEach(() => {
      by = 'accepted';
    });

    it('reconcile says what it would publish, publishes it, and deletes many only when that is allowed', async () => {
      await running();
      await reconciles();
    });

    it('backfill publishes what is unknown of its dates alone', async () => {
      await running();
      await backfills();
    });

    it('snapshot shows every record once more', async () => {
      await running();
      const before = await changes();
      expect(await said('snapshot', 'ipos')).toMatchObject({ code: 0, kind: 'done' });
      await until(async () => (await changes()).length >= 120);
      const again = (await changes()).slice(before.length);
      expect(again.sort()).toEqual(before.sort());
    });

    it('dead-letters retry publishes what is a record by now, and the list has the rest', async () => {
      await done(['run', '--once']);
      const letters = await leaveLetters();
      start(['run']);
      await stillPolled('ipos');
      await retries(letters);
    });

    it('reset begins a new incarnation, of which all records come as reads', async () => {
      await running();
      const { code, facts } = await said('reset', 'ipos', '--yes');
      expect({ code, records: facts.records }).toEqual({ code: 0, records: 60 });
      const anew = async () =>
        (await records('ipos')).filter(({ value }) => value!.source.incarnation === facts.incarnation);
      await until(async () => (await anew()).length >= 60);
      expect(new Set((await anew()).map(({ key, value }) => `${value!.op} ${key}`)).size).toBe(60);
      expect((await images()).sort()).toEqual(store().keys().sort());
    });
  });

  describe('carried out by the command alone', () => {
    beforeEach(async () => {
      by = 'acting';
      expect((await done(['run', '--once'])).code).toBe(0);
    });

    it('reconcile publishes what the publisher would', reconciles, 120_000);
    it('backfill publishes what the publisher would', backfills);
    it('dead-letters retry publishes what the publisher would', async () => retries(await leaveLetters()));
  });
}
