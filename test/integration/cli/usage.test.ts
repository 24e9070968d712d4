import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { commandsInFolder, nodePrograms } from '../../support/cli';

const { folder, start, done } = commandsInFolder();
const program = nodePrograms();
const run = (...args: string[]) => done(args);

it('prints its version', async () => {
  const { version } = JSON.parse(readFileSync(path.join(__dirname, '../../../package.json'), 'utf8'));
  const { code, out } = await run('--version');
  expect([code, out]).toEqual([0, `${version}\n`]);
});

it('lists each command as the command itself says how it is used', async () => {
  const listed = (await run('--help')).out.matchAll(/^ {2}([a-z-]+)((?: [[<][a-z.]+[\]>])*) {2,}\S/gm);
  const usages = [...listed]
    .map(([, name = '', usage = '']) => [name, usage])
    .filter(([name]) => name !== 'help');
  expect(usages.length).toBeGreaterThan(12);
  for (const [name = '', usage = ''] of usages) {
    const own = (await run(name, '--help')).out.split('\n')[0];
    const withParts = `Usage: highwater ${name} [options] [command]`;
    expect([
      `Usage: highwater ${name}${usage}`,
      withParts,
      `Usage: highwater ${name} [options]${usage}`,
    ]).toContain(own);
  }
});

it('prints no error where nobody reads the rest of a help', async () => {
  const started = start(['run', '--help']);
  started.close('stdout');
  const { code } = await started.ended();
  expect([code, started.stderr()]).toEqual([0, '']);
});

it('explains a command with its settings, their variables and examples', async () => {
  const { code, out } = await run('help', 'run');
  expect(code).toBe(0);
  for (const part of ['--once', '--feeds', 'HIGHWATER_POLL_INTERVAL', 'default 60s', 'Examples:'])
    expect(out).toContain(part);
});

it.each([
  [['rnu'], "unknown command 'rnu' (Did you mean run?)", 'highwater --help'],
  [['run', '--feds', 'ipos'], "unknown option '--feds' (Did you mean --feeds?)", 'highwater run --help'],
  [['run', '--api-token=secret'], "unknown option '--api-token'", 'highwater run --help'],
  [['tail'], "missing required argument 'topics'", 'highwater tail --help'],
  [['tail', 'ipos', '--op', 'x'], 'Expected some of c (created)', 'highwater tail --help'],
  [['demo', '--for', '3'], 'Expected a duration such as', 'highwater demo --help'],
])('answers the wrong command line %j with exit 2 and what to do', async (args, said, help) => {
  const { code, err, out } = await run(...args);
  expect([code, out]).toEqual([2, '']);
  for (const part of [said, 'now:  Nothing was started.', help]) expect(err).toContain(part);
});

it('names all mistakes of the configuration at once and starts nothing', async () => {
  const { code, err } = await run('run', '--feeds', 'ipso', '--poll-interval', '1x');
  expect(code).toBe(2);
  for (const key of ['pollInterval', 'enabledFeeds', 'apiUrl', 'apiToken', '4 settings are wrong'])
    expect(err).toContain(key);
  expect(readdirSync(folder())).toStrictEqual([]);
});

/** Runs a command in its working directory, and removes that before. */
const removed = ['sh', '-c', 'rmdir "$PWD" && exec "$0" "$@"'];

it.each([[['status']], [['run']], [['demo']], [['--help']]])(
  '%j in a working directory that was removed ends with exit 2 and what to do',
  async (args) => {
    const started = start(args, {}, { under: removed });
    expect((await started.ended()).code).toBe(2);
    expect(
      started.stderr(),
    ).toBe(`error USAGE_INVALID  the working directory has been removed, or this user may not read it (ENOENT)
  now:  Nothing was started.
  do:   Change to a folder that exists (\`cd\`), and start again.
`);
  },
);

it('a consumer in a working directory that was removed is told so by an error with a code', async () => {
  const code = "require(process.env.DIST + '/consumer').connect()";
  const started = program(['-e', code], { cwd: folder(), under: removed });
  await started.ended();
  expect(started.stderr()).toContain("code: 'USAGE_INVALID'");
});

it('takes each switch either way, and the last one counts', async () => {
  for (const json of [['--json'], ['--no-json', '--json'], []])
    expect((await run('feeds', ...json)).out.startsWith('{')).toBe(json.length > 0);
  expect((await run('feeds', '--json', '--no-json')).out).toMatch(/^FEED/);
  expect((await run('tail', 'ipos', '--follow', '--no-follow')).err).toContain('LOG_MISSING');
});
