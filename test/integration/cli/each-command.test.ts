import { commandsInFolder, outcome } from '../../support/cli';
import { apiEnv, simulatedApi } from '../../support/simulated-api';

/**
 * Every command once as a real process of the built package. The other suites run most command lines in the process of the tests.
 * Signals, closed pipes, terminals and forced ends are in `run`, `tail`, `demo` and `terminal`.
 */

const api = simulatedApi({ insights: 5, analysts: 5, ipos: 5 });
const { start } = commandsInFolder(() => ({ ...apiEnv(api()), HIGHWATER_FEEDS: 'ipos' }));

async function run(line: string): Promise<[code: number | null, said: string]> {
  const { code, said } = await outcome(start(line.split(' ')));
  return [code, said];
}

const overTheLog: readonly [string, number, RegExp][] = [
  ['run --once', 0, /ipos: (first )?snapshot complete/],
  ['tail ipos --no-follow', 0, /^(.* read .*\n){5}$/],
  ['export ipos --format csv', 0, /^event_id,.*\r\n(ipos:.*\r\n){5}highwater: ipos: 5 rows, in /],
  [
    'export ipos --as-of now -o now.parquet',
    0,
    /^highwater: .*now\.parquet: 5 rows, as of .*: after change 5 of/,
  ],
  ['status --poll-interval 1h', 0, /^✗ No publisher runs on this log/m],
  ['topics', 0, /^ipos\.deal-status +ipos$/m],
  ['groups', 0, /no group has a position in the log/],
  ['dead-letters list', 0, /^No dead letters of ipos\.\n$/],
  ['deliver', 2, /no deliveries are set/],
  ['doctor', 0, /\d+ fine/],
  ['schemas check', 0, /^ipos-value +=/m],
  ['pause ipos', 0, /Feed ipos is paused/],
  ['resume ipos', 0, /acquires the feed/],
  ['reconcile ipos', 0, /acquires the feed/],
  ['backfill ipos --from 2020-01-01 --to 2020-01-02', 0, /acquires the feed/],
  ['snapshot ipos', 0, /acquires the feed/],
  ['reset ipos --yes', 0, /Feed ipos begins again/],
  ['backup copy.db', 0, /copy\.db: \d+ records and the positions of 0 groups, .*, checked, in/],
  ['restore copy.db', 0, /Feed ipos begins again/],
  ['copy --from data', 2, /no brokers are set to copy to/],
];
const alone: readonly [string, number, RegExp][] = [
  ['demo --for 100ms', 0, /events published/],
  ['init ftp://shop.example/orders', 2, /is not the address of an endpoint/],
  ['config show', 0, /^enabledFeeds +ipos +HIGHWATER_FEEDS$/m],
  ['feeds', 0, /^ipos +http:/m],
  ['completion bash', 0, /^complete .* highwater$/m],
  ['explain LOG_OWNED', 0, /^LOG_OWNED\n/],
  ['healthcheck --http-port 1', 1, /no answer from .*ECONNREFUSED/],
  ['simulate --list', 0, /^careless /m],
];

it.each(alone)('`%s` ends with %d', async (line, code, pattern) => {
  expect(await run(line)).toEqual([code, expect.stringMatching(pattern)]);
});

it('each command about a log works on what `run --once` left', async () => {
  for (const [line, code, pattern] of overTheLog)
    expect([line, ...(await run(line))]).toEqual([line, code, expect.stringMatching(pattern)]);
});

it('no command of the help is missing here', async () => {
  const [, help] = await run('--help');
  const commands = [...help.matchAll(/^ {2}([a-z][a-z-]+) /gm)].map(([, name]) => name);
  const tried = [...overTheLog, ...alone].map(([line]) => line.split(' ')[0]!);
  expect([...new Set(tried), 'help'].sort()).toEqual(commands.sort());
});
