import type { Feed } from '../../../src/feeds/feed';
import { reconciled } from '../../../src/runtime/outcome-summaries';
import { testFeed } from '../../support/feeds';

it('says what proves that a record without a time is gone', () => {
  const counts = { pages: 1, rows: 9, created: 0, updated: 0, ordinary: 0, deleted: 0, missing: 1 };
  const result = { ...counts, withheldIds: ['a'], why: 'not-proved' } as const;
  const said = (feed: Feed) => {
    const outcome = reconciled(feed, result, false, 9);
    return outcome.ok ? outcome.summary : null;
  };
  expect(said({ ...testFeed('ipos'), updatedField: null })).toMatch(
    /for 15 minutes, .* a later reconcile does/,
  );
  expect(said(testFeed('ipos'))).toMatch(/a later record that the API shows does/);
});

it('names ordinary changes of a reconcile apart from its findings', () => {
  const result = {
    pages: 1,
    rows: 9,
    created: 0,
    updated: 2,
    deleted: 0,
    missing: 0,
    withheldIds: [],
    why: null,
  };
  const said = (ordinary: number, dryRun: boolean) => {
    const outcome = reconciled(testFeed('ipos'), { ...result, ordinary }, dryRun, 9);
    return outcome.ok ? outcome.summary.split('deleted.')[1] : null;
  };
  expect(said(0, false)).toBe('');
  expect(said(1, false)).toBe(' 1 more change was published that the next poll finds too.');
  expect(said(3, true)).toBe(' 3 more changes would be published that the next poll finds too.');
});
