import { mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { keptImagesContract } from '../../contract/kept-images';
import { jsonLines } from '../../support/cli';
import { cliPublisher } from '../../support/cli-publisher';
import { groupBy } from '../../support/log-records';
import { writeAgain } from '../../support/records';
import { fillDisk, hasSmallDisks, onSmallDisk } from '../../support/small-disk';
import { until } from '../../support/until';

/** The files in which a publisher has its images. */

const publisher = cliPublisher(() => ({}));
const store = () => publisher.api().stores.ipos;
const state = () => path.join(publisher.folder(), 'state');

/** So many IPOs that their images fill more than the 1 MB that stays in memory. */
function fillApi(): string[] {
  const first = store().keys()[0]!;
  const ids = Array.from({ length: 2_500 }, (_, i) => `ipo-${i}`);
  for (const id of ids) writeAgain(store(), first, { id });
  return ids;
}

const change = (id: string, name: string) => writeAgain(store(), id, { name });

const imageFiles = () => readdirSync(state()).map((name) => path.join(state(), name));

keptImagesContract(publisher);

const run = () => publisher.running('--state-dir', state());
const named = async (name: string) =>
  (await publisher.records('ipos')).filter(({ value }) => value!.after?.name === name);

describe('the file of images', () => {
  it('is the owner’s only, and goes when the next publisher begins after a kill', async () => {
    fillApi();
    const running = await run();
    const before = imageFiles();
    expect(before).toHaveLength(2);
    // Others of this machine may not even see that there are any.
    expect(statSync(state()).mode & 0o777).toBe(0o700);
    expect(before.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    await running.stop('SIGKILL');
    const next = publisher.start(['run', '--state-dir', state()]);
    await publisher.stillPolled('ipos');
    expect(imageFiles()).toHaveLength(2);
    expect(imageFiles().filter((file) => before.includes(file))).toStrictEqual([]);
    expect((await next.stop()).code).toBe(0);
  });

  it('when it is cut, is made anew from the log, and each change is published once', async () => {
    const ids = fillApi();
    const running = await run();
    for (const file of imageFiles()) truncateSync(file);
    change(ids[0]!, 'Changed');
    await until(async () => (await named('Changed')).length > 0);
    expect(running.stderr()).toMatch(/STATE_FILE_DAMAGED/);
    change(ids[1]!, 'Changed, too');
    await until(async () => (await named('Changed, too')).length > 0);
    await publisher.stillPolled('ipos');
    expect(await running.stop()).toEqual({ code: 0, signal: null });

    const changes = await publisher.records('ipos');
    const ofOne = groupBy(changes, ({ key }) => key);
    const ops = (id: string) => ofOne.get(id)!.map(({ value }) => value!.op);
    expect([ids[0]!, ids[1]!].map(ops)).toEqual([
      ['r', 'u'],
      ['r', 'u'],
    ]);
    expect(changes.filter(({ value }) => value!.op !== 'r')).toHaveLength(2);
  });
});

(hasSmallDisks ? it : it.skip)('on a full disk, images stay in memory until there is room', async () => {
  const ids = fillApi();
  mkdirSync(state());
  const env = publisher.publishing();
  const under = onSmallDisk(state(), 16, fillDisk);
  const running = publisher.start(['run', '--state-dir', state()], env, under);
  await running.sees(/cannot be written to the file: ENOSPC/, 'stderr');
  await running.sees(/ipos: (first )?snapshot complete/, 'stderr');
  change(ids[0]!, 'Changed');
  await until(async () => (await named('Changed')).length > 0);

  rmSync(path.join(`/proc/${running.pid}/root`, state(), 'filling'));
  for (const id of ids) change(id, 'Changed, too');
  await running.sees(/Images of feed ipos go into the file again/, 'stderr');
  await until(async () => (await named('Changed, too')).length === ids.length);
  expect(running.stderr().match(/cannot be written to the file/g)).toHaveLength(1);
  expect((await running.stop()).code).toBe(0);
});

it('without a folder that can be written, images stay in memory, and run and doctor say so', async () => {
  const ids = fillApi();
  writeFileSync(state(), 'a file where the folder belongs');
  const running = await run();
  expect(running.stderr()).toMatch(/No file for the images of feed ipos can be made: .*EEXIST/s);
  expect(running.stderr()).toMatch(/about 1 KB for each record/);
  change(ids[0]!, 'Changed');
  await until(async () => (await named('Changed')).length > 0);
  expect((await running.stop()).code).toBe(0);

  const { out } = await publisher.done(['doctor', '--json', '--state-dir', path.join(state(), 'images')]);
  const checks = jsonLines<Record<string, string>>(out);
  expect(checks.find(({ check }) => check === 'state-folder')).toMatchObject({
    state: 'warning',
    found: expect.stringContaining('1 KB for each record'),
    do: expect.stringContaining('HIGHWATER_STATE_DIR'),
  });
});
