import { HighwaterError } from '../../../src/errors';
import type { PageRequest } from '../../../src/source/source';
import { NOW, styledPublisher } from '../../support/styled-publisher';
import type { VendorShape } from '../../support/styled-vendor';

/** An API of 60 records, one in ten seconds. */
async function start(traits: Partial<VendorShape>, beforeAnswer: (request: PageRequest) => void) {
  const publisher = await styledPublisher(traits, { pageSize: 10 });
  const { vendor, clock } = publisher;
  for (let i = 0; i < 60; i++) vendor.write(`r${100 + i}`, NOW - 9_000 + i * 10);
  vendor.beforeAnswer = () => {
    clock.ms += 10;
    beforeAnswer(vendor.asked.at(-1)!);
  };
  await publisher.poll();
  return { vendor, publisher };
}

it.each(['page', 'offset', 'cursor', 'link'] as const)(
  'an API by %s that refuses other page sizes than 10 and 25 is read, and a record that is gone is deleted',
  async (style) => {
    const { vendor, publisher } = await start({ style }, ({ pageSize }) => {
      if (![10, 25].includes(pageSize))
        throw new HighwaterError('SOURCE_REQUEST_REFUSED', 'GET answered with "limit is 10 or 25".');
    });
    // A second of more rows than a page.
    for (let i = 0; i < 15; i++) vendor.write(`w${100 + i}`, NOW - 5_000);
    await publisher.poll({ wide: true });
    const before = vendor.asked.length;
    await publisher.reconcile();
    // Besides the filter, all pages are read.
    const climb = vendor.asked.slice(before).filter(({ updatedSince }) => updatedSince === 0);
    expect(climb.length).toBeGreaterThan(6);
    vendor.rows.delete('r120');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, missing: 0 });
    expect(publisher.logger.warnings).toStrictEqual([]);
  },
);

it.each(['page', 'cursor', 'link'] as const)(
  'an API by %s that ignores other page sizes, and hides rows where its pages meet, is not taken as read',
  async (style) => {
    const traits = { style, order: 'newest', ties: 'by page', linksNumbers: true } as const;
    const { vendor, publisher } = await start({ ...traits, otherSizes: 'ignored' }, () => {});
    vendor.rows.clear();
    for (let i = 0; i < 60; i++) vendor.write(`w${100 + i}`, NOW - 5_000 + Math.floor(i / 15));
    await publisher.poll();
    expect(publisher.unknown()).not.toEqual([]);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    expect(publisher.logger.warnings.join()).toContain('may stand in the place of others');
  },
);

it.each([
  ['page', 1],
  ['page', 4],
  ['cursor', 1],
  ['cursor', 4],
] as const)(
  'polls by %s do not use the page size of a reconcile, also after an error at its request %i cut it short',
  async (style, last) => {
    let isReconcile = false;
    let shorter = 0;
    const { vendor, publisher } = await start({ style }, ({ pageSize }) => {
      if (isReconcile && pageSize === 9 && ++shorter === last)
        throw new HighwaterError('SOURCE_UNAVAILABLE', 'GET answered with 503.');
    });
    const { page_size, longest_page } = publisher.offset();
    isReconcile = true;
    await expect(publisher.reconcile()).rejects.toThrow('503');
    expect(publisher.offset()).toMatchObject({ page_size, longest_page });
    const before = vendor.asked.length;
    await publisher.poll();
    expect(vendor.asked.slice(before)).toMatchObject([{ pageOffset: 0, pageSize: 10 }]);
  },
);

it('a reconcile reads all pages by numbers from 1, and then by the filter, with the usual page size', async () => {
  const { vendor, publisher } = await start({ style: 'page', first: 'one, zero is the same' }, () => {});
  const before = vendor.asked.length;
  await publisher.reconcile();
  const asked = vendor.asked.slice(before);
  const climb = asked.filter(({ pageSize }) => pageSize === 9);
  expect(climb.map(({ updatedSince }) => updatedSince)).toStrictEqual(climb.map(() => 0));
  expect(Math.max(...climb.map(({ pageOffset }) => pageOffset))).toBeGreaterThan(6);
  expect(asked.some(({ updatedSince, pageSize }) => updatedSince > 0 && pageSize === 10)).toBe(true);
});

it('a reconcile asks for pages as long as the API gives, also if the last poll had few rows', async () => {
  const { vendor, publisher } = await start({ style: 'page', cap: 8, order: 'id' }, () => {});
  for (const id of ['a', 'b', 'c']) vendor.write(id, NOW - 5);
  await publisher.poll();
  const before = vendor.asked.length;
  await publisher.reconcile();
  expect(Math.min(...vendor.asked.slice(before).map(({ pageSize }) => pageSize))).toBe(7);
});
