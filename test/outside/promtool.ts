import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../support/build';
import { cacheFolder } from './cache-folder';
import { run } from './command';
import { isMissing, MissingToolError } from './missing-tool';
import type { Step } from './run';

const BUILD_MS = 15 * 60_000;
const files = ['go.mod', 'go.sum'].map((name) => path.join(__dirname, 'promtool', name));
const promtool = 'github.com/prometheus/prometheus/cmd/promtool';

/** Prometheus' own tool, over the rules and over what they do with series. */
export const alertRules: Step = {
  name: 'ops/alerts.yaml is of rules that Prometheus takes, each fires when it should, and none on a healthy installation',
  async run() {
    const folder = await cacheFolder('promtool', files, build);
    for (const args of [
      ['check', 'rules', '--lint=all', '--lint-fatal', 'alerts.yaml'],
      ['test', 'rules', 'alerts.test.yaml'],
    ]) {
      const { code, stdout, stderr } = await run(path.join(folder, 'promtool'), args, {
        cwd: path.join(root, 'ops'),
        withinMs: 60_000,
      });
      if (code !== 0) throw new Error(`${stdout}${stderr}`);
    }
  },
};

/** As the files pin it. Without the clients of clouds, by which Prometheus finds what to scrape: they are most of the building. */
async function build(folder: string): Promise<void> {
  for (const file of files) copyFileSync(file, path.join(folder, path.basename(file)));
  const args = ['build', '-tags', 'remove_all_sd', '-o', path.join(folder, 'promtool'), promtool];
  try {
    const { code, stdout, stderr } = await run('go', args, {
      cwd: folder,
      env: process.env,
      withinMs: BUILD_MS,
    });
    if (code === 0) return;
    const what = `promtool could not be built: go ${args.join(' ')}\n${stdout}${stderr}`;
    throw new MissingToolError(what, 'Let Go reach its module proxy', undefined);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new MissingToolError('Go was not found, which builds promtool', 'Install Go 1.26 or later', error);
  }
}
