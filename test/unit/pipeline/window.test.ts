import { HighwaterError } from '../../../src/errors';
import { PageReader } from '../../../src/pipeline/scan/pages/page-reader';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { WindowReader } from '../../../src/pipeline/scan/pages/window-reader';
import { testFeed } from '../../support/feeds';
import { pagedSource } from '../../support/paged-source';

const rows = (count: number, name = 'r') =>
  Array.from({ length: count }, (_, i) => ({ id: `${name}${i}`, updated: 2000 - i }));

/** Reads all from second 100 on, thirty rows a page. */
async function read(show: (offset: number, size: number, request: number) => readonly unknown[]) {
  const source = pagedSource(({ pageOffset, pageSize }, request) => show(pageOffset, pageSize, request));
  const feed = { ...testFeed('ipos'), pageSize: 30 };
  const known = { ...unknownPaging(30), unit: 'page' } as const;
  const reader = new PageReader(feed, source, known, new AbortController().signal);
  const window = new WindowReader(feed, reader, { from: 100, second: null, reach: 1000 });
  const shown: (readonly unknown[])[] = [];
  for await (const { rows } of window.pages()) shown.push(rows);
  const { isSettled, page } = window;
  return { shown, first: page.rows, isSettled, requests: source.asked.length, asked: source.asked };
}
const pages = (all: readonly unknown[]) => (offset: number, size: number) =>
  all.slice(offset * size, (offset + 1) * size);
const tooLarge = () => {
  throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'large');
};

describe('a window', () => {
  it('is empty when two answers say so', async () => {
    expect(await read(() => [])).toMatchObject({ shown: [[]], first: [], isSettled: true, requests: 2 });
    const once = await read((offset, size, request) => (request === 1 ? [] : pages(rows(5))(offset, size)));
    expect(once).toMatchObject({ shown: [rows(5)], isSettled: true });
  });

  it('begins again when fewer records have to be asked for, as often as that is so', async () => {
    const all = rows(70);
    const { first, isSettled, shown } = await read((offset, size) =>
      size > 2 && offset > 0 ? tooLarge() : pages(all)(offset, size),
    );
    expect([isSettled, first.length]).toEqual([true, 1]);
    expect(new Set(shown.flat())).toHaveProperty('size', 70);
  });

  it('begins again three times when its pages contradict each other, and is given up', async () => {
    // Behind a short page there is something, and each time that page is asked for again it has grown.
    let length = 5;
    const grown = await read((offset) => (offset === 0 ? rows(length++) : rows(3, 'behind')));
    expect(grown).toMatchObject({ isSettled: false, shown: [{}, {}, {}, {}] });
    expect(grown.first).toHaveLength(11);
  });
});
