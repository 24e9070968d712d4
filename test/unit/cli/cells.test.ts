import '../../support/runs';
import fc from 'fast-check';
import { cellsOf, clip, column, wrapped } from '../../../src/cli/terminal/text';
import { durationText, settingText } from '../../../src/format/durations';
import { harmless } from '../../../src/format/short-text';
import { anyCharacter } from '../../support/any-character';

it.each<[string, number]>([
  ['ACME', 4],
  ['Café – Zürich', 13],
  ['e\u0301', 1],
  ['東京', 4],
  ['「株」、', 8],
  ['ｱｲｳ', 3],
  ['ＡＢＣ', 6],
  ['한국', 4],
  ['ㄅㄆ', 4],
  ['￥', 2],
  ['🚀', 2],
  ['✓✗‖↻', 4],
])('counts the cells of %s', (text, cells) => {
  expect(cellsOf(text)).toBe(cells);
});

const text = fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: 'grapheme' }), fc.lorem());
const width = fc.integer({ min: 1, max: 60 });

it('clips to a width, and fills to it', () => {
  fc.assert(
    fc.property(text, width, (value, cells) => {
      expect(cellsOf(clip(value, cells))).toBeLessThanOrEqual(cells);
      expect(cellsOf(column(value, cells))).toBe(cells);
    }),
  );
});

it('wraps words within a width and loses none', () => {
  fc.assert(
    fc.property(text.map(harmless), fc.integer({ min: 2, max: 60 }), (value, cells) => {
      const lines = wrapped(value, cells);
      for (const line of lines) expect(cellsOf(line)).toBeLessThanOrEqual(cells);
      expect(lines.join('').replace(/\s/g, '')).toBe(value.normalize().replace(/\s/g, ''));
    }),
  );
});

it.each<[number, string]>([
  [-5_000, '0 s'],
  [1_400, '1 s'],
  [119_000, '119 s'],
  [119_600, '2 min'],
  [3 * 3_600_000, '3 h'],
  [50 * 3_600_000, '2 d'],
])('says %d ms as %s', (ms, said) => {
  expect(durationText(ms)).toBe(said);
});

it.each([
  [50, '0.05 s'],
  [200, '0.2 s'],
  [1_500, '1.5 s'],
  [60_000, '60 s'],
  [300_000, '5 min'],
])('shows an interval of %i ms as %s', (ms, said) => {
  expect(settingText(ms)).toBe(said);
});
