import type { FeedName } from '../../src/simulator/endpoints';
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator';
import type { Source } from '../../src/source/source';
import { testFeed } from '../support/feeds';
import { namedRows } from '../support/named-rows';
import { reconciled } from '../support/operations';
import { vendorSamples, writeAgain } from '../support/records';
import { type TestPublisher, testPublisher } from '../support/test-publisher';
import { world } from '../support/world';

let api: Simulator;
let source: Source;
let publisher: TestPublisher;

async function start(name: FeedName, vendor?: SimulatorOptions): Promise<void> {
  ({ api, source, publisher } = await world({ feed: testFeed(name), ...(vendor && { vendor }) }));
}

/** Writes a record again, or under another id, at the server's now. */
const write = (key: string, change: Record<string, unknown>) =>
  writeAgain(api.stores.ipos, key, { ...change });

const ops = async (topic: string) =>
  (await publisher.topic(topic)).map((event) => event.decoded!.op as string).join('');

describe('the vendor’s published records', () => {
  const sampleOf = (name: FeedName) => vendorSamples(name);

  it.each(['insights', 'analysts', 'ipos'] as const)(
    '%s: every field arrives as documented',
    async (name) => {
      await start(name);
      for (const sample of sampleOf(name))
        api.stores[name].upsert(sample as never, { updated: sample.updated as number });
      await publisher.poll();
      const events = await publisher.topic(name);
      expect(events).toHaveLength(sampleOf(name).length);
      for (const sample of sampleOf(name)) {
        const { after } = events.find((event) => event.key === sample.id)!.decoded!;
        expect(after).toEqual(name === 'ipos' ? { ...mappedIpo, extra: {} } : documented(sample));
      }
    },
  );

  /** The sample as the specification and the contract want it, spelled out. */
  const mappedIpo = {
    currency: 'USD',
    date: '2026',
    deal_status: 'Withdrawn',
    description: null,
    exchange: 'NASDAQ',
    id: '604b6d8a36622a000186b793',
    initial_filing_date: null,
    insider_lockup_date: null,
    insider_lockup_days: 180,
    ipo_type: 'SPAC Unit',
    last_yr_income: null,
    last_yr_income_year: null,
    last_yr_revenue: null,
    last_yr_revenue_year: null,
    lead_underwriters: ['Citigroup', 'JP Morgan'],
    market_cap_at_offer: null,
    name: 'SEP Growth Holdings Corp',
    notes: null,
    offering_shares: 25000000,
    offering_shares_ord_adr: 0,
    offering_value: null,
    open_date_verified: false,
    ord_shares_out_after_offer: null,
    other_underwriters: [],
    price_max: null,
    price_min: null,
    price_open: null,
    price_public_offering: '10.000',
    pricing_date: null,
    pricing_date_verified: false,
    sec_accession_number: null,
    sec_filing_url: null,
    shares_outstanding: null,
    sic: null,
    spac_converted_to_target: false,
    state_location: null,
    ticker: 'SEPGU',
    time: '08:32:58',
    underwriter_quiet_expiration_date: null,
    underwriter_quiet_expiration_days: 0,
    updated: 1767600431,
  };

  /** Insights and analysts are published unchanged, except for names that Avro cannot hold. */
  function documented(sample: Record<string, unknown>): Record<string, unknown> {
    if (typeof sample.ratings_accuracy !== 'object') return { ...sample, extra: {} };
    const accuracy = Object.entries(sample.ratings_accuracy as object).map(([k, v]) => [
      /^\d/.test(k) ? `_${k}` : k,
      v,
    ]);
    return { ...sample, ratings_accuracy: Object.fromEntries(accuracy), extra: {} };
  }
});

describe('a poll', () => {
  it('publishes reads in the first snapshot, then creates, updates and nothing else', async () => {
    await start('ipos', { records: { ipos: 40 } });
    await publisher.poll();
    expect(await ops('ipos')).toBe('r'.repeat(40));
    const [first, second, third] = [...api.truth('ipos').values()];
    write(first!.id as string, { name: 'Renamed' });
    write(second!.id as string, { id: 'brand-new' });
    api.stores.ipos.touch(third!.id as string);
    await publisher.poll();
    await publisher.poll();
    const events = (await publisher.topic('ipos')).slice(40);
    expect(events.map(({ decoded }) => [decoded!.op, decoded!.changed_fields]).sort()).toEqual([
      ['c', []],
      ['u', ['name']],
    ]);
    expect(await publisher.sourceOffset()).toMatchObject({ seq: 42, record_count: 41, snapshot: 'complete' });
  });

  it('puts images, counts and transitions beside the events', async () => {
    await start('ipos', { records: { ipos: 10 } });
    await publisher.poll();
    const [first] = [...api.truth('ipos').values()];
    write(first!.id as string, { deal_status: 'Withdrawn' });
    await publisher.poll();
    const event = (await publisher.topic('ipos')).at(-1)!;
    const image = (await publisher.topic('ipos.current')).find((record) => record.key === first!.id)!;
    expect(image.headers).toEqual({
      event_id: event.decoded!.event_id,
      seq: '11',
      incarnation: event.decoded!.source.incarnation,
    });
    expect(image.decoded).toEqual(event.decoded!.after);
    expect(image.partition).toBe(event.partition);
    const [transition] = await publisher.topic('ipos.deal-status');
    expect(transition!.decoded).toMatchObject({
      caused_by: event.decoded!.event_id,
      status: 'Withdrawn',
      previous_status: first!.deal_status,
    });
    const { partition_counts } = await publisher.sourceOffset();
    expect(partition_counts.reduce((a: number, b: number) => a + b)).toBe(10);
  });

  it('continues after a restart: publishes nothing twice, and takes each before from the log', async () => {
    await start('ipos', { records: { ipos: 25 } });
    await publisher.poll();
    await publisher.restart();
    await publisher.poll({ wide: true });
    expect(await ops('ipos')).toBe('r'.repeat(25));
    const [first] = [...api.truth('ipos').values()];
    write(first!.id as string, { notes: 'changed' });
    await publisher.restart();
    await publisher.poll();
    const { decoded } = (await publisher.topic('ipos')).at(-1)!;
    expect(decoded).toMatchObject({
      op: 'u',
      changed_fields: ['notes'],
      before: { notes: first!.notes || null },
    });
  });

  it('keeps a row that is not a record as a dead letter, once, and goes on', async () => {
    await start('ipos', { records: { ipos: 5 } });
    api.behave({ drift: { withoutId: 1 } }, 'ipos');
    api.stores.ipos.upsert({ name: 'No Id Inc' } as never, { key: 'nameless' });
    api.behave({ drift: { withoutId: 0 } }, 'ipos');
    await publisher.poll();
    await publisher.poll();
    await publisher.restart();
    await publisher.poll({ wide: true });
    const letters = await publisher.topic('ipos.dead-letters');
    expect(letters).toHaveLength(1);
    // The topic keeps the latest of a key: that none was written twice shows in its position.
    expect(letters[0]!.logOffset).toBe(0);
    expect(letters[0]!.decoded).toMatchObject({
      feed: 'ipos',
      reason: 'the record has no usable id (missing)',
    });
    expect(JSON.parse(letters[0]!.decoded!.raw)).toMatchObject({ name: 'No Id Inc' });
    expect(letters[0]!.key).toBe(letters[0]!.decoded!.sha256);
    expect(await ops('ipos')).toBe('rrrrr');
  });

  it('does not believe one answer that is older than what it knows, but two that agree', async () => {
    await start('ipos', { records: { ipos: 3 } });
    const [id] = api.truth('ipos').keys();
    const now = Math.floor(Date.now() / 1000);
    const rename = (name: string, updated: number) =>
      api.stores.ipos.upsert({ ...api.stores.ipos.get(id!)!, name, updated } as never);
    rename('Newer', now - 1);
    await publisher.poll();
    rename('Newest', now);
    await publisher.poll();
    api.fault({ fault: { kind: 'stale', writes: 1 }, feed: 'ipos', times: 1 } as never);
    await publisher.poll();
    expect(await ops('ipos')).toBe('rrru');
    rename('Back again', now - 2);
    await publisher.poll();
    expect((await publisher.topic('ipos')).at(-1)!.decoded).toMatchObject({
      op: 'u',
      after: { name: 'Back again', updated: now - 2 },
    });
  });

  it('stays where it was when a page fails, and publishes it later', async () => {
    await start('ipos', { records: { ipos: 3000 } });
    await publisher.poll();
    const before = await publisher.sourceOffset();
    for (const key of api.stores.ipos.keys().slice(0, 50)) write(key, { notes: 'x' });
    api.fault({ fault: { kind: 'status', status: 500 }, times: 50 } as never);
    await expect(publisher.poll()).rejects.toMatchObject({ code: expect.stringMatching(/^SOURCE_/) });
    expect(await publisher.sourceOffset()).toEqual(before);
    api.clearFaults();
    expect((await publisher.poll()).changes).toBe(50);
  });

  it('reads all again when the scope changes: reads and updates, no deletes', async () => {
    await start('ipos', { records: { ipos: 30 } });
    await publisher.poll();
    const keys = [...api.truth('ipos').keys()];
    const query = { 'parameters[tickers]': api.truth('ipos').get(keys[0]!)!.ticker as string };
    await publisher.restart({ feed: testFeed('ipos', { query }), scope: 'narrow' });
    await publisher.poll();
    expect(await ops('ipos')).toBe('r'.repeat(31));
    const { updated, ...rest } = api.stores.ipos.get(keys[1]!)!;
    // Long ago, as far as the other scope's mark goes.
    const change = { ...rest, notes: 'while it was out of sight', updated: (updated as number) + 1 };
    api.stores.ipos.upsert(change as never);
    await publisher.restart({ feed: testFeed('ipos'), scope: 'scope' });
    await publisher.poll();
    const all = await ops('ipos');
    expect([...all.slice(31)].sort().join('')).toBe(`${'r'.repeat(29)}u`);
  });

  it.each(['initial', 'never'] as const)(
    'shows every record to the readers of another topic, unless the feed never has snapshots (snapshotMode: %s)',
    async (snapshotMode) => {
      await start('ipos', { records: { ipos: 30 } });
      await publisher.poll();
      const keys = [...api.truth('ipos').keys()];
      write(keys[0]!, { notes: 'while it was not polled' });
      api.stores.ipos.remove(keys[1]!);
      const feed = testFeed('ipos', { topic: 'ipos-v2', snapshotMode });
      for (let i = 0; i < 2; i++) {
        await publisher.restart({ feed });
        await publisher.poll({ wide: true });
      }
      expect(await ops('ipos')).toBe('r'.repeat(30));
      const all = [...(await ops('ipos-v2'))].sort().join('');
      expect(all).toBe(snapshotMode === 'never' ? 'u' : `${'r'.repeat(28)}u`);
      expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 1 });
    },
  );

  it('commits idle polls only now and then', async () => {
    await start('ipos', { records: { ipos: 30 } });
    publisher = await testPublisher(testFeed('ipos', { pollIntervalMs: 60_000 }), source);
    await publisher.poll();
    const { commit } = await publisher.sourceOffset();
    for (let i = 0; i < 5; i++) await publisher.poll();
    expect((await publisher.sourceOffset()).commit).toBe(commit);
  });
});

describe('the poll interval of the publisher', () => {
  const every = (pollIntervalMs: number) => testFeed('ipos', { pollIntervalMs });

  it('is stored with every transaction, and another one with the next poll, though nothing changed', async () => {
    await start('ipos', { records: { ipos: 3 } });
    await publisher.restart({ feed: every(3_600_000) });
    await publisher.poll();
    const first = await publisher.sourceOffset();
    expect(first.poll_interval_ms).toBe(3_600_000);
    // An idle poll within the interval commits nothing.
    await publisher.poll();
    expect((await publisher.sourceOffset()).commit).toBe(first.commit);

    await publisher.restart({ feed: every(7_200_000) });
    await publisher.poll();
    expect(await publisher.sourceOffset()).toMatchObject({
      poll_interval_ms: 7_200_000,
      commit: first.commit + 1,
      seq: first.seq,
    });
  });
});

describe('a damaged log', () => {
  it.each(
    namedRows({
      'an image is missing': [
        "DELETE FROM records WHERE rowid = (SELECT max(rowid) FROM records WHERE topic = 'ipos.current')",
        'but the source offset of feed ipos counts 10',
      ],
      'the source offset is missing': [
        "DELETE FROM records WHERE topic = 'ipos.source-offset'",
        'there is no source offset',
      ],
      'an image is of another life': [
        `UPDATE records SET headers = '{"incarnation":"other"}' WHERE topic = 'ipos.current' AND offset = 0`,
        'incarnation other',
      ],
      'an image is not in the wire format': [
        "UPDATE records SET value = x'00' WHERE topic = 'ipos.current' AND offset = 0",
        'that highwater did not write: it is not in the Confluent wire format: 1 bytes',
      ],
      'the source offset is not in the wire format': [
        "UPDATE records SET value = x'0102030405' WHERE topic = 'ipos.source-offset'",
        'first byte 1',
      ],
    }),
  )('is refused: %s', async (_name, sql, message) => {
    await start('ipos', { records: { ipos: 10 } });
    await publisher.poll();
    publisher.damage(sql);
    await expect(publisher.restart()).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      message: expect.stringContaining(message),
    });
  });
});
