import path from 'node:path';
import { root } from '../support/build';
import { run } from './command';
import type { Step } from './run';
import { virtualEnvironment } from './virtual-environment';

/** The schema of the Compose specification, as check-jsonschema carries it. */
export const composeFile: Step = {
  name: 'docker-compose.yml keeps to the Compose specification',
  async run() {
    const file = path.join(root, 'docker-compose.yml');
    const args = ['--builtin-schema', 'vendor.compose-spec', file];
    const { code, stdout, stderr } = await run(await schemaChecker(), args, {
      withinMs: 60_000,
    });
    if (code !== 0) throw new Error(`${stdout}${stderr}`);
  },
};

/** check-jsonschema. */
export async function schemaChecker(): Promise<string> {
  const bin = await virtualEnvironment('compose', path.join(__dirname, 'compose', 'requirements.txt'));
  return path.join(bin, 'check-jsonschema');
}
