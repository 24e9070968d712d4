import { cellsOf } from '../../../src/cli/terminal/text';
import { examineLocalLog } from '../../../src/log/local/examine';
import { commandsInFolder } from '../../support/cli';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { type TerminalSession, terminals } from '../../support/terminal';

const terminal = terminals();
const { folder, file, start, done } = commandsInFolder(() => environment(1_000));
const api = simulatedApi({ insights: 40, analysts: 20, ipos: 900 });

const CTRL_C = '\u0003';

/** @param requestsPerSecond few enough, and there is something to see */
function environment(requestsPerSecond: number): Record<string, string> {
  const rate = String(requestsPerSecond);
  return { ...apiEnv(api()), HIGHWATER_FEEDS: 'ipos', HIGHWATER_REQUESTS_PER_SECOND: rate };
}

/** So many rows a page that a snapshot has nine of them. */
function inPages(): void {
  api().behave({ pageCap: 100 });
}

const published = async (): Promise<void> => {
  expect((await done(['run', '--once'])).code).toBe(0);
};

function keepsWithin(session: TerminalSession, columns: number): void {
  for (const line of session.screen().split('\n')) expect(cellsOf(line)).toBeLessThanOrEqual(columns);
}

it('run shows how its first snapshot goes, in one place, under the log, and gives the terminal back', async () => {
  inPages();
  const session = terminal(['run'], { cwd: folder(), env: environment(4), columns: 70 });
  await session.sees(/^ipos +snapshot +\S +\d+ records +[\d,]+\/s +updated/m);
  expect(session.isCursorShown()).toBe(false);
  keepsWithin(session, 70);
  await session.sees(/snapshot complete +records=900/);
  await session.sees(/^(?![\s\S]*^ipos +snapshot )/m);
  expect(session.isCursorShown()).toBe(true);
  // Nothing of the frames is left among the lines of the log.
  expect(session.screen()).not.toMatch(/snapshot +[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
  session.type(CTRL_C);
  expect(await session.ended()).toBe(0);
  expect(session.screen()).toMatch(/Ended: everything that was read is/);
});

it('Ctrl-C in the middle of a snapshot leaves the log and a cursor', async () => {
  inPages();
  const session = terminal(['run'], { cwd: folder(), env: environment(2) });
  await session.sees(/^ipos +snapshot /m);
  session.type(CTRL_C);
  expect(await session.ended()).toBe(0);
  expect(session.isCursorShown()).toBe(true);
  expect(session.screen()).toMatch(/Ended: everything that was read is committed\.$/);
  expect(session.screen()).not.toMatch(/^ipos +snapshot /m);
});

it('a publisher ends in order when its terminal closes', async () => {
  const session = terminal(['run'], { cwd: folder(), env: environment(1_000) });
  await session.sees(/snapshot complete/);
  const owner = () => examineLocalLog(file('data')).owner;
  expect(owner()).not.toBeNull();
  await session.hangUp();
  expect(owner()).toBeNull();
});

it.each<[string, Record<string, string>]>([
  ['JSON is logged', { HIGHWATER_LOG_FORMAT: 'json' }],
  ['the terminal is dumb', { TERM: 'dumb' }],
  ['it runs in CI', { CI: 'true' }],
  ['only warnings are logged', { HIGHWATER_LOG_LEVEL: 'warn' }],
])('nothing is drawn over where %s', async (_, env) => {
  inPages();
  const session = terminal(['run', '--once'], {
    cwd: folder(),
    columns: 400,
    env: { ...environment(8), NO_COLOR: '1', ...env },
  });
  expect(await session.ended()).toBe(0);
  expect(session.raw()).not.toContain('\u001b');
  const lines = session.raw().split('\r\n').slice(0, -1);
  if ('HIGHWATER_LOG_FORMAT' in env) for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
});

it('reconcile and backfill show a bar, and at the end what it came to', async () => {
  await published();
  inPages();
  const running = start(['run', '--poll-interval', '1h'], environment(4));
  await running.sees(/Writing to/, 'stderr');
  const reconciling = terminal(['reconcile', 'ipos', '--dry-run'], { cwd: folder() });
  await reconciling.sees(/^ipos +reconcile +█+░+ +scan 1: [\d,]+ rows? of about 900/m);
  expect(await reconciling.ended()).toBe(0);
  expect(reconciling.screen()).toMatch(
    /accepted reconcile\.\nFeed ipos was compared with the API: [\d,]+ rows/,
  );
  expect(reconciling.screen()).not.toContain('█');

  const dates = ['--from', '2020-01-01', '--to', '2030-01-01'];
  const backfilling = terminal(['backfill', 'ipos', ...dates], { cwd: folder() });
  await backfilling.sees(/^ipos +backfill +█*░+ +\d+ %, [\d,]+ rows?, at 20\d\d-\d\d-\d\d/m);
  backfilling.type(CTRL_C);
  expect(await backfilling.ended()).toBe(130);
  expect(backfilling.isCursorShown()).toBe(true);
  expect(backfilling.screen()).toMatch(/goes on with backfill of ipos/);
  expect(backfilling.screen()).not.toMatch(/[█░]/);
});

it('without a terminal an answer is all on stdout, and nothing is drawn', async () => {
  await published();
  expect(await done(['reconcile', 'ipos', '--dry-run'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Feed ipos was compared with the API: .*\n$/),
    err: expect.stringMatching(/^No publisher has accepted .*\n$/),
  });
});

it('doctor and errors fold at words', async () => {
  const session = terminal(['doctor'], { cwd: folder(), env: environment(1_000), columns: 60 });
  expect(await session.ended()).toBe(0);
  keepsWithin(session, 60);
  expect(session.screen()).toMatch(/^API\n✓ api /m);
  const wrong = terminal(['tail', 'nothing', '--no-follow'], { cwd: folder(), columns: 60 });
  expect(await wrong.ended()).toBe(2);
  expect(wrong.screen()).toMatch(/^error TOPIC_UNKNOWN {2}there is no topic nothing; there are\n {2}\S/);
});
