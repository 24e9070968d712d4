import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type CliProcess, commandLine } from '../../support/cli';
import { tempFolder } from '../../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();

async function run(...args: string[]): Promise<CliProcess & { code: number | null }> {
  const started = cli(args, { cwd: folder() });
  const { code } = await started.ended();
  return { ...started, code };
}

it('prints its version', async () => {
  const { version } = JSON.parse(readFileSync(path.join(__dirname, '../../../package.json'), 'utf8'));
  const { code, stdout } = await run('--version');
  expect([code, stdout()]).toEqual([0, `${version}\n`]);
});

it('explains a command with its settings, their variables and examples', async () => {
  const { code, stdout } = await run('help', 'run');
  expect(code).toBe(0);
  for (const part of ['--once', '--feeds', 'HIGHWATER_POLL_INTERVAL', 'default 60s', 'Examples:']) {
    expect(stdout()).toContain(part);
  }
});

it.each([
  [['rnu'], "unknown command 'rnu' (Did you mean run?)", 'highwater --help'],
  [['run', '--feds', 'ipos'], "unknown option '--feds' (Did you mean --feeds?)", 'highwater run --help'],
  [['run', '--api-token=secret'], "unknown option '--api-token'", 'highwater run --help'],
  [['tail'], "missing required argument 'topics'", 'highwater tail --help'],
  [['tail', 'ipos', '--op', 'x'], 'Expected some of c (created)', 'highwater tail --help'],
  [['demo', '--for', '3'], 'Expected a duration such as', 'highwater demo --help'],
])('answers the wrong command line %j with exit 2 and what to do', async (args, said, help) => {
  const { code, stderr, stdout } = await run(...args);
  expect(code).toBe(2);
  expect(stderr()).toContain(said);
  expect(stderr()).toContain('now:  Nothing was started.');
  expect(stderr()).toContain(help);
  expect(stdout()).toBe('');
});

it('names all mistakes of the configuration at once and starts nothing', async () => {
  const { code, stderr } = await run('run', '--feeds', 'ipso', '--poll-interval', '1x');
  expect(code).toBe(2);
  for (const key of ['pollInterval', 'enabledFeeds', 'apiUrl', 'apiToken']) expect(stderr()).toContain(key);
  expect(stderr()).toContain('4 settings are wrong');
  expect(readdirSync(folder())).toEqual([]);
});

it('lists the scenarios of the simulated API', async () => {
  const { code, stdout } = await run('simulate', '--list');
  expect(code).toBe(0);
  expect(stdout()).toMatch(/^careless +\S/m);
});
