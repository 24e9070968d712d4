import { renderError } from '../../src/cli/process/render-error';
import { type ErrorCode, errorKinds, HighwaterError, summaryOf } from '../../src/errors';
import { errorGroups } from '../../src/errors/table';

const codes = Object.keys(errorKinds) as ErrorCode[];

describe('the table of errors', () => {
  it.each(codes)('%s says what it means, what happens now and what to do, in sentences', (code) => {
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    const { what, now, remedy } = errorKinds[code];
    for (const part of [what, now, remedy]) expect(part).toMatch(/^[A-Z].*[.]$/s);
  });

  it('parks nothing that mends itself', () => {
    expect(codes.filter((code) => errorKinds[code].parks && errorKinds[code].retriable)).toStrictEqual([]);
  });

  it.each(codes)('the first sentence about %s fits a headline', (code) => {
    expect(summaryOf(code)).toMatch(/^[A-Z].{10,98}[.]$/);
  });

  it('names no command of operators without feeds: it would be refused', () => {
    const texts = codes.flatMap((code) => [
      errorKinds[code].what,
      errorKinds[code].now,
      errorKinds[code].remedy,
    ]);
    const bare = /`highwater (pause|resume|reset|snapshot|reconcile|backfill)`/;
    expect(texts.filter((text) => bare.test(text))).toStrictEqual([]);
  });

  it('has each code in one group', () => {
    expect(Object.values(errorGroups).flatMap((kinds) => Object.keys(kinds))).toEqual(codes);
  });
});

describe('an error for people', () => {
  const error = new HighwaterError('SOURCE_TIMEOUT', 'ipos: GET https://x took longer than 5 ms.');

  it('has three parts', () => {
    expect(renderError(error, { color: false })).toBe(
      `error SOURCE_TIMEOUT  ipos: GET https://x took longer than 5 ms.
  now:  ${errorKinds.SOURCE_TIMEOUT.now}
  do:   ${errorKinds.SOURCE_TIMEOUT.remedy}
`,
    );
  });

  it('folds at the width of a terminal, each part under itself', () => {
    const long = new HighwaterError('SOURCE_TIMEOUT', 'one two three four\n  five six seven eight nine', {
      now: 'ten eleven twelve',
      remedy: 'thirteen fourteen fifteen',
    });
    expect(renderError(long, { color: false, width: 25 })).toBe(`error SOURCE_TIMEOUT
  one two three four
  five six seven eight
    nine
  now:  ten eleven twelve
  do:   thirteen fourteen
        fifteen
`);
  });

  it('takes the parts that the place of the error knows better', () => {
    const better = new HighwaterError('SOURCE_TIMEOUT', 'w', { now: 'Waits.', remedy: 'Wait too.' });
    expect(renderError(better, { color: false })).toBe(
      'error SOURCE_TIMEOUT  w\n  now:  Waits.\n  do:   Wait too.\n',
    );
  });

  it('is coloured when asked', () => {
    expect(renderError(error, { color: true })).toContain('\u001b[31merror');
  });

  it('says of a fault of our own that it is one, with the stack and its causes', () => {
    const fault = new TypeError('x is undefined', { cause: new RangeError('below') });
    const text = renderError(fault, { color: false });
    expect(text).toMatch(
      /^error a fault in highwater itself {2}TypeError: x is undefined\n {2}now: {2}.*\n {2}do: .*report/,
    );
    expect(text).toMatch(/\n {4}TypeError: x is undefined\n\s+at .*errors\.test\.ts/);
    expect(text).toMatch(/\n {4}caused by RangeError: below\n/);
    expect(renderError('a text', { color: false })).toContain('thrown: a text');
  });

  it('shows no secret and no escape sequence', () => {
    const told = new HighwaterError('LOG_OWNED', 'by S3CRET \u001b[2J', {
      now: 'S3CRET.',
      remedy: 'UzNDUkVU?',
    });
    const fault = new Error('S3CRET \u009b2J', { cause: new Error('S3CRET') });
    for (const one of [told, fault]) {
      const text = renderError(one, { color: false, secrets: ['S3CRET'] });
      expect(text).not.toMatch(/S3CRET|UzNDUkVU/);
      expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    }
  });
});
