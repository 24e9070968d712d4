import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../src/simulator/simulator';
import { root } from '../support/build';
import { run } from './command';
import { runTool } from './missing-tool';
import type { Step } from './run';

const deploy = path.join(root, 'deploy', 'systemd');
/** Exposure by `systemd-analyze security`, in tenths: 0 is none, 100 is all. */
const MOST_EXPOSURE = 15;
const INSTALL_MS = 300_000;

/** systemd's verdict on the unit and its user, as they would be installed, without starting anything. */
export const systemdUnit: Step = {
  name: 'systemd accepts the unit and its user, finds it well confined, and refuses a planted mistake',
  async run() {
    const machine = mkdtempSync(path.join(tmpdir(), 'highwater-systemd-'));
    const at = (...names: string[]) => path.join(machine, ...names);
    try {
      for (const folder of ['etc', 'usr/lib/sysusers.d']) mkdirSync(at(folder), { recursive: true });
      cpSync(path.join(deploy, 'highwater.sysusers'), at('usr/lib/sysusers.d/highwater.conf'));
      // The program need not be installed on this machine.
      writeFileSync(at('highwater'), '#!/bin/sh\n', { mode: 0o755 });
      const text = readFileSync(path.join(deploy, 'highwater.service'), 'utf8');
      const unit = at('highwater.service');
      writeFileSync(unit, text.replace('/usr/local/bin/highwater', at('highwater')));

      await accepted('systemd-sysusers', [`--root=${machine}`]);
      const users = readFileSync(at('etc/passwd'), 'utf8');
      if (!/^highwater:[^:]*:\d+:\d+:[^:]*:\/var\/lib\/highwater:/m.test(users))
        throw new Error(`no user highwater was made:\n${users}`);
      await accepted('systemd-analyze', ['verify', unit]);
      await accepted('systemd-analyze', ['security', '--offline=yes', `--threshold=${MOST_EXPOSURE}`, unit]);

      writeFileSync(unit, readFileSync(unit, 'utf8').replace('Restart=on-failure', 'Restart=sometimes'));
      const { stderr } = await tool('systemd-analyze', ['verify', unit]);
      if (!stderr.includes('sometimes')) throw new Error(`Restart=sometimes was accepted: ${stderr}`);
    } finally {
      rmSync(machine, { recursive: true, force: true });
    }
  },
};

/** The commands of docs/deploy.md, and then the command of the unit, with its settings. */
export const systemdInstallation: Step = {
  name: 'the program is installed as docs/deploy.md says, with the packages of package-lock.json, and publishes as the unit starts it',
  async run() {
    const machine = mkdtempSync(path.join(tmpdir(), 'highwater-installed-'));
    const simulator = await startSimulator({ records: { insights: 5, analysts: 5, ipos: 5 } });
    const at = (...names: string[]) => path.join(machine, ...names);
    const succeed = async (program: string, args: readonly string[], env?: NodeJS.ProcessEnv) => {
      const ended = await run(program, args, {
        cwd: at('opt'),
        env: env ?? process.env,
        withinMs: INSTALL_MS,
      });
      if (ended.code !== 0) throw new Error(`${program} ${args.join(' ')}:\n${ended.stdout}${ended.stderr}`);
      return ended.stdout;
    };
    try {
      mkdirSync(at('opt'));
      await succeed('git', ['clone', '--quiet', root, '.']);
      await succeed('npm', ['ci']);
      await succeed('npm', ['prune', '--omit=dev']);
      mkdirSync(at('bin'));
      symlinkSync(at('opt/dist/cli/main.js'), at('bin/highwater'));
      const { packages } = JSON.parse(readFileSync(at('opt/package-lock.json'), 'utf8')) as Lock;
      for (const [folder, { dev, optional, version }] of Object.entries(packages)) {
        if (folder === '') continue;
        const file = at('opt', folder, 'package.json');
        // Optional ones are there for this platform only.
        if (optional && !existsSync(file)) continue;
        if (existsSync(file) === (dev === true))
          throw new Error(`${folder}: ${dev ? 'is there' : 'is missing'}`);
        if (dev) continue;
        const installed = (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
        if (installed !== version) throw new Error(`${folder}: ${installed} instead of ${version}`);
      }

      const unit = readFileSync(path.join(deploy, 'highwater.service'), 'utf8');
      const own = (text: string) =>
        text.replace('%d/', `${machine}/`).replace('%S/', `${machine}/`).replace('/etc/highwater', machine);
      const env = Object.fromEntries(
        [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, own(value!)]),
      );
      writeFileSync(at('api-token'), `${simulator.token}\n`);
      writeFileSync(at('highwater.yaml'), `apiUrl: ${simulator.url}\n`);
      const [, program, args] = /^ExecStart=\/usr\/local\/bin\/(\S+) (.*)$/m.exec(unit)!;
      const { PATH } = process.env;
      await succeed(at('bin', program!), [...args!.split(' '), '--once'], { ...env, PATH });
      const log = at('highwater', 'highwater.db');
      if (!existsSync(log)) throw new Error(`${log} was not made`);
    } finally {
      await simulator.stop();
      rmSync(machine, { recursive: true, force: true });
    }
  },
};

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly dev?: true; readonly optional?: true }>
  >;
}

async function accepted(program: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await tool(program, args);
  // systemd-analyze only reports the lines that it ignores, with exit code 0.
  if (code !== 0 || (args[0] === 'verify' && stderr !== '')) throw new Error(`${stdout}${stderr}`);
}

const tool = (program: string, args: readonly string[]) =>
  runTool(program, args, 'Install systemd', { withinMs: 60_000 });
