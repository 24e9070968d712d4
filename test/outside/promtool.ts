import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../support/build';
import { cacheFolder } from './cache-folder';
import { run } from './command';
import { isMissing, MissingToolError } from './missing-tool';
import type { Step } from './run';

const BUILD_MS = 15 * 60_000;
const files = ['go.mod', 'go.sum'].map((name) => path.join(__dirname, 'promtool', name));
const source = 'github.com/prometheus/prometheus/cmd/promtool';

/** Prometheus' own tool, over the rules and over what they do with series. */
export const alertRules: Step = {
  name: 'ops/alerts.yaml is of rules that Prometheus takes, each fires when it should, and none on a healthy installation',
  async run() {
    const ops = path.join(root, 'ops');
    await promtool(['check', 'rules', '--lint=all', '--lint-fatal', 'alerts.yaml'], ops);
    await promtool(['test', 'rules', 'alerts.test.yaml'], ops);
  },
};

/** What the Prometheus of docker-compose.yml runs by, with its files where the containers have them. */
export const scrapeConfig: Step = {
  name: 'deploy/compose/prometheus.yml is what Prometheus takes',
  async run() {
    const compose = path.join(root, 'deploy', 'compose');
    const folder = mkdtempSync(path.join(tmpdir(), 'highwater-prometheus-'));
    try {
      const text = readFileSync(path.join(compose, 'prometheus.yml'), 'utf8');
      writeFileSync(path.join(folder, 'prometheus.yml'), text.replace('/run/secrets', compose));
      copyFileSync(path.join(root, 'ops', 'alerts.yaml'), path.join(folder, 'alerts.yaml'));
      await promtool(['check', 'config', 'prometheus.yml'], folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function promtool(args: readonly string[], cwd: string): Promise<void> {
  const folder = await cacheFolder('promtool', files, build);
  const { code, stdout, stderr } = await run(path.join(folder, 'promtool'), args, { cwd, withinMs: 60_000 });
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
}

/** As the files pin it. Without the clients of clouds, by which Prometheus finds what to scrape: they are most of the building. */
async function build(folder: string): Promise<void> {
  for (const file of files) copyFileSync(file, path.join(folder, path.basename(file)));
  const args = ['build', '-tags', 'remove_all_sd', '-o', path.join(folder, 'promtool'), source];
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
