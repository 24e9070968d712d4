import {
  asClause,
  dateAndTime,
  difference,
  parted,
  series,
  timeOfDay,
  typeText,
  untold,
} from '../../../src/admin/page/model/text';
import { aChange, aTransition } from '../../support/views';

it('has words for times that no calendar has', () => {
  expect(timeOfDay(Number.MAX_SAFE_INTEGER)).toBe('–');
  expect(dateAndTime(Number.MIN_SAFE_INTEGER)).toBe('–');
});

it('spells types as words', () => expect(typeText('DealStatusChanged')).toBe('Deal status changed'));

it('takes a sentence into another', () => {
  expect(asClause('The API refused the token.')).toBe('the API refused the token');
  expect(asClause('API says no.')).toBe('API says no');
});

describe('a chart in words', () => {
  it('says how many there were, the most, and the last', () => {
    expect(series([0, 5, 80, 3]).summary).toBe(
      '88 changes in the last 4 minutes, at most 80 a minute (1 minute ago), 3 in this minute.',
    );
  });

  it('says when there were none', () => {
    expect(series(Array(60).fill(0)).summary).toBe('No changes in the last 60 minutes.');
    expect(series([]).total).toBe(0);
  });

  it('is not flattened by a first snapshot', () => {
    expect(series([0, 3, 7, 12, 900]).top).toBe(20);
    expect(series([900, 800, 3, 7, 12]).top).toBe(20);
    expect(series([0, 0, 900]).top).toBe(1_000);
    expect(series([100, 200, 300]).top).toBe(500);
    expect(series([0, 0, 0]).top).toBe(1);
  });

  it.each([
    [1, 1],
    [3, 5],
    [11, 20],
    [50, 50],
    [999, 1_000],
  ])('has %d on an axis up to %d', (value, top) => expect(series([value]).top).toBe(top));
});

describe('the difference of two texts', () => {
  it('is both of them where they are short', () => {
    expect(difference('Rumored', 'Withdrawn')).toEqual({ before: 'Rumored', after: 'Withdrawn' });
  });

  it('begins shortly before the first letter that differs', () => {
    const before = 'The firm keeps its target, since margins have held up better than feared.';
    const after = 'The firm keeps its target for now, but margins have come under pressure.';
    expect(difference(before, after)).toEqual({
      before: '…its target, since margins…',
      after: '…its target for now, but ma…',
    });
  });

  it('cuts no letter in two, and finds its way in one long word', () => {
    const { before, after } = difference(`${'👍'.repeat(60)}a`, `${'👍'.repeat(60)}b`);
    expect([before, after]).toEqual([`…${'👍'.repeat(8)}a`, `…${'👍'.repeat(8)}b`]);
  });
});

describe('a badge', () => {
  it.each([
    ['Hold, 7.00', 'Hold, 10.00', 'Hold, 7.00', '10.00'],
    ['Buy, 40.00', 'Hold, 40.00', 'Buy', 'Hold, 40.00'],
    ['Buy, 40.00', 'Hold, 12.00', 'Buy, 40.00', 'Hold, 12.00'],
    [null, 'Hold, 12.00', null, 'Hold, 12.00'],
    ['Hold', 'Hold', 'Hold', 'Hold'],
    ['Hold, 7.00', 'Hold', 'Hold, 7.00', 'Hold'],
    ['Sell, ', 'Sell, 12.00', 'Sell, –', '12.00'],
    [null, 'Sell, ', null, 'Sell, –'],
  ])('says of %s → %s what moved', (before, after, from, to) => {
    expect(parted(aTransition({ before, after }))).toEqual({ before: from, after: to });
  });

  it('leaves to the fields what it does not say', () => {
    const change = aChange({
      fields: [
        { field: 'rating', before: null, after: 'Sell' },
        { field: 'pt', before: null, after: '12.00' },
        { field: 'action', before: null, after: 'Downgrades' },
      ],
      transitions: [aTransition({ before: 'Buy, 40.00', after: 'Sell, 12.00' })],
    });
    expect(untold(change).map(({ field }) => field)).toEqual(['action']);
  });
});
