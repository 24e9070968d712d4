import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import type { VendorRow } from '../../support/styled-vendor';

/** An API whose places are times: the next page begins at the second of the last row. */
async function start(filter: boolean, rowsOfSeconds: readonly number[]): Promise<StyledPublisher> {
  const publisher = await styledPublisher({ style: 'cursor', filter }, { pageSize: 10 });
  const { vendor } = publisher;
  rowsOfSeconds.forEach((rows, second) => {
    for (let i = 0; i < rows; i++) vendor.write(`r${second}-${i}`, NOW - 9_000 + second);
  });
  vendor.shows = (page, { continuation = `{"since":${filter ? 'null' : 0}}`, updatedSince, pageSize }) => {
    const since = JSON.parse(continuation).since ?? updatedSince;
    const rows = [...vendor.rows.values()]
      .filter(({ updated }) => updated >= since)
      .sort((a, b) => a.updated - b.updated)
      .slice(0, Math.min(pageSize, publisher.shape.cap));
    const last: VendorRow | undefined = rows.at(-1);
    return { ...page, rows, next: JSON.stringify({ after: null, blanks: 0, since: last?.updated ?? since }) };
  };
  return publisher;
}

it.each([
  [true, 2],
  [false, 2],
  [true, 5],
  [false, 5],
])(
  'is read to its end (with a filter: %s), and %i rows of its last second do not stop it',
  async (filter, last) => {
    const publisher = await start(filter, [...Array(15).fill(1), 6, ...Array(14).fill(1), last]);
    await publisher.poll();
    expect([publisher.unknown(), publisher.offset().snapshot]).toEqual([[], 'complete']);
    await publisher.poll();
    publisher.vendor.rows.delete('r3-0');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    expect(publisher.logger.warnings).toEqual([]);
  },
);

it.each([
  [true, 15],
  [false, 15],
  [true, 9],
  [false, 9],
])(
  'is not taken as read if one second is wider than a page (with a filter: %s, behind %i rows)',
  async (filter, before) => {
    const publisher = await start(filter, [...Array(before).fill(1), 25, ...Array(5).fill(1)]);
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'SCAN_CURSOR_REPEATED' });
    expect(publisher.offset().snapshot).not.toBe('complete');
  },
);

it.each(
  [[1], [2], [9], [1, 1], [1, 3], [2, 2]].flatMap((rows) => [
    { rows, filter: true },
    { rows, filter: false },
  ]),
)('is read, too, if it has few rows: %j', async ({ rows, filter }) => {
  const publisher = await start(filter, rows);
  await publisher.poll();
  await publisher.poll();
  expect([publisher.unknown(), publisher.offset().snapshot]).toEqual([[], 'complete']);
  publisher.vendor.write('later', NOW - 100);
  await publisher.poll();
  publisher.vendor.rows.delete('r0-0');
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
  expect(publisher.logger.warnings).toEqual([]);
});

it.each([8, 10, 12, 16, 20].flatMap((cap) => [true, false].map((filter) => [cap, filter] as const)))(
  'is not taken as read if all rows are of one second that is wider than a page of %i rows (with a filter: %s)',
  async (cap, filter) => {
    const publisher = await start(filter, [25]);
    publisher.shape.cap = cap;
    await publisher.restart({ feed: { ...publisher.feed, pageSize: 1_000 } });
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'SCAN_CURSOR_REPEATED' });
  },
);

it.each([false, true])(
  'has a record deleted though its last page is the last of three ties alone (pages overlap: %s)',
  async (overlaps) => {
    const shape = { style: 'cursor', endless: true, endsInLast: true, overlaps } as const;
    const publisher = await styledPublisher(shape, { pageSize: 10 });
    for (let i = 0; i < 15; i++) publisher.vendor.write(`r${10 + i}`, NOW - 9_000 + Math.min(i, 12));
    await publisher.poll();
    publisher.vendor.rows.delete('r15');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    expect(publisher.logger.warnings).toEqual([]);
  },
);

/** Many rows were created in one second, and were updated since, each at another time. */
describe.each([{}, { filter: false }, { dated: false }])(
  'an API whose places are times of creation: %j',
  (traits) => {
    let publisher: StyledPublisher;
    let sizes: 'taken' | 'ignored';

    beforeEach(async () => {
      publisher = await styledPublisher({ style: 'cursor', ...traits }, { pageSize: 10, deleteShare: 1 });
      const { vendor } = publisher;
      const created = (id: string) => Math.min(Number(id.slice(1)), 15);
      for (let i = 0; i < 60; i++) vendor.write(`r${i}`, NOW - 9_000 + ((i * 37) % 100));
      vendor.shows = (page, { continuation = '{}', updatedSince, pageSize }) => {
        const since = JSON.parse(continuation).since ?? 0;
        const rows = [...vendor.rows.values()]
          .filter(({ id, updated }) => updated >= updatedSince && created(id) >= since)
          .slice(0, sizes === 'taken' ? pageSize : 10);
        const last = rows.length === 0 ? since : created(rows.at(-1)!.id);
        return { ...page, rows, next: JSON.stringify({ after: null, blanks: 0, since: last }) };
      };
    });

    it('is not taken as read if one of them is wider than a page', async () => {
      sizes = 'taken';
      await expect(publisher.poll()).rejects.toMatchObject({ code: 'SCAN_CURSOR_REPEATED' });
      await expect(publisher.reconcile()).rejects.toMatchObject({ code: 'SCAN_CURSOR_REPEATED' });
    });

    it('does not count as read if nothing shows that one of them is wider than a page', async () => {
      sizes = 'ignored';
      await publisher.poll();
      expect(publisher.offset().last_complete_scan_ms).toBe(null);
      expect(publisher.logger.warnings.join()).toMatch(/10 rows .* names itself as the next page/);
      expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    });
  },
);
