import path from 'node:path';
import { cacheFolder } from './cache-folder';
import { MissingToolError, runTool } from './missing-tool';

const INSTALL_MS = 300_000;

/**
 * A Python with packages of its own, installed once for each version of the file.
 * @param requirements file of packages, as pip takes it
 * @returns the folder of its programs: `python`, and what the packages bring
 * @throws MissingToolError without Python, or when pip fails
 */
export async function virtualEnvironment(name: string, requirements: string): Promise<string> {
  const folder = await cacheFolder(name, [requirements], async (target) => {
    await install('python3', ['-m', 'venv', target]);
    const pip = path.join(target, 'bin', 'pip');
    await install(pip, ['install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
  });
  return path.join(folder, 'bin');
}

async function install(program: string, args: readonly string[]): Promise<void> {
  const options = { env: process.env, withinMs: INSTALL_MS };
  const { code, stdout, stderr } = await runTool(program, args, 'Install Python 3.10 or later', options);
  if (code === 0) return;
  const what = `The packages could not be installed: ${program} ${args.join(' ')}\n${stdout}${stderr}`;
  const remedy = 'Install what is named (on Debian: python3-venv), or let pip reach PyPI';
  throw new MissingToolError(what, remedy, undefined);
}
