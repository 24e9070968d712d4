import { reconciled } from '../../support/operations';
import { NOW, NOW_MS, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import { refuseCursor, type VendorShape } from '../../support/styled-vendor';

/** An API comes to name the next page by another member, or names none though it says that there is one. */
let publisher: StyledPublisher;
let saysMore: boolean;
/** Pages behind the second one are answers without a list. */
let isVague: boolean;

async function start(traits: Partial<VendorShape>, rows = 104, pageSize = 100): Promise<void> {
  saysMore = false;
  isVague = false;
  publisher = await styledPublisher({ order: 'id', filter: false, cap: pageSize, ...traits }, { pageSize });
  for (let i = 0; i < rows; i++) write(`r${String(i).padStart(3, '0')}`, NOW - 9_000 + ((i * 37) % rows));
  publisher.vendor.shows = (page, { pageOffset, continuation = 'null' }) => {
    const n = JSON.parse(continuation)?.page ?? (traits.style === 'offset' ? pageOffset / 99 : pageOffset);
    if (isVague && n >= 2) return { ...page, rows: [], next: null, isVague };
    return saysMore && page.next === null ? { ...page, isLast: false } : page;
  };
}

const write = (id: string, updated: number) => publisher.vendor.write(id, updated);
const warnings = () => publisher.logger.warnings.join('\n');
const ops = async () => (await publisher.topic('ipos')).map(({ decoded }) => decoded!.op);

describe.each<Partial<VendorShape>>([
  { style: 'cursor' },
  { style: 'cursor', sized: false },
  { style: 'link' },
  { style: 'link', sized: false },
])('an API that pages by %j and comes to name no next page', (traits) => {
  it('has no live record deleted, does not count as read, and is read as soon as it names it again', async () => {
    await start(traits);
    await publisher.poll();
    const { last_complete_scan_ms } = publisher.offset();
    publisher.shape.isNextLost = true;
    write('r103', NOW - 1);
    await publisher.restart();
    await publisher.poll();
    const { last_error } = publisher.offset();
    expect(last_error).toMatch(/^POLL_NOT_COUNTED: an answer of 100 rows names no next page/);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    expect(publisher.offset().last_error).toBe(last_error);
    expect(publisher.offset().last_complete_scan_ms).toBe(last_complete_scan_ms);
    expect(warnings()).toMatch(/an answer of 100 rows names no next page, .* nothing of it is deleted/);
    publisher.shape.isNextLost = false;
    await publisher.poll();
    expect(publisher.offset().last_error).toBeNull();
    expect((await ops()).slice(104)).toEqual(['u']);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 0, why: null });
  });

  it('that shows less than half of the records is said to name no next page, not to show too few', async () => {
    await start(traits, 250);
    await publisher.poll();
    publisher.shape.isNextLost = true;
    await publisher.restart();
    await publisher.poll();
    expect(publisher.offset().last_error).toMatch(
      /^POLL_NOT_COUNTED: an answer of 100 rows names no next page/,
    );
  });

  it('has a record deleted that is gone, while the others are on two pages, or on one', async () => {
    await start(traits);
    await publisher.poll();
    publisher.vendor.rows.delete('r050');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    for (const id of ['r000', 'r001', 'r002', 'r003']) publisher.vendor.rows.delete(id);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 4, why: null });
    expect(warnings()).toBe('');
  });
});

it.each(['cursor', 'link'] as const)(
  'no live record is deleted if an API that pages by %s shortens its pages as well',
  async (style) => {
    await start({ style });
    await publisher.poll();
    Object.assign(publisher.shape, { isNextLost: true, cap: 40 });
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    expect(warnings()).toContain('an answer of 40 rows names no next page');
  },
);

it.each(['cursor', 'link'] as const)(
  'no live record is deleted behind a page that names no next one, though pages without rows come before it: %s',
  async (style) => {
    await start({ style, blanks: 2, beginsBlank: true });
    await publisher.poll();
    publisher.vendor.shows = (page) => (page.rows.length > 0 ? { ...page, next: null } : page);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    expect(warnings()).toContain('an answer of 100 rows names no next page');
  },
);

describe.each<Partial<VendorShape>>([
  { style: 'cursor', sized: false },
  { style: 'cursor', otherSizes: 'ignored' },
  { style: 'link', sized: false },
])('an API %j whose last page says that it is the last', (traits) => {
  it.each([251, 51])(
    'is read, and has a record deleted that is gone, as whole pages of %i rows are left',
    async (rows) => {
      await start({ ...traits, saysEnd: true }, rows, 50);
      await publisher.poll();
      const { last_complete_scan_ms } = publisher.offset();
      publisher.vendor.rows.delete('r020');
      await publisher.restart();
      await publisher.poll();
      expect(publisher.offset()).toMatchObject({ last_error: null, last_complete_scan_ms: NOW_MS });
      expect(last_complete_scan_ms).toBe(NOW_MS);
      expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
      expect(warnings()).toBe('');
    },
  );

  it.each([
    [300, 100],
    [300, 50],
  ])(
    'is read, but has no record deleted while %i rows stay that many on pages of %i',
    async (rows, pageSize) => {
      await start({ ...traits, saysEnd: true }, rows, pageSize);
      await publisher.poll();
      publisher.vendor.rows.delete('r020');
      write('new', NOW - 1);
      await publisher.poll();
      expect(publisher.offset()).toMatchObject({ last_error: null, last_complete_scan_ms: NOW_MS });
      expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 1, why: 'round-number' });
      write('another', NOW - 1);
      await publisher.poll();
      expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    },
  );

  it('is read after a start, but has no record deleted, as the last full page is left', async () => {
    await start({ ...traits, saysEnd: true }, 101, 100);
    await publisher.poll();
    publisher.vendor.rows.delete('r020');
    const feed = { ...publisher.feed };
    await publisher.restart({ feed });
    await publisher.poll();
    expect(publisher.offset()).toMatchObject({ last_error: null, last_complete_scan_ms: NOW_MS });
    expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 0, missing: 1, why: 'round-number' });
  });

  it('has no live record deleted as rows move behind its last page', async () => {
    await start({ ...traits, saysEnd: true, order: 'newest', says: 'more to depth', depth: 250 }, 250, 50);
    await publisher.poll();
    for (const id of ['new1', 'new2']) write(id, NOW - 1);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 2, why: 'round-number' });
  });

  it('is doubted if more records are missing than are deleted unasked', async () => {
    await start({ ...traits, saysEnd: true }, 60, 50);
    Object.assign(publisher.feed, { deleteShare: 0.05 });
    await publisher.poll();
    for (let i = 0; i < 10; i++) publisher.vendor.rows.delete(`r00${i}`);
    await publisher.poll();
    expect(publisher.offset().last_error).toMatch(/^POLL_NOT_COUNTED: an answer of 50 rows/);
  });

  it('is doubted as before once it names no next page and does not say so', async () => {
    await start({ ...traits, saysEnd: true }, 51, 50);
    await publisher.poll();
    publisher.shape.isNextLost = true;
    await publisher.poll();
    expect(publisher.offset().last_error).toMatch(
      /^POLL_NOT_COUNTED: an answer of 50 rows names no next page/,
    );
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
  });
});

it('whole pages that are left by a delete are no limit if pages of another length show as many rows', async () => {
  await start({ saysEnd: true }, 251, 50);
  await publisher.poll();
  publisher.vendor.rows.delete('r020');
  const feed = { ...publisher.feed };
  await publisher.restart({ feed });
  expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 1, why: null });
  expect(warnings()).toBe('');
});

it.each([1, 40])(
  'a feed of which %i records are left counts as read, even if the size of a page is ignored',
  async (left) => {
    await start({});
    await publisher.poll();
    for (const id of [...publisher.vendor.rows.keys()].slice(left)) publisher.vendor.rows.delete(id);
    await publisher.poll();
    publisher.shape.sized = false;
    await publisher.restart();
    await publisher.poll();
    expect(warnings()).not.toContain('names no next page');
  },
);

it('a last page that is longer than was asked for is not doubted, if it is shorter than others', async () => {
  await start({ sized: false }, 0);
  const { parameters } = publisher.feed;
  const feed = { ...publisher.feed, pageSize: 10, parameters: { ...parameters, pageSize: 'limit' } };
  await publisher.restart({ feed });
  for (let i = 0; i < 150; i++) write(`r${i}`, NOW - 9_000 + i);
  await publisher.poll();
  publisher.vendor.rows.delete('r5');
  await publisher.poll();
  expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 1, why: null });
  expect(warnings()).toBe('');
});

it('changes behind a page that names no next one are published later, if rows come newest first', async () => {
  await start({ order: 'newest', filter: true, sized: false });
  await publisher.poll();
  for (const id of [...publisher.vendor.rows.keys()].slice(0, 102))
    write(id, NOW - 100 + (Number(id.slice(1)) % 50));
  publisher.shape.isNextLost = true;
  await publisher.poll();
  expect(warnings()).toContain('names no next page');
  publisher.shape.isNextLost = false;
  await publisher.poll();
  expect((await ops()).filter((op) => op === 'u')).toHaveLength(102);
});

it('a poll in order goes on behind the last row of a full page that names no next one', async () => {
  await start({ order: 'updated', filter: true });
  await publisher.poll();
  publisher.shape.isNextLost = true;
  for (const [i, id] of [...publisher.vendor.rows.keys()].slice(0, 102).entries()) write(id, NOW - 300 + i);
  await publisher.poll();
  expect((await ops()).filter((op) => op === 'u')).toHaveLength(102);
});

it('a poll in order does not move on from a full page of one second that names no next one', async () => {
  await start({ order: 'updated', filter: true, sized: false });
  await publisher.poll();
  publisher.shape.isNextLost = true;
  for (const id of [...publisher.vendor.rows.keys()].slice(0, 102)) write(id, NOW - 300);
  await publisher.poll();
  expect(warnings()).toContain('names no next page');
  publisher.shape.isNextLost = false;
  await publisher.poll();
  expect((await ops()).filter((op) => op === 'u')).toHaveLength(102);
});

it('a first snapshot does not end at a page that names no next one, if a smaller page names none either', async () => {
  await start({ isNextLost: true });
  await publisher.poll();
  expect(publisher.offset().snapshot).toBe('running');
  expect(warnings()).toContain('names no next page');
});

it('a first snapshot does not end at an answer that says that more rows follow, and names no next page', async () => {
  await start({ isNextLost: true, sized: false });
  saysMore = true;
  await publisher.poll();
  expect(publisher.offset().snapshot).toBe('running');
  saysMore = false;
  publisher.shape.isNextLost = false;
  await publisher.poll();
  expect([publisher.offset().snapshot, publisher.offset().record_count]).toEqual(['complete', 104]);
});

it('rows that come twice do not make up for records behind a page that names no next one', async () => {
  await start({ sized: false, beside: 'namesakes' }, 95);
  await publisher.poll();
  publisher.shape.isNextLost = true;
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
});

it('is read, too, if it knows only a few page sizes', async () => {
  await start({}, 50);
  publisher.vendor.beforeAnswer = () => {
    if (![100, 50, 25].includes(publisher.vendor.asked.at(-1)!.pageSize))
      refuseCursor('SOURCE_REQUEST_REFUSED');
  };
  await publisher.poll();
  expect([publisher.offset().snapshot, publisher.offset().record_count, warnings()]).toEqual([
    'complete',
    50,
    '',
  ]);
});

it('a feed of one page is asked once more only while it shows fewer records than are known', async () => {
  await start({}, 50);
  await publisher.poll();
  const asked = async () => {
    const before = publisher.vendor.asked.length;
    await publisher.poll();
    return publisher.vendor.asked.length - before;
  };
  expect(await asked()).toBe(1);
  publisher.vendor.rows.delete('r010');
  write('new', NOW - 5);
  await publisher.poll();
  expect(await asked()).toBe(2);
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1 });
  expect(await asked()).toBe(1);
  expect(warnings()).toBe('');
});

it.each(['cursor', 'link'] as const)(
  'a batch of one second that fills the last page exactly is read, whether or not a %s API lets pages be shorter',
  async (style) => {
    for (const sized of [true, false]) {
      await start({ style, sized, order: 'updated', filter: true }, 250);
      await publisher.poll();
      for (const id of [...publisher.vendor.rows.keys()].slice(0, 100)) write(id, NOW - 1);
      await publisher.poll();
      const { last_complete_scan_ms } = publisher.offset();
      await publisher.poll({ wide: true });
      expect((await ops()).filter((op) => op === 'u')).toHaveLength(100);
      expect([warnings(), last_complete_scan_ms]).toEqual(['', NOW * 1000]);
      publisher.shape.isNextLost = true;
      await publisher.poll({ wide: true });
      expect(warnings()).toMatch(/an answer of 100 rows names no next page/);
    }
  },
);

describe.each(['cursor', 'link'] as const)('an API that pages by %s', (style) => {
  it.each([true, false])('and ends behind 300 rows has no live record deleted (sizes: %s)', async (sized) => {
    await start({ style, sized }, 304);
    await publisher.poll();
    publisher.shape.depth = 300;
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    expect(warnings()).toMatch(/an answer of 100 rows names no next page, .* nothing of it is deleted/);
    publisher.shape.depth = Number.POSITIVE_INFINITY;
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 0, why: null });
  });

  it('has a record deleted that is gone, though the last page is full by now', async () => {
    await start({ style }, 301);
    await publisher.poll();
    publisher.vendor.rows.delete('r150');
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    expect(warnings()).toBe('');
  });

  it('has no record deleted while a round number of rows comes, which may be its limit', async () => {
    await start({ style }, 1_002);
    await publisher.poll();
    for (const id of ['r150', 'r151']) publisher.vendor.rows.delete(id);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    publisher.vendor.rows.delete('r152');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 3, why: null });
  });

  it('and shows only 300 rows of a second keeps the mark in front of it', async () => {
    await start({ style, order: 'updated', filter: true }, 400);
    await publisher.poll();
    for (const id of [...publisher.vendor.rows.keys()].slice(0, 304)) write(id, NOW - 300);
    publisher.shape.depth = 300;
    await publisher.poll();
    expect(warnings()).toContain('names no next page');
    publisher.shape.depth = Number.POSITIVE_INFINITY;
    await publisher.poll();
    expect((await ops()).filter((op) => op === 'u')).toHaveLength(304);
  });
});

it.each(['page', 'cursor'] as const)(
  'no live record is deleted if an API that pages by %s shows only 1,000 rows of a second',
  async (style) => {
    await start({ style, order: 'updated', filter: true }, 1_200);
    await publisher.poll();
    for (const id of [...publisher.vendor.rows.keys()].slice(0, 1_020)) write(id, NOW - 300);
    const hidden = [...publisher.vendor.rows.values()]
      .filter(({ updated }) => updated === NOW - 300)
      .slice(1_000);
    for (const { id } of hidden) publisher.vendor.rows.delete(id);
    expect(warnings()).toBe('');
    await publisher.poll();
    expect(warnings()).toContain('the API ended behind exactly 1000 rows');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 20, why: 'round-number' });
    // With a later row behind them, the second has no more rows.
    write('later', NOW - 200);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 20, why: null });
  },
);

it.each(
  (['page', 'offset'] as const).flatMap((style) => [
    { style, order: 'newest', filter: true },
    { style, order: 'id', filter: true, sized: false },
    { style, order: 'id', filter: false },
  ]) as Partial<VendorShape>[],
)('no live record is deleted if an API %j comes to end behind 1,000 rows', async (traits) => {
  await start(traits, 1_200);
  await publisher.poll();
  publisher.shape.depth = 1_000;
  await publisher.restart();
  await publisher.poll();
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'round-number' });
  expect(warnings()).toContain('the API ended behind exactly 1000 rows');
});

/** As records are written, other rows move behind the limit. */
async function deletesNothingBehind(limit: number, written: readonly string[]): Promise<void> {
  for (const id of written) {
    write(id, NOW - 20);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0 });
  }
  await publisher.restart();
  await publisher.poll();
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'round-number' });
  expect(warnings()).toContain(`the API ended behind exactly ${limit} rows`);
}

describe.each([
  ...(['cursor', 'link'] as const).map((style) => ({ style, says: 'more to depth' }) as const),
  ...(['page', 'offset'] as const).map((style) => ({ style, says: 'total to depth' }) as const),
  { style: 'cursor', endsEmpty: true, says: 'more to depth' },
  { style: 'page', says: 'total to depth', pastEnd: 'first page', sized: false },
] as const)('an API %j whose pages stop at 500 rows as if these were all', (traits) => {
  it.each([100, 90])(
    'has no live record deleted as rows move behind them, by pages of %i',
    async (pageSize) => {
      await start({ ...traits, order: 'newest', depth: 500 }, 660, pageSize);
      await publisher.poll();
      await deletesNothingBehind(500, ['r000', 'new1', 'new2']);
    },
  );
});

describe.each([
  { style: 'page', order: 'newest', filter: true, says: 'total to depth' },
  { style: 'page', order: 'newest', filter: false, says: 'total to depth' },
  { style: 'offset', order: 'updated', filter: false, says: 'total to depth' },
  { style: 'offset', order: 'id', filter: false, says: 'total to depth' },
  { style: 'page', order: 'newest', filter: true, says: 'more to depth' },
  { style: 'offset', order: 'updated', filter: false, says: 'more to depth' },
] as const)('an API %j whose pages stop at 1,000 rows as if these were all', (traits) => {
  it.each([100, 90, 1_000])(
    'has no live record deleted as rows move behind them, by pages of %i',
    async (pageSize) => {
      await start({ ...traits, depth: 1_000 }, 1_290, pageSize);
      await publisher.poll();
      expect(warnings()).toContain('the API ended behind exactly 1000 rows');
      for (const id of ['r000', 'r500', 'new1', 'r1289']) {
        write(id, NOW - 20);
        await publisher.poll();
        const { deleted, missing, why } = await publisher.reconcile();
        expect([deleted, why]).toEqual([0, missing > 0 ? 'round-number' : null]);
      }
      expect(await ops()).not.toContain('d');
    },
  );
});

describe.each([
  { style: 'page', order: 'updated', filter: false },
  { style: 'offset', order: 'updated', filter: false },
  { style: 'page', order: 'newest', filter: true },
] as const)('an API %j that shows only its first 300 rows', (traits) => {
  it('has no live record deleted as rows move behind them, also after a restart', async () => {
    await start({ ...traits, depth: 300 }, 430);
    await publisher.poll();
    const shown = traits.order === 'updated' ? 'r000' : 'r429';
    await deletesNothingBehind(300, [shown, 'new1', 'new2']);
  });
});

it.each(['page', 'offset'] as const)(
  'no live record is deleted behind 300 rows by %s, though pages of another length have passed them before',
  async (style) => {
    await start({ style, order: 'newest', filter: true, depth: 300 }, 390);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 0 });
    for (let i = 0; i < 10; i++) write(`new${i}`, NOW - 20 + i);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'round-number' });
  },
);

it.each(['updated', 'newest', 'id'] as const)(
  'a record is deleted that is gone, though a list in the order %s has full pages without it',
  async (order) => {
    await start({ style: 'page', order, filter: order === 'newest' }, 301);
    await publisher.poll();
    publisher.vendor.rows.delete('r005');
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    expect(warnings()).toBe('');
  },
);

it.each([{ style: 'cursor', sized: false }, { style: 'link', sized: false }, { style: 'none' }] as const)(
  'a feed %j whose paging looks at the wrong member does not count as read',
  async (traits) => {
    await start({ ...traits, isNextLost: true }, 40);
    const { shows } = publisher.vendor;
    publisher.vendor.shows = (page, request) => ({ ...shows(page, request), moreBy: 'done' });
    await publisher.poll();
    await publisher.poll();
    expect(publisher.offset()).toMatchObject({ snapshot: 'running', last_complete_scan_ms: null });
    expect(warnings()).toContain(
      'an answer of 40 rows names no next page, and says by "done" that there is one',
    );
  },
);

it('an answer without paging that says more counts as read only if the rows behind it are asked for', async () => {
  const cut = { style: 'none', order: 'updated', filter: true, isCut: true, sized: false } as const;
  await start(cut, 250);
  publisher.vendor.shows = (page) => ({
    ...page,
    ...(page.rows.length === 100 && { moreBy: 'next_cursor' }),
  });
  await publisher.poll();
  expect(publisher.owned().deps.state.recordCount).toBe(250);
  expect(publisher.offset()).toMatchObject({ snapshot: 'complete', last_complete_scan_ms: NOW_MS });
  for (let i = 0; i < 120; i++) write(`tie${i}`, NOW - 50);
  publisher.clock.ms += 1_000;
  await publisher.poll();
  expect(publisher.offset().last_complete_scan_ms).toBe(NOW_MS);
  expect(warnings()).toContain('an answer of 100 rows names no next page, and says by "next_cursor"');
});

it.each([{ range: 3_600, order: 'newest' }, { filter: false }] as const)(
  'an answer with all rows %j that leads to another range, or holds a token for the next sync, is read',
  async (traits) => {
    publisher = await styledPublisher({ style: 'none', ...traits }, { beginAt: NOW - 10_000 });
    publisher.vendor.shows = (page) => ({ ...page, ...(page.rows.length > 0 && { moreBy: 'links.next' }) });
    for (let i = 0; i < 41; i++) write(`r${i}`, NOW - 9_000 + 200 * i);
    await publisher.poll();
    expect(publisher.unknown()).toEqual([]);
    expect(publisher.offset()).toMatchObject({ snapshot: 'complete', last_complete_scan_ms: NOW_MS });
  },
);

it.each([
  [200, 300],
  [40, 300],
  [30, 500],
])(
  'no live record is deleted behind a limit that pages of %i rows do not divide: %i rows',
  async (pageSize, limit) => {
    publisher = await styledPublisher({ style: 'offset', order: 'newest' }, { pageSize });
    publisher.vendor.shows = (page, { pageOffset }) => ({
      ...page,
      rows: page.rows.slice(0, Math.max(0, limit - pageOffset)),
    });
    for (let i = 0; i < limit; i++) write(`r${i}`, NOW - 9_000 + i);
    await publisher.poll();
    for (const id of ['new1', 'new2']) write(id, NOW - 5);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 2, why: 'round-number' });
  },
);

it.each(['offset', 'cursor', 'link'] as const)(
  'the deletes of a list by %s that always has 500 rows are published if a greater pagingLimit is declared',
  async (style) => {
    publisher = await styledPublisher({ style, order: 'newest' }, { pageSize: 100 });
    for (let i = 0; i < 500; i++) write(`r${i}`, NOW - 9_000 + i);
    await publisher.poll();
    publisher.vendor.rows.delete('r150');
    write('new', NOW - 5);
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 1, why: 'round-number' });
    Object.assign(publisher.owned().deps.feed, { pagingLimit: 501 });
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, missing: 0, why: null });
  },
);

it('a flag that never changes does not hold up a feed whose pages name each other', async () => {
  await start({ style: 'cursor' }, 240);
  const { shows } = publisher.vendor;
  publisher.vendor.shows = (page, request) => ({
    ...shows(page, request),
    ...(page.next === null && { moreBy: 'done' }),
  });
  await publisher.poll();
  expect(publisher.offset().snapshot).toBe('complete');
  expect(warnings()).toBe('');
});

it.each(['page', 'cursor', 'link'] as const)(
  'a first snapshot by %s that ends behind exactly 1,000 rows warns of a limit',
  async (style) => {
    await start({ style, depth: 1_000 }, style === 'page' ? 1_000 : 1_200);
    await publisher.poll();
    expect(warnings()).toContain('the API ended behind exactly 1000 rows');
  },
);

it.each(['page', 'offset', 'cursor', 'link'] as const)(
  'no live record is deleted if an API that pages by %s answers a later page without a list',
  async (style) => {
    await start({ style }, 250);
    await publisher.poll();
    const { last_complete_scan_ms } = publisher.offset();
    isVague = true;
    publisher.clock.ms += 1_000;
    await publisher.poll();
    expect(publisher.offset().last_complete_scan_ms).toBe(last_complete_scan_ms);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    expect(warnings()).toMatch(
      /an answer behind a full page has no list of rows, .* nothing of it is deleted/,
    );
    isVague = false;
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 0, why: null });
  },
);

it.each([
  { style: 'page', rows: 40 },
  { style: 'page', sized: false, rows: 40 },
  { style: 'offset', rows: 41 },
  { style: 'page', rows: 201 },
  { style: 'offset', sized: false, rows: 201 },
  { style: 'cursor', endsEmpty: true, rows: 201 },
] as const)('a record is deleted that is gone, though %j end at an answer without a list', async (traits) => {
  await start(traits, traits.rows);
  publisher.vendor.shows = (page) => ({ ...page, isVague: page.rows.length === 0 });
  await publisher.poll();
  publisher.clock.ms += 1_000;
  publisher.vendor.rows.delete('r005');
  await publisher.poll();
  expect(publisher.offset().last_complete_scan_ms).toBe(publisher.clock.ms);
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
  expect(warnings()).toBe('');
});

it.each([25, 50])(
  'sizes of pages other than %i may be taken for it where an answer has no list',
  async (size) => {
    await start({ style: 'page' }, 41);
    const { fetchPage } = publisher.vendor;
    const sizes = [size, 100];
    publisher.vendor.fetchPage = (feed, request, signal) => {
      const pageSize = sizes.find((one) => one >= request.pageSize)!;
      return fetchPage(feed, { ...request, pageSize }, signal);
    };
    publisher.vendor.shows = (page) => ({ ...page, isVague: page.rows.length === 0 });
    await publisher.poll();
    publisher.vendor.rows.delete('r005');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
  },
);

describe.each([
  { style: 'cursor', sized: false },
  { style: 'link', sized: false },
  { style: 'page', sized: false },
  { style: 'cursor', sized: true },
] as const)('an API of ranges of time, %j', (traits) => {
  it.each([100, 200, 1_000])(
    'is read, and has a record deleted, if a range has exactly %i rows',
    async (rows) => {
      const shape = { ...traits, order: 'newest', cap: 100, range: 3_600 } as const;
      publisher = await styledPublisher(shape, { pageSize: 100, beginAt: NOW - 36_000 });
      publisher.vendor.shows = (page) => ({ ...page, isVague: page.rows.length === 0 });
      for (let i = 0; i < rows; i++) write(`a${i}`, NOW - 36_000 + i);
      for (let i = 0; i < 230; i++) write(`b${i}`, NOW - 10_000 + 10 * i);
      await publisher.poll();
      expect(publisher.offset()).toMatchObject({ snapshot: 'complete', last_complete_scan_ms: NOW * 1_000 });
      publisher.vendor.rows.delete('b100');
      expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    },
  );

  it('has no record deleted that is behind a page which names no next one', async () => {
    const shape = { ...traits, order: 'newest', cap: 100, range: 3_600 } as const;
    publisher = await styledPublisher(shape, { pageSize: 100, beginAt: NOW - 36_000 });
    for (let i = 0; i < 230; i++) write(`b${i}`, NOW - 10_000 + 10 * i);
    await publisher.poll();
    publisher.shape.isNextLost = true;
    const deleted = traits.style === 'page' ? {} : { why: 'scan-not-complete' };
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, ...deleted });
  });
});

/** A list of the latest 200 rows: one leaves its end as another one comes, at each third request. */
async function startBusy(traits: Partial<VendorShape>): Promise<void> {
  await start({ order: 'newest', ...traits }, 200);
  await publisher.poll();
  const { rows } = publisher.vendor;
  publisher.vendor.shows = (page) => ({ ...page, isVague: page.rows.length === 0 });
  publisher.vendor.beforeAnswer = (request) => {
    if (request % 3 > 0) return;
    const [oldest] = [...rows.values()].sort((a, b) => a.updated - b.updated);
    rows.delete(oldest!.id);
    write(`n${request}`, NOW);
  };
}

it('a busy list is not asked at the end of each walk whether it is whole', async () => {
  await startBusy({ style: 'offset' });
  const before = publisher.vendor.asked.length;
  for (let i = 0; i < 10; i++) await publisher.poll();
  expect(publisher.vendor.asked.length - before).toBeLessThan(750);
});

it.each([{ style: 'cursor' }, { style: 'link' }, { style: 'cursor', endsEmpty: true }] as const)(
  'a busy list counts as read, whatever leaves its end: %j',
  async (traits) => {
    await startBusy(traits);
    for (let i = 0; i < 10; i++) {
      publisher.clock.ms += 1_000;
      await publisher.poll();
      expect(publisher.offset().last_complete_scan_ms).toBe(publisher.clock.ms);
    }
    // By cursor and link, the rows that leave the end may be behind a limit of 200 rows.
    expect(warnings().replace(/Feed ipos: the API ended behind exactly 200 rows\..*/, '')).toBe('');
  },
);

it.each(['newest', 'updated'] as const)(
  'a range that says more and names no next page stays doubted when another range names one (order: %s)',
  async (order) => {
    const shape = { style: 'cursor', order, range: 3600, sized: false, cap: 10 } as const;
    const ranges = await styledPublisher(shape, { pageSize: 10, beginAt: NOW - 10_000 });
    for (let i = 0; i < 15; i++) {
      ranges.vendor.write(`a${i}`, NOW - 9_500);
      ranges.vendor.write(`b${i}`, NOW - 3_000 + i);
    }
    await ranges.poll();
    ranges.vendor.shows = (page, { updatedSince }) =>
      updatedSince < NOW - 9_000 ? { ...page, next: null, isLast: false } : page;
    await ranges.restart();
    expect(await ranges.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
  },
);

it('full ranges of the first pages are no longer doubted once a later range names a next page', async () => {
  const shape = { style: 'cursor', order: 'newest', range: 3600, sized: false, cap: 10 } as const;
  const ranges = await styledPublisher(shape, { pageSize: 10, beginAt: NOW - 10_800 });
  for (let i = 0; i < 10; i++) {
    ranges.vendor.write(`a${i}`, NOW - 9_500 + i);
    ranges.vendor.write(`b${i}`, NOW - 6_000 + i);
  }
  for (let i = 0; i < 15; i++) ranges.vendor.write(`c${i}`, NOW - 2_000 + i);
  await ranges.poll();
  ranges.vendor.rows.delete('c3');
  expect(await ranges.reconcile()).toMatchObject({ deleted: 1, why: null });
});

it.each([
  ['link', 3_600],
  ['cursor', 3_600],
  ['link', Number.POSITIVE_INFINITY],
] as const)(
  'by %s, a filter of whole minutes has no live record deleted (ranges of %d s)',
  async (style, range) => {
    const beginAt = Number.isFinite(range) ? NOW - 10_000 : undefined;
    const publisher = await styledPublisher(
      { style, range, cap: 7, since: 'minute' },
      { pageSize: 25, beginAt, deleteShare: 1 },
    );
    for (let i = 0; i < 12; i++) publisher.vendor.write(`r${i}`, NOW - 9_000 + Math.floor(i / 2));
    await publisher.poll();
    expect(publisher.unknown()).toEqual([]);
    publisher.shape.isNextLost = true;
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0 });
    expect(publisher.unknown()).toEqual([]);
  },
);
