import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { publishedTopics } from '../../tools/generate/catalogue';
import { root } from '../support/build';
import { cacheFolder } from './cache-folder';
import { run } from './command';
import { MissingToolError } from './missing-tool';
import type { Step } from './run';

const INSTALL_MS = 300_000;
const project = path.join(__dirname, 'asyncapi');
const packages = ['package.json', 'package-lock.json'].map((name) => path.join(project, name));

/** There is a later AsyncAPI; 3.0 is what more tools read. The only finding of the parser that is accepted. */
const accepted = 'asyncapi-latest-version';

interface Finding {
  readonly code: string;
  readonly message: string;
  readonly at: string;
}

/** AsyncAPI's own parser, with its parser for Avro: structure, bindings, references, payloads, examples. */
export const asyncapiFile: Step = {
  name: 'docs/asyncapi.yaml keeps to AsyncAPI, its Avro and examples too',
  async run() {
    const folder = await cacheFolder('asyncapi', packages, install);
    const args = [path.join(project, 'check.cjs'), folder, path.join(root, 'docs', 'asyncapi.yaml')];
    const { code, stdout, stderr } = await run(process.execPath, args, { withinMs: 60_000 });
    if (code !== 0) throw new Error(stderr);
    const { found, topics } = JSON.parse(stdout) as { found: readonly Finding[]; topics: readonly string[] };
    const wrong = found.filter((finding) => finding.code !== accepted);
    if (wrong.length > 0) throw new Error(wrong.map((one) => `${one.at}: ${one.message}`).join('\n'));
    const missing = publishedTopics().filter(({ spec }) => !topics.includes(spec.name));
    if (missing.length > 0)
      throw new Error(`no channel for ${missing.map(({ spec }) => spec.name).join(', ')}`);
  },
};

async function install(folder: string): Promise<void> {
  for (const file of packages) copyFileSync(file, path.join(folder, path.basename(file)));
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { code, stdout, stderr } = await run('npm', args, { cwd: folder, withinMs: INSTALL_MS });
  if (code === 0) return;
  const what = `The packages could not be installed: npm ${args.join(' ')}\n${stdout}${stderr}`;
  throw new MissingToolError(what, 'Let npm reach its registry', undefined);
}
