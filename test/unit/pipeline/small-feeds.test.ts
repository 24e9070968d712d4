import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import type { VendorShape } from '../../support/styled-vendor';

let publisher: StyledPublisher;

/** Each operation reads everything, and says so. */
async function isRead(what: 'poll' | 'wide poll' | 'reconcile'): Promise<unknown> {
  publisher.clock.ms += 20_000;
  const { last_complete_scan_ms } = publisher.offset();
  if (what === 'reconcile') return (await publisher.reconcile()).why;
  await publisher.poll({ wide: what === 'wide poll' });
  return publisher.offset().last_complete_scan_ms === last_complete_scan_ms ? 'not complete' : null;
}

const shapes: readonly Partial<VendorShape>[] = [
  { style: 'cursor' },
  { style: 'cursor', filter: false, order: 'id' },
  { style: 'link', order: 'newest', endsEmpty: true },
  { style: 'link', sized: false },
  { style: 'page', first: 'one, zero is the same' },
  { style: 'offset', pastEnd: 'refused' },
];
const cases = shapes.flatMap((shape) => [0, 1, 2, 3, 5, 10, 11].map((rows) => [rows, shape] as const));

it.each(cases)('a feed of %i records that come and go stays green: %j', async (rows, shape) => {
  publisher = await styledPublisher(shape, { pageSize: 10 });
  const { vendor, clock } = publisher;
  const write = (id: string) => vendor.write(id, clock.ms / 1_000 - 10);
  for (let i = 0; i < rows; i++) vendor.write(`r${i}`, NOW - 9_000 + i);
  const found: unknown[] = [];
  const readAll = async () => {
    for (const what of ['poll', 'wide poll', 'reconcile', 'poll', 'wide poll'] as const)
      found.push(await isRead(what));
    found.push(...publisher.unknown());
  };
  await publisher.poll();
  await readAll();
  write('new');
  await readAll();
  write('r0');
  write('newer');
  await readAll();
  vendor.rows.delete('new');
  await readAll();
  expect(found.filter((one) => one !== null)).toEqual([]);
  expect(publisher.owned().deps.state.recordCount).toBe(vendor.rows.size);
  expect(publisher.logger.warnings).toEqual([]);
});
