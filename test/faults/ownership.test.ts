import path from 'node:path';
import Database from 'libsql';
import { judge } from '../support/judge/judge';
import { describeVerdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';
import { type CliProcess, cliStarter } from './cli-process';
import { publisherEnv, scannedAfter, settle } from './crash-run';
import { embeddedLog, type PublisherLog } from './publisher-log';
import { type RestlessMarket, startRestlessMarket } from './restless-market';

const folder = tempFolder();
let market: RestlessMarket;
let cli: Awaited<ReturnType<typeof cliStarter>>;

beforeEach(async () => {
  cli = await cliStarter();
  market = await startRestlessMarket(7, {
    records: { insights: 100, analysts: 50, ipos: 150 },
    everyMs: 10,
  });
});
afterEach(async () => {
  await cli.killAll();
  await market.stop();
});

function starter(): { start: () => CliProcess; log: PublisherLog; file: string } {
  const dataDir = path.join(folder(), 'data');
  const log = embeddedLog(dataDir);
  const env = publisherEnv(market, log, dataDir);
  const start = (): CliProcess => cli.start(['run'], { env, cwd: dataDir });
  return { start, log, file: path.join(dataDir, 'highwater.db') };
}

async function expectGoodEnd(publisher: CliProcess, log: PublisherLog): Promise<void> {
  await settle(publisher, market, log);
  publisher.signal('SIGTERM');
  expect(await publisher.exited).toBe(0);
  const truth = market.truth();
  expect(describeVerdict(await log.read((seen) => judge(seen, truth)))).toBe('nothing to object to');
}

describe('a log file that another program keeps locked', () => {
  it('costs retries and nothing else', async () => {
    const { start, log, file } = starter();
    const publisher = start();
    await scannedAfter(0, publisher, log);
    const other = new Database(file);
    // The publisher may be writing just now.
    other.exec('PRAGMA busy_timeout = 10000');
    other.exec('BEGIN IMMEDIATE');
    await until(() => publisher.output().includes('LOG_BUSY'));
    other.exec('ROLLBACK');
    other.close();
    await expectGoodEnd(publisher, log);
  });
});
