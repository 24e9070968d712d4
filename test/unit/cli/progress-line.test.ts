import fc from 'fast-check';
import { type Progress, progressLines } from '../../../src/cli/progress/screen';
import { cellsOf, painted } from '../../../src/cli/terminal/text';
import { anyCharacter } from '../../support/any-character';
import { runs } from '../../support/runs';

const shown = (texts: readonly Progress[], width = 120, tick = 0): string[] =>
  progressLines(texts, width, tick).map((line) => painted(line, width, false));

it('has a bar where the end is known, and turns where it is not', () => {
  const known = { label: 'ipos', work: 'backfill', share: 0.5, facts: ['50 %', '7 rows'] };
  expect(shown([known])).toEqual([`ipos  backfill  ${'█'.repeat(14)}${'░'.repeat(14)}  50 %  7 rows`]);
  const unknown = { label: 'ipos', work: 'snapshot', share: null, facts: ['7 records'] };
  expect(shown([unknown], 80, 1)).toEqual(['ipos  snapshot  ⠙  7 records']);
});

it('puts the figures of several works under each other, and says what stands still', () => {
  const texts = [
    { label: 'insights', work: 'snapshot', share: null, facts: ['12,000 records', '8,000/s'] },
    {
      label: 'ipos',
      work: 'snapshot',
      share: null,
      facts: ['7 records', '9/s'],
      trouble: 'nothing new for 9 s',
    },
  ];
  expect(shown(texts)).toEqual([
    'insights  snapshot  ⠋  12,000 records  8,000/s',
    'ipos      snapshot  ⠋       7 records      9/s  nothing new for 9 s',
  ]);
});

it('has no line that is wider than the terminal', () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 80 });
  const work = fc.record({
    label: text,
    work: text,
    share: fc.option(fc.double({ min: -1, max: 2, noNaN: true })),
    facts: fc.array(text, { maxLength: 5 }),
    trouble: text,
  });
  fc.assert(
    fc.property(
      fc.array(work, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 150 }),
      (works, width) => {
        for (const line of shown(works, width)) expect(cellsOf(line)).toBeLessThanOrEqual(width);
      },
    ),
    { numRuns: runs(20) },
  );
});
