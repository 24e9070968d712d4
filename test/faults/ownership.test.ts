import path from 'node:path';
import Database from 'libsql';
import { feedNames } from '../../src/simulator/endpoints';
import { judge } from '../support/judge/judge';
import { observe } from '../support/judge/observe';
import { describeVerdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';
import { type CliProcess, cliStarter } from './cli-process';
import { publisherEnv, scannedAfter, settle } from './crash-run';
import { type RestlessMarket, startRestlessMarket } from './restless-market';

const folder = tempFolder();
let market: RestlessMarket;
let cli: Awaited<ReturnType<typeof cliStarter>>;

beforeEach(async () => {
  cli = await cliStarter();
  market = await startRestlessMarket(7, {
    records: { insights: 300, analysts: 150, ipos: 400 },
    everyMs: 10,
  });
}, 120_000);
afterEach(async () => {
  await cli.killAll();
  await market.stop();
});

function starter(): { start: () => CliProcess; file: string } {
  const dataDir = path.join(folder(), 'data');
  const env = publisherEnv(market, dataDir);
  const start = (): CliProcess => cli.start(['run'], { env, cwd: dataDir });
  return { start, file: path.join(dataDir, 'highwater.db') };
}

async function expectGoodEnd(publisher: CliProcess, file: string): Promise<void> {
  await settle(publisher, market, file);
  publisher.signal('SIGTERM');
  expect(await publisher.exited).toBe(0);
  expect(describeVerdict(judge(file, market.truth()))).toBe('nothing to object to');
}

describe('a second publisher', () => {
  it('takes over from one that was killed the moment before', async () => {
    const { start, file } = starter();
    const first = start();
    await until(() => Object.values(observe(file, feedNames)).some(({ commit }) => commit > 20));
    first.signal('SIGKILL');
    const second = start();
    await first.exited;
    const [before] = Object.values(observe(file, feedNames));
    await expectGoodEnd(second, file);
    const [after] = Object.values(observe(file, feedNames));
    expect(after!.owner_epoch).not.toBe(before!.owner_epoch);
  }, 60_000);

  it('is refused by name while the owner is merely stopped, which then goes on', async () => {
    const { start, file } = starter();
    const first = start();
    await scannedAfter(0, first, file);
    first.signal('SIGSTOP');
    const before = observe(file, feedNames);
    const second = start();
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`process ${first.pid} on`);
    expect(observe(file, feedNames)).toEqual(before);

    first.signal('SIGCONT');
    await until(() =>
      feedNames.every((feed) => observe(file, feedNames)[feed]!.commit > before[feed]!.commit),
    );
    await expectGoodEnd(first, file);
    const owners = Object.values(observe(file, feedNames)).map(({ owner_epoch }) => owner_epoch);
    expect(owners).toEqual(Object.values(before).map(({ owner_epoch }) => owner_epoch));
  }, 60_000);
});

describe('a log file that another program keeps locked', () => {
  it('costs retries and nothing else', async () => {
    const { start, file } = starter();
    const publisher = start();
    await scannedAfter(0, publisher, file);
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    await until(() => publisher.output().includes('LOG_BUSY'), 30_000);
    other.exec('ROLLBACK');
    other.close();
    await expectGoodEnd(publisher, file);
  }, 90_000);
});
