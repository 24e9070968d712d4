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
      .slice(0, pageSize);
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
