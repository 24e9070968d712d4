import { writeFileSync } from 'node:fs';
import { startSimulator } from '../../../src/simulator/simulator';
import { type CliProcess, commandsInFolder } from '../../support/cli';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { until } from '../../support/until';

const { folder, file, start } = commandsInFolder();
const token = 'tok-EnFRvMd5hX8s';
const api = simulatedApi({ insights: 60, analysts: 20, ipos: 40 }, { tokens: [token] });

function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
) {
  const settings = { HIGHWATER_REQUESTS_PER_SECOND: '1000', HIGHWATER_POLL_INTERVAL: '100ms' };
  return start(['run', ...args], { ...apiEnv(api()), ...settings, ...env }, { under });
}

const begun = /ipos: (first )?snapshot complete/;

it('publishes what the API has with --once and ends with 0, silent but for what it reads and writes', async () => {
  const once = run(['--once']);
  expect(await once.ended()).toEqual({ code: 0, signal: null });
  expect(once.stderr()).toContain(`Reading ${api().url}: insights, analysts, ipos, once.`);
  expect(once.stderr()).toContain(`Writing to ${folder()}/data/highwater.db.`);
  expect(once.stderr()).toMatch(/insights: (first )?snapshot complete.*records=60/);
  expect(once.stdout()).toBe('');

  const again = run(['--once', '--log-format', 'json']);
  expect(await again.ended()).toEqual({ code: 0, signal: null });
  const lines = again.stderr().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(['info', 'info']);
});

it('reads the feeds that are chosen and no other', async () => {
  const once = run(['--once', '--feeds', 'ipos,analysts']);
  expect(await once.ended()).toEqual({ code: 0, signal: null });
  expect([api().requests('insights').length, api().requests('ipos').length > 0]).toEqual([0, true]);
});

it('ends with 1 within seconds when the token is refused, and names it', async () => {
  const once = run(['--once', '--log-level', 'debug'], { HIGHWATER_API_TOKEN: 'tok-refused-0815' });
  expect(await once.ended()).toEqual({ code: 1, signal: null });
  expect(once.stderr()).toContain('SOURCE_UNAUTHORIZED');
  expect(once.stderr()).toContain('HIGHWATER_API_TOKEN');
  expect(once.stderr()).not.toContain('tok-refused-0815');
});

it('ends with 1 when the server is dead, as soon as the time for retries is over', async () => {
  const dead = await startSimulator();
  await dead.stop();
  const once = run(['--once', '--retry-time', '700ms'], { HIGHWATER_API_URL: dead.url });
  expect(await once.ended()).toEqual({ code: 1, signal: null });
  expect(once.stderr()).toContain('SOURCE_UNREACHABLE');
});

it('refuses a second publisher by name, and lets it in when the first is dead', async () => {
  const first = run([]);
  await first.sees(begun, 'stderr');
  const second = run([]);
  expect(await second.ended()).toEqual({ code: 1, signal: null });
  expect(second.stderr()).toContain('LOG_OWNED');
  expect(second.stderr()).toMatch(new RegExp(`process ${first.pid} on \\S+, since`));

  await first.stop('SIGKILL');
  api().marketDay.step();
  const third = run(['--once']);
  expect(await third.ended()).toEqual({ code: 0, signal: null });
});

it.each<[string, readonly string[], (publisher: CliProcess) => void]>([
  ['the terminal of its nohup closes', ['nohup'], (publisher) => publisher.signal('SIGHUP')],
  ['nobody reads its log any more', [], (publisher) => publisher.close('stderr')],
])('a publisher goes on when %s, and ends at SIGTERM', async (_, under, happens) => {
  const publisher = run(['--log-level', 'debug'], {}, under);
  await publisher.sees(begun, 'stderr');
  happens(publisher);
  const asked = api().requests().length;
  await until(() => api().requests().length > asked + 10);
  expect(await publisher.stop()).toEqual({ code: 0, signal: null });
});

it('says of a fault of its own where it was, without the token, and ends with 1', async () => {
  const [fault, moment] = [file('fault.cjs'), file('moment')];
  writeFileSync(
    fault,
    `setInterval(() => {
       if (!require('node:fs').existsSync(process.env.FAULT_MOMENT)) return;
       throw new TypeError('cannot read ' + process.env.HIGHWATER_API_TOKEN);
     }, 10);`,
  );
  const publisher = run([], { NODE_OPTIONS: `--require ${fault}`, FAULT_MOMENT: moment });
  await publisher.sees(begun, 'stderr');
  writeFileSync(moment, '');
  expect(await publisher.ended()).toEqual({ code: 1, signal: null });
  expect(publisher.stderr()).toMatch(/a fault in highwater itself .*TypeError: cannot read \[redacted\]/);
  expect(publisher.stderr()).toContain(`at Timeout._onTimeout (${fault}`);
  expect(publisher.stderr()).not.toContain(token);
});
