import { publishedChanges } from '../../../src/pipeline/changes/page-changes';
import { testFeed } from '../../support/feeds';
import { testPipeline } from '../../support/pipeline';
import { insight } from '../../support/records';

const feed = testFeed('insights');
const call = (id: string, updated: number, rating: string, more: object = {}) =>
  insight({ id, updated, rating, date: `2026-01-0${updated}`, ...more });

const begin = { high_water_mark: 0, last_complete_scan_ms: null };

it('says how many of each kind there are, and since when a poll could have seen them', async () => {
  const insights = await testPipeline(feed);
  insights.page([call('a', 1, 'Buy')], { snapshot: true });
  const events = insights.page([
    call('b', 2, 'Hold'),
    call('c', 3, 'Hold'),
    call('d', 4, 'Sell'),
    call('a', 5, 'Sell'),
  ]);
  expect(publishedChanges(feed, events, begin)).toEqual({
    count: 4,
    ops: { c: 3, u: 1, d: 0, r: 0 },
    extras: [],
    transitions: [2],
    polledUpdated: [2, 3, 4, 5],
    ordinary: { c: 0, u: 0 },
    missed: [],
  });
});

it('counts no answer of a snapshot among those of polls', async () => {
  const insights = await testPipeline(feed);
  const events = insights.page([call('a', 1, 'Buy')], { snapshot: true });
  expect(publishedChanges(feed, events, begin)).toEqual({
    count: 1,
    ops: { c: 0, u: 0, d: 0, r: 1 },
    transitions: [0],
    polledUpdated: [],
    ordinary: { c: 0, u: 0 },
    missed: [],
    extras: [],
  });
});

it('keeps of the records what the schema does not say, and nothing of those that have no such thing', async () => {
  const insights = await testPipeline(feed);
  const events = insights.page([
    call('a', 1, 'Buy'),
    call('b', 2, 'Buy', { cusip: 7 }),
    call('b', 3, 'Buy', { cusip: 8 }),
    call('b', 4, 'Hold'),
  ]);
  expect(publishedChanges(feed, events, begin).extras).toEqual([{ cusip: '7' }, { cusip: '8' }]);
});
