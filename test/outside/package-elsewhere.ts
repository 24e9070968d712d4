import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openGroupOffsets } from '../../src/log/local/consumer/group-offsets';
import { startSimulator } from '../../src/simulator/simulator';
import { writeAgain } from '../support/records';
import { run } from './command';
import { codeBlocks } from './guide';
import type { Step } from './run';

const root = path.join(__dirname, '..', '..');
const INSTALL_MS = 180_000;

/** The package as a stranger gets it: packed, installed in an empty folder, and used by what its page says. */
export const packageElsewhere: Step = {
  name: 'the package installs elsewhere without scripts: demo and run publish, what docs/consumer.md shows compiles, and the first of it runs',
  async run() {
    const folder = mkdtempSync(path.join(tmpdir(), 'highwater-package-'));
    const simulator = await startSimulator({ records: { insights: 5, analysts: 5, ipos: 5 } });
    const started: ChildProcess[] = [];
    try {
      const command = (program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
        succeed(program, args, { cwd: folder, env: { ...process.env, ...env } });
      await succeed('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root });
      const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!;
      await command('npm', ['init', '--yes']);
      const installed = await command('npm', [
        'install',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        `./${tarball}`,
        '@types/node@20',
        'typescript@6',
      ]);
      // npm leaves the overrides of a packed file aside.
      if (installed.includes('EBADENGINE')) throw new Error(`not for this Node:\n${installed}`);

      const demo = spawn(
        process.execPath,
        [path.join('node_modules', 'highwater', 'dist', 'cli', 'main.js'), 'demo'],
        {
          cwd: folder,
        },
      );
      started.push(demo);
      const shown = lines(demo);
      await until(() => /^ {2}\d\d:\d\d:\d\d {2}[+~⚠▲▼]/m.test(shown()), shown);
      demo.kill('SIGINT');
      const [code] = (await once(demo, 'exit')) as [number | null];
      if (code !== 0) throw new Error(`demo ended with ${code}:\n${shown()}`);

      const blocks = codeBlocks('../consumer.md', 'ts');
      for (const [i, block] of blocks.entries()) writeFileSync(path.join(folder, `block${i}.mts`), block);
      writeFileSync(path.join(folder, 'your-database.ts'), database);
      const options = [
        '--module',
        'nodenext',
        '--target',
        'es2022',
        '--strict',
        '--noUncheckedIndexedAccess',
        '--types',
        'node',
      ];
      await command('npx', ['tsc', ...options, ...blocks.map((_, i) => `block${i}.mts`)]);

      const env = {
        HIGHWATER_API_URL: simulator.url,
        HIGHWATER_API_TOKEN: simulator.token,
        HIGHWATER_DATA_DIR: path.join(folder, 'data'),
      };
      const poll = () => command('npx', ['highwater', 'run', '--once', '--feeds', 'ipos'], env);
      await poll();
      const desk = spawn(process.execPath, ['block0.mjs'], { cwd: folder, env: { ...process.env, ...env } });
      started.push(desk);
      const said = lines(desk);
      // It begins at the end: no event may come until its group has a position in every partition.
      const places = path.join(folder, 'data', 'consumers', 'ipo-desk.db');
      await until(
        () => existsSync(places) && [0, 1, 2].every((partition) => hasPlace(places, partition)),
        said,
      );
      const { stores } = simulator;
      const [id] = stores.ipos.keys();
      writeAgain(stores.ipos, id!, { name: 'Elsewhere Inc.', deal_status: 'Withdrawn' });
      await poll();
      await until(() => /^Elsewhere Inc\.: .* → Withdrawn$/m.test(said()), said);
    } finally {
      for (const child of started) {
        child.kill('SIGTERM');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      }
      await simulator.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Values that the page leaves to its reader. */
const database = `
export interface Database {
  place(topic: string, partition: number): Promise<number | null>;
  transaction(work: (transaction: {
    movePlace(topic: string, partition: number, move: { from: number; to: number }): Promise<void>;
    insert(row: unknown): Promise<void>;
  }) => Promise<void>): Promise<void>;
}
`;

function hasPlace(file: string, partition: number): boolean {
  const offsets = openGroupOffsets(file);
  try {
    return offsets.committed('ipos.deal-status', partition) !== null;
  } finally {
    offsets.close();
  }
}

async function succeed(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, { ...options, withinMs: INSTALL_MS });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stderr;
}

function lines(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
  return () => text;
}

async function until(condition: () => boolean, said: () => string): Promise<void> {
  const end = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`still not so after 30 s; the program said:\n${said()}`);
    await sleep(50);
  }
}
