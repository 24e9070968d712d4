import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { scenarios } from '../../src/simulator/scenarios';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { codeBlocks } from '../outside/guide';
import { root } from '../support/build';
import { commandLineHere, nodePrograms } from '../support/cli';
import { expectSample, readable } from '../support/samples';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** The steps of docs/tutorial.md, with an API that moves only when it is told to. */

const here = commandLineHere();
const program = nodePrograms();
const folder = tempFolder();
let api: Simulator;
beforeEach(async () => {
  api = await startSimulator({ records: scenarios.calm.options.records });
});
afterEach(() => api.stop());

it('the tutorial shows what its steps print', async () => {
  const env = { HIGHWATER_API_URL: api.url, HIGHWATER_API_TOKEN: api.token };
  const surroundings = { cwd: folder(), env };
  const kept = (name: string, printed: string) =>
    expectSample(name, readable(printed, { ...surroundings, instead: { [folder()]: '/home/me/highwater' } }));
  const publisher = here(['run', '--poll-interval', '2s'], surroundings);
  const feeds = ['analysts', 'ipos', 'insights'];
  const snapshots: string[] = [];
  for (const feed of feeds) {
    const [line] = await publisher.sees(new RegExp(`^.*${feed}: snapshot complete.*$`, 'm'), 'stderr');
    snapshots.push(line);
  }
  const [first] = await publisher.sees(/^.*Writing to.*$/m, 'stderr');
  kept('tutorial-run', [first, ...snapshots].join('\n'));

  const status = async () => {
    const asked = here(['status'], surroundings);
    await asked.ended();
    return asked.stdout();
  };
  await until(async () => (await status()).includes('All 3 feeds are up to date.'));
  kept('tutorial-status', (await status()).replace(/^The log takes.*\n/m, ''));

  const tail = here(['tail', 'ipos.deal-status'], surroundings);
  // In one go: a poll sees all of these events or none.
  for (let event = 0; event < 60; event++) api.marketDay.step();
  await tail.sees(/\n/);
  const all = here(['tail', 'ipos.deal-status', '--from-beginning', '--no-follow'], surroundings);
  await all.ended();
  const lines = all.stdout().trimEnd().split('\n');
  kept('tutorial-tail', lines.find((line) => line.includes('Amended → Priced'))!);

  writeFileSync(path.join(folder(), 'desk.mjs'), codeBlocks('../tutorial.md', 'js')[0]!);
  mkdirSync(path.join(folder(), 'node_modules'));
  symlinkSync(root, path.join(folder(), 'node_modules', 'highwater'));
  const desk = program(['desk.mjs'], surroundings);
  await desk.sees(new RegExp(`(.*\\n){${lines.length}}`));
  // Keys differ from run to run, and the order of the partitions with them.
  kept('tutorial-desk', desk.stdout().trimEnd().split('\n').sort().slice(0, 3).join('\n'));
});
