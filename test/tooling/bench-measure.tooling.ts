import { median, quantile, ratio, short } from '../../bench/measure/figures';
import { table } from '../../bench/measure/table';

describe('what the benchmark measures with', () => {
  it('tells the middle, and what a part of the values does not exceed', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(quantile([10, 20, 30, 40, 50], 0.75)).toBe(40);
    expect(quantile([10, 20], 0.99)).toBeCloseTo(19.9);
    expect(() => quantile([], 0.5)).toThrow('no values');
  });

  it('writes three digits, or as many as are before the point', () => {
    expect([0.456, 7.891, 45.67, 123.4, 45_678].map(short)).toEqual([
      '0.46',
      '7.89',
      '45.7',
      '123',
      '45,678',
    ]);
    expect(ratio(41, 8)).toBe('5.13x');
  });

  it('puts figures under each other, and a heading over them as wide as it is', () => {
    const columns = [
      { head: '', align: 'left' },
      { head: 'n', align: 'right' },
    ] as const;
    expect(table(columns, [['a heading that is long'], ['a', '1'], ['bb', '1,000']])).toBe(
      '        n\na heading that is long\na       1\nbb  1,000\n',
    );
  });
});
