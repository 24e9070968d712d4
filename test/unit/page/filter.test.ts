import { allOps, type Filter, filtered, noFilter, toggled } from '../../../src/admin/page/model/filter';
import { aChange, aTransition } from '../../support/views';

const withdrawal = aChange({
  symbol: 'HUXIO',
  title: 'Zelinnix Software Group',
  transitions: [aTransition({ after: 'Withdrawn' })],
});
const insight = aChange({ feed: 'insights', op: 'c', symbol: 'LGZ', title: 'Dortis Capital' });
const read = aChange({ feed: 'analysts', op: 'r', symbol: null, title: 'Ann Example' });
const rows = [withdrawal, insight, read].map((change, id) => ({ id, change }));
const found = (filter: Partial<Filter>) => filtered(rows, { ...noFilter, ...filter }).map(({ id }) => id);

it('finds by symbol, title, value and transition, whatever the case', () => {
  expect(found({ text: 'huxio' })).toEqual([0]);
  expect(found({ text: 'DORTIS' })).toEqual([1]);
  expect(found({ text: '2026-02' })).toEqual([0, 1, 2]);
  expect(found({ text: 'withdrawn' })).toEqual([0]);
});

it('wants every word', () => {
  expect(found({ text: ' zelinnix  huxio ' })).toEqual([0]);
  expect(found({ text: 'zelinnix lgz' })).toStrictEqual([]);
});

it('finds by feed, type and op, all of them together', () => {
  expect(found({ feed: 'insights' })).toEqual([1]);
  expect(found({ type: '*' })).toEqual([0]);
  expect(found({ type: 'DealStatusChanged' })).toEqual([0]);
  expect(found({ type: 'RatingChanged' })).toStrictEqual([]);
  expect(found({ ops: ['c', 'r'] })).toEqual([1, 2]);
  expect(found({ ops: ['c', 'r'], feed: 'analysts' })).toEqual([2]);
});

it('always shows some op', () => {
  expect(toggled(allOps, 'r')).toEqual(['c', 'u', 'd']);
  expect(toggled(['c', 'u'], 'd')).toEqual(['c', 'u', 'd']);
  expect(toggled(['d'], 'd')).toEqual(['c', 'u', 'r']);
});
