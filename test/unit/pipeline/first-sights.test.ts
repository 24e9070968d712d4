import { FirstSights } from '../../../src/pipeline/changes/first-sights';
import { NOW_MS, NOW as PRESENT, styledPublisher } from '../../support/styled-publisher';
import type { VendorRow } from '../../support/styled-vendor';

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;
const note = (sights: FirstSights, id: string, nowMs: number, updated: number | null = null) =>
  sights.note({ id, op: 'c', before: null }, updated, nowMs);

it('a record is recent for a quarter of an hour, and all are in which another owner may have found them', () => {
  const sights = new FirstSights(NOW);
  expect(sights.isRecent('a', NOW + 14 * MINUTE)).toBe(true);
  note(sights, 'b', NOW + 10 * MINUTE);
  const recent = (minutes: number) => ['a', 'b'].filter((id) => sights.isRecent(id, NOW + minutes * MINUTE));
  expect([recent(14), recent(15), recent(24), recent(25)]).toEqual([['a', 'b'], ['b'], ['b'], []]);
});

it('a record with a time is recent only if that was old when it was first seen', () => {
  const sights = new FirstSights(0);
  note(sights, 'new', NOW, NOW / 1_000 - 60);
  note(sights, 'late', NOW, NOW / 1_000 - 3_600);
  sights.note({ id: 'read', op: 'r', before: null }, NOW / 1_000 - 3_600, NOW);
  expect(['new', 'late', 'read'].filter((id) => sights.isRecent(id, NOW + MINUTE))).toEqual(['late']);
});

afterEach(() => jest.restoreAllMocks());

describe('how old the youngest change is', () => {
  const pollMs = 10_000;
  /** What a run tells after pages with changes of these ages. */
  const toldBy = (toldMs: number, ...ages: readonly number[]) => {
    const sights = new FirstSights(NOW);
    for (const age of ages) sights.noteChanges([(NOW - age) / 1_000], NOW);
    return [sights.leastAgeMs(pollMs, toldMs), sights.pauseMs(pollMs, toldMs)];
  };

  it('is as an earlier run has told, until this one tells', () => {
    expect(toldBy(61_000)).toEqual([61_000, 610_000]);
    expect(toldBy(61_000, 70_000, 65_000)).toEqual([61_000, 610_000]);
    expect(toldBy(61_000, 70_000, 65_000, 66_000)).toEqual([65_000, 650_000]);
    expect(toldBy(400)).toEqual([400, pollMs]);
  });

  it('does not stay as it was told wrongly', () => {
    expect(toldBy(61_000, ...Array(7).fill(0))).toEqual([61_000, 610_000]);
    expect(toldBy(61_000, ...Array(8).fill(0))).toEqual([1, pollMs]);
    expect(toldBy(61_000, ...Array(16).fill(20 * MINUTE))).toEqual([20 * MINUTE, pollMs]);
  });

  it('is not told by a few pages of what came while nobody polled', () => {
    expect(toldBy(61_000, ...Array(15).fill(20 * MINUTE))).toEqual([61_000, 610_000]);
    expect(toldBy(0, ...Array(15).fill(20 * MINUTE))).toEqual([0, pollMs]);
    expect(toldBy(0)).toEqual([0, 3 * pollMs]);
  });
});

it('needs no memory for every record: of too many, all are recent', () => {
  const sights = new FirstSights(0);
  for (let i = 0; i < 10_000; i++) note(sights, `old${i}`, NOW);
  note(sights, 'new', NOW + 20 * MINUTE);
  const isRecent = (id: string) => sights.isRecent(id, NOW + 20 * MINUTE);
  expect([isRecent('old1'), isRecent('new'), isRecent('other')]).toEqual([false, true, false]);
  for (let i = 0; i < 10_000; i++) note(sights, `new${i}`, NOW + 21 * MINUTE);
  expect([isRecent('old1'), isRecent('new'), isRecent('other')]).toEqual([true, true, true]);
});

it('a record that came with an old time is not deleted while a server that lags does not show it', async () => {
  jest.spyOn(Date, 'now').mockReturnValue(NOW_MS);
  const { vendor, poll, reconcile, unknown, offset } = await styledPublisher(
    { order: 'id' },
    { pageSize: 100 },
  );
  for (let i = 0; i < 50; i++) vendor.write(`r${i}`, PRESENT - 9_000 + i);
  await poll();
  vendor.write('late', PRESENT - 8_975);
  await reconcile();
  expect([unknown(), offset().record_count]).toEqual([[], 51]);
  vendor.shows = (page) => ({ ...page, rows: page.rows.filter((row) => (row as VendorRow).id !== 'late') });
  expect(await reconcile()).toMatchObject({ deleted: 0, missing: 1, why: 'not-proved' });
});
