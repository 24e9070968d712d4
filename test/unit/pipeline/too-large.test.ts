import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { ProducerRecord } from '../../../src/log/commit-log';
import { reconciled } from '../../support/operations';
import { insight, ipo } from '../../support/records';
import { runs } from '../../support/runs';
import { type ScriptedPublisher, scriptedPublisher } from '../../support/scripted-publisher';

type Row = Record<string, unknown>;

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

function show(publisher: ScriptedPublisher, ...rows: Row[]) {
  publisher.vendor.rows = rows;
  return publisher.poll({ wide: true });
}

const events = (publisher: ScriptedPublisher) => publisher.topic(publisher.feed);
const changes = (publisher: ScriptedPublisher) =>
  events(publisher).map(({ source, op, after }) => `${source.seq} ${op} ${after.id}`);

function expectWithin(records: readonly ProducerRecord[], limit: number): void {
  for (const { key, value, headers } of records) {
    const texts = [key, ...Object.entries(headers).flat()];
    const bytes = value!.length + texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    expect(bytes).toBeLessThanOrEqual(limit);
  }
}

/** I3: each event begins where the one before it ended. */
function expectChained(publisher: ScriptedPublisher): void {
  const images = new Map<string, unknown>();
  for (const { before, after } of events(publisher)) {
    expect(before).toEqual(images.get(after.id) ?? null);
    images.set(after.id, after);
  }
  const { state, codec } = publisher.owned.deps;
  for (const [id, image] of images) expect(codec.image.decode(state.image(id)!).values).toEqual(image);
}

describe('a change that is too large for the log', () => {
  const LIMIT = 20_000;
  const small = ipo({ id: 'small', updated: 1000 });
  const large = ipo({ id: 'large', updated: 1001, notes: 'é'.repeat(30_000) });

  it('is kept as a dead letter, once, and the others are published without a gap', async () => {
    const publisher = await scriptedPublisher('ipos', LIMIT);
    const last = ipo({ id: 'last', updated: 1002 });
    await show(publisher, small, large, last);
    expect(changes(publisher)).toEqual(['1 c small', '2 c last']);
    const raw = JSON.stringify(large);
    const [letter] = publisher.topic('ipos.dead-letters');
    expect(letter).toMatchObject({ feed: 'ipos', sha256: sha256(raw), bytes: Buffer.byteLength(raw) });
    expect(letter!.reason).toMatch(/^the change is too large for the log: 6\d{4} bytes, and it takes 20000$/);
    expect(letter!.raw.length).toBeGreaterThan(5_000);
    expect(raw.startsWith(letter!.raw)).toBe(true);
    expectWithin(publisher.records(), LIMIT);
    expect(publisher.owned.deps.state.offset).toMatchObject({ seq: 2, record_count: 2 });
    expect(publisher.logger.warnings).toEqual([
      expect.stringMatching(
        /^Record large of feed ipos is not published, .*: 6\d{4} bytes, and it takes 20000\.$/,
      ),
    ]);

    const { length } = publisher.session.transactions;
    await show(publisher, small, large, last);
    expect(publisher.session.transactions).toHaveLength(length);
    expect(publisher.logger.warnings).toHaveLength(1);
    await show(publisher, small, { ...large, name: 'Another one' }, last);
    expect(publisher.topic('ipos.dead-letters')).toHaveLength(2);
  });

  it('leaves the image as published: what comes next goes on from there', async () => {
    const publisher = await scriptedPublisher('ipos', LIMIT);
    await show(publisher, { ...large, notes: 'short' });
    await show(publisher, { ...large, updated: 1002 });
    await show(publisher, { ...large, updated: 1003, notes: 'short again' });
    expect(changes(publisher)).toEqual(['1 c large', '2 u large']);
    expectChained(publisher);
    expect(publisher.topic('ipos.dead-letters')).toHaveLength(1);
  });

  it('is one of a small record whose transition tells of a large one', async () => {
    const limit = 200_000;
    const publisher = await scriptedPublisher('insights', limit);
    const call = (id: string, updated: number, rating: string) =>
      insight({ id, updated, rating, date: `2026-01-0${updated - 999}` });
    await show(publisher, call('first', 1000, 'x'.repeat(185_000)));
    await show(publisher, call('second', 1001, 'y'.repeat(15_000)));
    expect(changes(publisher)).toEqual(['1 c first']);
    await show(publisher, call('third', 1002, 'Buy'));
    expect(changes(publisher)).toEqual(['1 c first', '2 c third']);
    // The second never was the newest of its group.
    expect(
      publisher.topic('insights.rating-changes').map(({ previous_rating_id }) => previous_rating_id),
    ).toEqual([null, expect.anything()]);
    expect(publisher.topic('insights.rating-changes').at(-1)!.previous_rating).toHaveLength(185_000);
    expectWithin(publisher.records(), limit);
  });

  it('keeps the first 64 KB of its text, and no half of a character', async () => {
    for (const shift of [0, 1, 2, 3]) {
      const publisher = await scriptedPublisher('ipos', 300_000);
      const row = { ...large, name: 'x'.repeat(shift), notes: '😀'.repeat(100_000) };
      await show(publisher, row);
      const [{ raw }] = publisher.topic('ipos.dead-letters') as [Row & { raw: string }];
      expect(Buffer.byteLength(raw)).toBeGreaterThan(64 * 1024 - 4);
      expect(Buffer.byteLength(raw)).toBeLessThanOrEqual(64 * 1024);
      expect(JSON.stringify(row).startsWith(raw)).toBe(true);
      expect(raw.isWellFormed()).toBe(true);
    }
  });

  it('is a delete of a record that was published when the log took more: it is no delete that is done', async () => {
    const publisher = await scriptedPublisher('ipos', 200_000);
    const last = { ...small, id: 'last', updated: 1002 };
    await show(publisher, small, large, { ...small, id: 'other', updated: 1001 }, last);
    Object.assign(publisher.session, { maxRecordBytes: () => LIMIT });
    publisher.vendor.rows = [small, last];
    const { owned } = publisher;
    const reconcile = (dryRun: boolean) =>
      reconciled({ owned: () => owned, poll: publisher.poll }, owned.deps.feed, { dryRun, allowDeletes: 2 });
    const expected = { deleted: 1, missing: 1, why: 'too-large' };
    expect(await reconcile(true)).toMatchObject(expected);
    expect(publisher.topic('ipos.dead-letters')).toStrictEqual([]);
    expect(await reconcile(false)).toMatchObject(expected);
    expect(await reconcile(false)).toMatchObject({ deleted: 0, missing: 1, why: 'too-large' });

    expect(publisher.topic('ipos.dead-letters')).toMatchObject([
      { reason: expect.stringContaining('too large'), raw: expect.stringContaining('"large"') },
    ]);
    expect(publisher.owned.deps.state.image('large')).toBeDefined();
    expect(publisher.owned.deps.state.image('other')).toBeUndefined();
    expect(publisher.logger.warnings).toEqual([
      expect.stringContaining('Record large of feed ipos is not published'),
    ]);
  });

  it('is no concern of a log without a limit', async () => {
    const publisher = await scriptedPublisher('ipos');
    await show(publisher, { ...large, notes: 'x'.repeat(5_000_000) });
    expect(changes(publisher)).toEqual(['1 c large']);
  });

  it('never gets there, whatever sizes come (property)', async () => {
    const version = fc.record({
      id: fc.nat(4),
      seconds: fc.nat(2),
      notes: fc.constantFrom(0, 300, 900, 1200, 2500),
      members: fc.nat(30),
    });
    const property = fc.asyncProperty(
      fc.array(fc.array(version, { maxLength: 25 }), { maxLength: 4 }),
      async (polls) => {
        const limit = 4_000;
        const publisher = await scriptedPublisher('ipos', limit);
        let updated = 1000;
        for (const versions of polls) {
          const rows = versions.map(({ id, seconds, notes, members }) => {
            updated += seconds;
            const extra = Array.from({ length: members }, (_, i) => [`unknown_member_${i}`, updated]);
            return ipo({ id: `${id}`, updated, notes: 'n'.repeat(notes), ...Object.fromEntries(extra) });
          });
          await show(publisher, ...rows);
        }
        expectWithin(publisher.records(), limit);
        expectChained(publisher);
        const seqs = events(publisher).map(({ source }) => source.seq);
        expect(seqs).toEqual(seqs.map((_, i) => i + 1));
      },
    );
    await fc.assert(property, { numRuns: runs(8) });
  });
});

describe('a row that is no record', () => {
  const row = { name: 'No Id Inc', notes: 'ü'.repeat(40_000), updated: 1000 };
  const raw = JSON.stringify(row);

  it('is kept whole where the log takes it', async () => {
    const publisher = await scriptedPublisher('ipos', 200_000);
    await show(publisher, row);
    expect(publisher.topic('ipos.dead-letters')).toMatchObject([{ raw, sha256: sha256(raw) }]);
  });

  it('is cut where it is too large, its hash and size those of the whole', async () => {
    const limit = 50_000;
    const publisher = await scriptedPublisher('ipos', limit);
    await show(publisher, row);
    await show(publisher, row);
    const [letter, ...more] = publisher.topic('ipos.dead-letters');
    expect(more).toStrictEqual([]);
    expect(letter).toMatchObject({ sha256: sha256(raw), bytes: Buffer.byteLength(raw) });
    expect(raw.startsWith(letter!.raw)).toBe(true);
    expect(Buffer.byteLength(letter!.raw)).toBeGreaterThan(limit - 1_000);
    expectWithin(publisher.records(), limit);
  });
});
