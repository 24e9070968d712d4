import { retryDeadLetters } from '../../../src/pipeline/rounds/retry-dead-letters';
import { commandLineHere, jsonLines, outcome } from '../../support/cli';
import { commitRecords, leaveDeadLetters } from '../../support/dead-letters';
import { testFeed } from '../../support/feeds';
import { ipo } from '../../support/records';
import { scriptedVendor } from '../../support/scripted-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

const cli = commandLineHere();
const feed = testFeed('ipos', { pageSize: 100 });
const vendor = scriptedVendor();
let publisher: TestPublisher;

beforeEach(async () => {
  vendor.rows = [ipo({ id: 'a', updated: 5 })];
  publisher = await testPublisher(feed, vendor);
  await publisher.poll();
});

/** Commits records that are not highwater's to a topic of the feed. */
async function leaveForeign(topic: string): Promise<void> {
  const values = {
    'no Avro': Buffer.from('{"a":1}'),
    'a schema that nobody registered': Buffer.from([0, 0, 0, 15, 160, 2]),
    'the same schema again': Buffer.from([0, 0, 0, 15, 160, 4]),
  };
  const records = Object.entries(values).map(([key, value]) => ({
    topic,
    key,
    value,
    headers: {},
    timestamp: Date.now(),
  }));
  await commitRecords(publisher.owned(), records);
}

const run = (...args: string[]) => outcome(cli([...args, '--data-dir', publisher.dataDir]));

it('tail shows the records around them, names each or its schema once, and exits with 1', async () => {
  await leaveForeign('ipos');
  vendor.rows = [ipo({ id: 'b', updated: 6 })];
  await publisher.poll();

  const { code, out, err } = await run('tail', 'ipos', '--no-follow', '--json');
  const shown = jsonLines<{ key: string }>(out);
  expect(shown.map(({ key }) => key).sort()).toEqual(['a', 'b']);
  expect(code).toBe(1);
  expect(err.match(/^error .*$/gm)).toEqual([
    expect.stringMatching(/^error VALUE_FOREIGN {2}partition \d of topic ipos, offset \d+, key no Avro: /),
    expect.stringMatching(/^error SCHEMA_UNKNOWN {2}.* id 4000$/),
  ]);
});

it('dead-letters list and retry deal with the letters beside them', async () => {
  const row = ipo({ id: 'b', updated: 6 });
  vendor.rows = [row];
  const raw = JSON.stringify(row);
  await leaveDeadLetters(feed, publisher.owned(), { raw });
  await leaveForeign('ipos.dead-letters');

  const { code, out, err } = await run('dead-letters', 'list', 'ipos', '--json');
  expect(jsonLines<{ raw: string }>(out).map((letter) => letter.raw)).toEqual([raw]);
  expect([code, err.match(/^error \w+/gm)]).toEqual([1, ['error VALUE_FOREIGN', 'error SCHEMA_UNKNOWN']]);

  expect(await retryDeadLetters(publisher.owned().deps)).toMatchObject({ retried: 1, still: 3 });
});

it('status goes by the source offset before it', async () => {
  // Behind the last record of its publisher.
  publisher.damage(`INSERT INTO records
    SELECT topic, partition, offset + 1, timestamp, 'another key', '{}', X'7B7D' FROM records
    WHERE topic = 'ipos.source-offset' ORDER BY offset DESC LIMIT 1`);
  const { out, err } = await run('status', '--json', '--feeds', 'ipos');
  expect([JSON.parse(out), err]).toMatchObject([{ feed: 'ipos', records: 1 }, '']);
});
