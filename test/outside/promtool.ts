import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../support/build';
import { run } from './command';
import { goTool } from './go-tool';
import type { Step } from './run';

/** Without the clients of clouds, by which Prometheus finds what to scrape: they are most of the building. */
const tool = {
  name: 'promtool',
  source: 'github.com/prometheus/prometheus/cmd/promtool',
  folder: path.join(__dirname, 'promtool'),
  tags: 'remove_all_sd',
};

/** Prometheus' own tool checks the rules and their results for given series. */
export const alertRules: Step = {
  name: 'ops/alerts.yaml is of rules that Prometheus takes, each fires when it should, and none on a healthy installation',
  async run() {
    const ops = path.join(root, 'ops');
    await promtool(['check', 'rules', '--lint=all', '--lint-fatal', 'alerts.yaml'], ops);
    await promtool(['test', 'rules', 'alerts.test.yaml'], ops);
  },
};

/** The configuration of Prometheus in docker-compose.yml, with its files at their paths in the containers. */
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
  const { code, stdout, stderr } = await run(await goTool(tool), args, { cwd, withinMs: 60_000 });
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
}
