import { Writable } from 'node:stream';
import { progressScreen } from '../../../src/cli/progress/screen';

beforeEach(() => jest.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => jest.useRealTimers());

/** A screen over a pipe, as of cron, and the lines that one work wrote. */
function withoutTerminal() {
  const stderr = new Writable({ write: (_text, _encoding, done) => done() });
  const logging = { stream: stderr, color: false };
  const screen = progressScreen({ stderr, env: {}, logging, beforeExit: () => undefined }, true);
  const lines: string[] = [];
  const set = (line: string): void => {
    const progress = () => ({ label: 'ipos', work: 'reconcile', share: null, facts: [line] });
    screen.set('reconcile', progress, () => void lines.push(line));
  };
  return { screen, lines, set };
}

it('says within five seconds, and once, what a work waits for that then says nothing more', () => {
  const { lines, set } = withoutTerminal();
  set('scan 1: 40 rows of about 40');
  set('scan 1 is done, so that a second one begins in 90 s');
  jest.advanceTimersByTime(4_999);
  expect(lines).toEqual([]);
  jest.advanceTimersByTime(90_000);
  expect(lines).toEqual(['scan 1 is done, so that a second one begins in 90 s']);
  set('scan 2: 10 rows of about 40');
  set('scan 2: 40 rows of about 40');
  jest.advanceTimersByTime(90_000);
  expect(lines.slice(1)).toEqual(['scan 2: 10 rows of about 40', 'scan 2: 40 rows of about 40']);
});

it.each(['remove', 'end'] as const)('writes no line of a work after its %s', (how) => {
  const { screen, lines, set } = withoutTerminal();
  set('scan 2: 40 rows of about 40');
  screen[how]('reconcile');
  jest.advanceTimersByTime(90_000);
  expect(lines).toEqual([]);
});
