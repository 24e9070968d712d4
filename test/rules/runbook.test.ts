import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { metricTable } from '../../src/admin/metrics/metric-table';
import { backupCommand, restoreCommand } from '../../src/cli/backup';
import { completionCommand } from '../../src/cli/completion';
import { configCommand } from '../../src/cli/config';
import { copyCommand } from '../../src/cli/copy';
import { deliverCommand } from '../../src/cli/deliver';
import { demoCommand } from '../../src/cli/demo';
import { doctorCommand } from '../../src/cli/doctor/doctor';
import { explainCommand } from '../../src/cli/explain';
import { exportCommand } from '../../src/cli/export/export';
import { healthcheckCommand } from '../../src/cli/healthcheck';
import { initCommand } from '../../src/cli/init/init';
import { feedsCommand, topicsCommand } from '../../src/cli/list';
import { deadLettersCommand } from '../../src/cli/operators/dead-letters';
import { groupsCommand } from '../../src/cli/operators/groups';
import { operatorCommands } from '../../src/cli/operators/operator-commands';
import { runWorkerCommand } from '../../src/cli/run';
import { schemasCommand } from '../../src/cli/schemas';
import { simulateCommand } from '../../src/cli/simulate';
import { statusCommand } from '../../src/cli/status';
import { tailCommand } from '../../src/cli/tail';
import { errorKinds } from '../../src/errors';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const pagesIn = (folder: string) => readdirSync(path.join(root, folder)).map((name) => `${folder}/${name}`);
const runbook = pagesIn('docs/runbook');
const situations = runbook.filter((page) => !/(README|alerts)\.md$/.test(page));
const pages = [
  ...pagesIn('docs').filter((page) => page.endsWith('.md')),
  ...runbook,
  'README.md',
  'SECURITY.md',
  'examples/README.md',
];

const run = async () => {};
const commands = [
  backupCommand(run),
  restoreCommand(run),
  copyCommand(run),
  demoCommand(run),
  runWorkerCommand(run),
  exportCommand(run),
  tailCommand(run),
  statusCommand(run),
  ...operatorCommands(run),
  deadLettersCommand(run),
  deliverCommand(run),
  doctorCommand(run),
  explainCommand(run),
  healthcheckCommand(run),
  initCommand(run),
  schemasCommand(run),
  simulateCommand(run),
  configCommand(run),
  feedsCommand(run),
  topicsCommand(run),
  groupsCommand(run),
  completionCommand(run, () => []),
];
const { groups } = parse(read('ops/alerts.yaml')) as { groups: { rules: { alert: string }[] }[] };
const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
const variables = new Set(read('docs/configuration.md').match(/\b[A-Z]+(?:_[A-Z]+)+\b/g));

/** Commands and flags in the code of a page that highwater does not have. */
function wrongCommands(text: string): string[] {
  const code = [...text.matchAll(/```.*?```|`[^`\n]+`/gs)].map(([block]) => block).join('\n');
  return [
    ...code.matchAll(/(?:^|[`$|;(] ?|do |npx |\w+=\S+ )highwater ([a-z][a-z-]*)([^`\n|;#]*)/gm),
  ].flatMap(([written, name = '', rest = '']) => {
    const command = commands.find((one) => one.name() === name);
    if (command === undefined) return [written];
    const [, part = ''] = /^ ([a-z-]+)/.exec(rest) ?? [];
    const inner = command.commands.find((one) => one.name() === part) ?? command;
    const known = ['--help', ...inner.options.map(({ long }) => long)];
    return (rest.match(/(?<= )--[a-z-]+/g) ?? [])
      .filter((flag) => !known.includes(flag))
      .map((flag) => `${name} ${flag}`);
  });
}

/** Names in a text that look like the program's own and are not there. */
function wrongNames(text: string): string[] {
  const names = text.match(/\b[A-Z]+(?:_[A-Z]+)+\b(?![*…_])/g) ?? [];
  const ours = /^(HIGHWATER|KAFKA|SCHEMA|SOURCE|LOG|STATE|REGISTRY|COMMAND|CONSUMER|SCAN)_/;
  return [
    ...names.filter((name) => ours.test(name) && !variables.has(name) && !(name in errorKinds)),
    ...(text.match(/\bhighwater_[a-z_]+[a-z]\b/g) ?? []).filter(
      (name) => !(name.replace(/_(sum|count|bucket)$/, '') in metricTable),
    ),
    ...(text.match(/\bHighwater[A-Z]\w+/g) ?? []).filter(
      (name) => name !== 'HighwaterError' && !alerts.includes(name),
    ),
  ];
}

it('finds what does not exist', () => {
  const text =
    'run `highwater statsu`, `highwater reset ipos --now`, HIGHWATER_NO_SUCH, `highwater_x_total`, HighwaterOdd';
  expect(wrongCommands(text)).toEqual(['`highwater statsu', 'reset --now']);
  expect(wrongNames(text)).toEqual(['HIGHWATER_NO_SUCH', 'highwater_x_total', 'HighwaterOdd']);
  expect(wrongCommands('`highwater reconcile ipos --allow-deletes 60`')).toStrictEqual([]);
});

it.each(pages)('%s names commands, flags, settings, codes, metrics and alerts that exist', (page) => {
  const text = read(page);
  expect([...wrongCommands(text), ...wrongNames(text)]).toStrictEqual([]);
});

it('docs/commands.md has every command', () => {
  const page = read('docs/commands.md');
  const missing = commands
    .map((command) => command.name())
    .filter((name) => !page.includes(`\`highwater ${name}`));
  expect(missing).toStrictEqual([]);
});

describe('docs/runbook', () => {
  it('has every page in its index', () => {
    const index = read('docs/runbook/README.md');
    const names = runbook.map((page) => path.basename(page)).filter((name) => name !== 'README.md');
    expect(names.filter((name) => !index.includes(`](${name})`))).toStrictEqual([]);
  });

  it('has every alert', () => {
    expect(alerts.filter((alert) => !read('docs/runbook/README.md').includes(`\`${alert}\``))).toStrictEqual(
      [],
    );
  });

  it.each(situations)(
    '%s says what is seen, what is at risk and how it was tried, and names its tests',
    (page) => {
      const text = read(page);
      expect(text).toMatch(/^Tried\b/m);
      expect(text).toContain('**At risk.**');
      expect(text).toMatch(/^Held by: `test\//m);
    },
  );
});
