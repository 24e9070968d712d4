import { behindFirstPage } from '../../../src/pipeline/first-page';
import { pageReader } from '../../../src/pipeline/page-reader';
import { unknownPaging } from '../../../src/pipeline/paging';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import type { ClosableSource } from '../../../src/source/client';
import { testFeed } from '../../support/feeds';
import { testSource } from '../../support/source';

let api: Simulator;
let source: ClosableSource;

afterEach(async () => {
  source?.close();
  await api?.stop();
});

const byIndex = { ...unknownPaging(1000), unit: 'page' } as const;

async function lookBehind() {
  source = testSource(api);
  const feed = testFeed('ipos');
  const reader = pageReader(feed, source, byIndex, new AbortController().signal);
  const page = await reader.read(0, 0);
  if (page === 'page-size-changed') throw new Error('the first page is small enough');
  return { end: await behindFirstPage(feed, reader, 0, page.facts), learned: reader.learned() };
}

describe('rows behind a short first page', () => {
  it('are no cap when they came between the two requests', async () => {
    api = await startSimulator({ records: { ipos: 20 } });
    api.onRequest((number) => {
      if (number === 2) api.stores.ipos.upsert({ id: 'new' });
    });
    const { end, learned } = await lookBehind();
    expect(end).toBe('page-size-changed');
    expect(learned.pageSize).toBe(1000);
  });

  it('are a cap when the server cuts the page again', async () => {
    api = await startSimulator({ records: { ipos: 80 }, behaviour: { pageCap: 20 } });
    const { end, learned } = await lookBehind();
    expect(end).toBe('more');
    expect(learned.pageSize).toBe(20);
  });
});
