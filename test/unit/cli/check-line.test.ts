import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { type Check, checkLine } from '../../../src/cli/doctor/check';
import { cellsOf } from '../../../src/cli/terminal/text';
import { anyCharacter } from '../../support/any-character';
import { runs } from '../../support/runs';

const failed: Check = {
  check: 'token',
  feed: null,
  state: 'failed',
  found: 'GET http://api answered 401, so that no feed can be read by it',
  code: 'SOURCE_UNAUTHORIZED',
  remedy: 'Set a valid token and start again.',
};

it('stands on one line where there is room, and what to do below it', () => {
  expect(checkLine(failed, { width: Number.POSITIVE_INFINITY, color: false })).toBe(
    `✗ token              GET http://api answered 401, so that no feed can be read by it
                     do: Set a valid token and start again.
`,
  );
});

it('is folded under itself, and under its name in a narrow terminal', () => {
  expect(checkLine(failed, { width: 60, color: false })).toBe(
    `✗ token              GET http://api answered 401, so that no
                     feed can be read by it
                     do: Set a valid token and start again.
`,
  );
  expect(checkLine(failed, { width: 40, color: false })).toBe(
    `✗ token
    GET http://api answered 401, so that
    no feed can be read by it
    do: Set a valid token and start
        again.
`,
  );
});

it('has no line that is wider than the terminal, whatever was found', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 200 }),
    fc.constant('東京市場株式会社 '.repeat(20)),
  );
  const state = fc.constantFrom('ok', 'warning', 'failed', 'skipped');
  const check = fc.record({
    check: text,
    feed: fc.option(text),
    state,
    found: text,
    code: fc.constant(null),
    remedy: fc.option(text),
  });
  fc.assert(
    fc.property(check, fc.integer({ min: 1, max: 150 }), fc.boolean(), (one, width, color) => {
      for (const line of stripVTControlCharacters(checkLine(one as Check, { width, color })).split('\n'))
        expect(cellsOf(line)).toBeLessThanOrEqual(width);
    }),
    { numRuns: runs(20) },
  );
});
