import fc from 'fast-check';
import { progressLines } from '../../../src/cli/progress/progress-line';
import { operationText, type ProgressText } from '../../../src/cli/progress/progress-text';
import { cellsOf, painted } from '../../../src/cli/terminal/text';
import { anyCharacter } from '../../support/any-character';
import { runs } from '../../support/runs';

const shown = (texts: readonly ProgressText[], width = 120, tick = 0): string[] =>
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

const facts = {
  scan: 1,
  phase: 'scan',
  pages: 4,
  rows: 400,
  scanRows: 400,
  tracked: 900,
  created: 1,
  updated: 0,
  missing: 0,
  probed: 0,
  pauseMs: 0,
};
const reconcile = (more: object, sinceMs = 0) =>
  operationText('reconcile', 'ipos', { summary: 's', facts: { ...facts, ...more } }, sinceMs);

it('shows a reconcile as far as its scan is, claims no percentage, and counts down to the second scan', () => {
  expect(reconcile({})).toEqual({
    label: 'ipos',
    work: 'reconcile',
    share: 400 / 900,
    facts: ['scan 1: 400 of about 900 rows', '1 late record'],
  });
  expect(reconcile({ phase: 'pause', missing: 3, pauseMs: 60_000 }, 20_000)).toMatchObject({
    share: null,
    facts: ['second scan in 40 s', '3 records not shown', '1 late record'],
  });
  expect(reconcile({ phase: 'probe', missing: 4, probed: 1 })).toMatchObject({ share: 0.25 });
});

it('shows the windows of a backfill, the date that it is at, and the time left where something tells', () => {
  const told = { done: 0.429, rows: 1_203, reached: '2025-04-25', secondsLeft: 12 };
  const text = (more: object) =>
    operationText('backfill', 'ipos', { summary: 's', facts: { ...told, ...more } }, 0);
  expect(text({})).toMatchObject({
    share: 0.429,
    facts: ['42 %', '1,203 rows', 'at 2025-04-25', 'about 12 s left'],
  });
  expect(text({ secondsLeft: -1 }).facts).toHaveLength(3);
});

it('repeats the words of an owner whose figures it does not know', () => {
  const old = operationText(
    'reconcile',
    'ipos',
    { summary: 'scan 1: 7 rows', facts: { scan: 1, rows: 7 } },
    0,
  );
  expect(old).toMatchObject({ share: null, facts: ['scan 1: 7 rows'] });
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
