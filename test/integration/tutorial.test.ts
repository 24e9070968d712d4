import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { scenarios } from '../../src/simulator/scenarios';
import { freePort } from '../../tools/servers/ports';
import { codeBlocks } from '../outside/guide';
import { root } from '../support/build';
import { type CommandRun, commandLineHere, nodePrograms } from '../support/cli';
import { expectSample, readable } from '../support/samples';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** The steps of docs/tutorial.md, with an API that moves only when it is told to. */

const here = commandLineHere();
const program = nodePrograms();
const folder = tempFolder();
const page = readFileSync(path.join(root, 'docs', 'tutorial.md'), 'utf8');
const api = simulatedApi(scenarios.calm.options.records);

it('the tutorial shows what its steps print', async () => {
  const env = apiEnv(api());
  const surroundings = { cwd: folder(), env };
  const kept = (name: string, printed: string) =>
    expectSample(name, readable(printed, { ...surroundings, instead: { [folder()]: '/home/me/highwater' } }));
  const left = new Set(
    Array.from(page.matchAll(/^npx highwater (.+)$|`npx highwater ([^`]+)`/gm), ([, a, b]) => a ?? b!),
  );
  /** A command as the tutorial has it. */
  const npx = (command: string): CommandRun => {
    left.delete(command);
    // Any free port.
    return here(command.replace('8090', '0').split(' '), surroundings);
  };
  const simulator = npx('simulate --port 8090');
  await simulator.sees(/address {2}http:\/\/127\.0\.0\.1:\d+\n\s+token {4}simulator-token/);
  simulator.signal('SIGINT');
  // An API that moves only when it is told to takes its place.
  const publisher = npx('run --poll-interval 2s');
  const feeds = ['analysts', 'ipos', 'insights'];
  const snapshots: string[] = [];
  for (const feed of feeds) {
    const [line] = await publisher.sees(
      new RegExp(`^.*${feed}: (first )?snapshot complete.*$`, 'm'),
      'stderr',
    );
    snapshots.push(line);
  }
  const [first] = await publisher.sees(/^.*Writing to.*$/m, 'stderr');
  kept('tutorial-run', [first, ...snapshots].join('\n'));

  const status = async () => {
    const asked = npx('status');
    await asked.ended();
    return asked.stdout();
  };
  await until(async () => (await status()).includes('All 3 feeds are up to date.'));
  kept('tutorial-status', (await status()).replace(/^The log takes.*\n/m, ''));

  const tail = npx('tail ipos.deal-status');
  // In one go: a poll sees all of these events or none.
  for (let event = 0; event < 60; event++) api().marketDay.step();
  await tail.sees(/\n/);
  const all = here(['tail', 'ipos.deal-status', '--from-beginning', '--no-follow'], surroundings);
  await all.ended();
  const lines = all.stdout().trimEnd().split('\n');
  kept('tutorial-tail', lines.find((line) => line.includes('Amended → Priced'))!);

  const whole = npx('tail ipos --json -n 1 --no-follow');
  expect(await whole.ended()).toMatchObject({ code: 0 });
  const parts = ['before', 'after', 'changed_fields'];
  expect(Object.keys(JSON.parse(whole.stdout()).value)).toEqual(expect.arrayContaining(parts));

  await publisher.stop('SIGINT');
  const changes = async () => {
    const read = here(['tail', 'ipos', '--json', '--no-follow'], surroundings);
    await read.ended();
    return read.stdout().trimEnd().split('\n');
  };
  const before = await changes();
  const again = npx('run --poll-interval 2s');
  api().marketDay.step();
  await until(async () => (await status()).includes('All 3 feeds are up to date.'));
  const ids = (await changes()).map((line) => JSON.parse(line).headers.ce_id);
  expect(ids.length).toBeGreaterThanOrEqual(before.length);
  expect(new Set(ids).size).toBe(ids.length);
  expect(again.stderr()).not.toContain('first snapshot');

  writeFileSync(path.join(folder(), 'desk.mjs'), codeBlocks('../tutorial.md', 'js')[0]!);
  mkdirSync(path.join(folder(), 'node_modules'));
  symlinkSync(root, path.join(folder(), 'node_modules', 'highwater'));
  const desk = program(['desk.mjs'], surroundings);
  await desk.sees(new RegExp(`(.*\\n){${lines.length}}`));
  // Keys differ from run to run, and the order of the partitions with them.
  kept('tutorial-desk', desk.stdout().trimEnd().split('\n').sort().slice(0, 3).join('\n'));

  const port = await freePort();
  const onPort = (text: string) => text.replace('8091', String(port));
  symlinkSync(
    path.join(root, 'node_modules', 'standardwebhooks'),
    path.join(folder(), 'node_modules', 'standardwebhooks'),
  );
  writeFileSync(path.join(folder(), 'hook-secret'), `whsec_${randomBytes(32).toString('base64')}`);
  writeFileSync(path.join(folder(), 'receiver.mjs'), onPort(codeBlocks('../tutorial.md', 'js')[1]!));
  writeFileSync(path.join(folder(), 'desk.yaml'), onPort(codeBlocks('../tutorial.md', 'yaml')[0]!));
  const receiver = program(['receiver.mjs'], surroundings);
  npx('deliver --config desk.yaml');
  const withdrawn = lines.filter((line) => line.includes('→ WITHDRAWN'));
  expect(withdrawn.length).toBeGreaterThan(0);
  await receiver.sees(new RegExp(`(.* is Withdrawn\\n){${withdrawn.length}}`));
  kept('tutorial-hook', receiver.stdout().trimEnd().split('\n').sort()[0]!);
  expect([...left]).toStrictEqual([]);
});
