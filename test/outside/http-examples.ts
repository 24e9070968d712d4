import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../src/simulator/simulator';
import { freePort } from '../../tools/servers/ports';
import { root } from '../support/build';
import { until } from '../support/until';
import { codeBlocks } from './guide';
import { runTool } from './missing-tool';
import type { Step } from './run';

const RUN_MS = 60_000;
const IPOS = 40;

/** The commands and the program of docs/http.md, as a reader copies them, on a publisher with an embedded log. */
export const httpExamples: Step = {
  name: 'curl and Python read events and records over HTTP as docs/http.md has it',
  async run() {
    const simulator = await startSimulator({ records: { ipos: IPOS } });
    const folder = mkdtempSync(path.join(tmpdir(), 'highwater-http-'));
    const port = await freePort();
    const env = {
      ...process.env,
      HIGHWATER_API_URL: simulator.url,
      HIGHWATER_API_TOKEN: simulator.token,
      HIGHWATER_HTTP_PORT: String(port),
    };
    const args = [
      path.join(root, 'dist', 'cli', 'main.js'),
      'run',
      '--feeds',
      'ipos',
      '--poll-interval',
      '100ms',
    ];
    const publisher = spawn(process.execPath, args, { env, cwd: folder, stdio: 'ignore' });
    const base = `http://127.0.0.1:${port}`;
    try {
      await until(() =>
        fetch(`${base}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      for (let i = 0; i < 60; i++) simulator.marketDay.step();
      const withdrawn = `${base}/topics/ipos.deal-status/events?from=beginning&follow=no&where=status=Withdrawn`;
      await until(() => fetch(withdrawn).then(async (answer) => (await answer.text()) !== ''));
      await tryAll(base, [...simulator.truth('ipos').keys()][0]!);
    } finally {
      publisher.kill('SIGTERM');
      await once(publisher, 'exit');
      await simulator.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function tryAll(base: string, id: string): Promise<void> {
  const here = (text: string) => text.replaceAll('http://127.0.0.1:9464', base).replaceAll('68f4a1', id);
  const [, commands = ''] = codeBlocks('../http.md', 'sh');
  const lines = commands.split('\n').filter((line) => line.startsWith('curl'));
  if (lines.length !== 5) throw new Error(`docs/http.md has ${lines.length} commands of curl instead of 5`);
  for (const line of lines) {
    // A stream without end is looked at for a second: 28 is what curl then says.
    const { code, stdout, stderr } = await program('sh', [
      '-c',
      here(line).replace('curl ', 'curl -sSf -m 1 '),
    ]);
    const isEndless = line.includes('/events') && !line.includes('follow=no');
    if (code !== (isEndless ? 28 : 0)) throw new Error(`${line}: ${code} ${stderr}`);
    const isQuiet = line.includes('deal-status/events ');
    if (!isQuiet && stdout === '') throw new Error(`${line}: no answer`);
    for (const text of stdout.split('\n').filter((one) => one !== '')) JSON.parse(text);
  }
  const [python = ''] = codeBlocks('../http.md', 'python');
  const { code, stdout, stderr } = await program('python3', ['-c', here(python)]);
  if (code !== 0 || !/ Withdrawn$/m.test(stdout)) throw new Error(`Python: ${stdout}${stderr}`);
}

const program = (name: string, args: readonly string[]) =>
  runTool(name, args, 'Install curl and Python 3', { env: process.env, withinMs: RUN_MS });
