import path from 'node:path';
import { root } from '../support/build';
import { run } from './command';
import type { Step } from './run';
import { virtualEnvironment } from './virtual-environment';

/** All of hadolint's findings, also suggestions. */
export const dockerfileStyle: Step = {
  name: 'hadolint has nothing to say about the Dockerfile',
  async run() {
    const bin = await virtualEnvironment('deploy', path.join(__dirname, 'deploy', 'requirements.txt'));
    const { code, stdout, stderr } = await run(path.join(bin, 'hadolint'), [path.join(root, 'Dockerfile')], {
      withinMs: 60_000,
    });
    if (code !== 0 || stdout !== '') throw new Error(`${stdout}${stderr}`);
  },
};
