import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from './cache-folder';
import { run } from './command';
import { MissingToolError } from './missing-tool';

/** Major versions that highwater is for. */
const majors = [20, 22, 24];

const INSTALL_MS = 300_000;

export interface NodeVersion {
  /** `24.21.0` */
  readonly version: string;
  /** File to start. */
  readonly program: string;
}

/**
 * The other versions of Node that highwater is for than the one that runs this, each the newest of its kind on the day it
 * was installed.
 * @throws MissingToolError when npm has none for this machine
 */
export function otherNodes(): Promise<NodeVersion[]> {
  const own = Number.parseInt(process.versions.node, 10);
  return Promise.all(majors.filter((major) => major !== own).map(installed));
}

async function installed(major: number): Promise<NodeVersion> {
  const { platform, arch } = process;
  // As the package `node` names them, which would need a script at its installation.
  const name = `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
  const folder = await cacheFolder(`node-${major}`, [__filename], async (target) => {
    writeFileSync(path.join(target, 'package.json'), '{ "private": true }');
    const args = ['install', '--prefix', target, '--no-audit', '--no-fund', `${name}@${major}`];
    const { code, stdout, stderr } = await run('npm', args, {
      cwd: target,
      env: process.env,
      withinMs: INSTALL_MS,
    });
    if (code !== 0) {
      const what = `Node ${major} could not be installed: npm ${args.join(' ')}\n${stdout}${stderr}`;
      throw new MissingToolError(what, 'Let npm reach its registry', undefined);
    }
  });
  const program = path.join(folder, 'node_modules', name, 'bin', 'node');
  const { stdout } = await run(program, ['-p', 'process.versions.node'], { withinMs: 10_000 });
  return { version: stdout.trim(), program };
}
