import { retryDeadLetters } from '../../../src/pipeline/rounds/retry-dead-letters';
import { commandLineHere, jsonLines, outcome } from '../../support/cli';
import { leaveDeadLetters, sha256 } from '../../support/dead-letters';
import { testFeed } from '../../support/feeds';
import { ipo } from '../../support/records';
import { scriptedVendor } from '../../support/scripted-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

const cli = commandLineHere();
const feed = testFeed('ipos', { pageSize: 100 });
const vendor = scriptedVendor();
let publisher: TestPublisher;

beforeEach(async () => {
  publisher = await testPublisher(feed, vendor);
});

const list = (...args: string[]) =>
  outcome(cli(['dead-letters', 'list', ...args, '--data-dir', publisher.dataDir]));

it('shows what is kept, the oldest first, and nothing that was retried', async () => {
  const row = JSON.stringify(ipo({ id: 'a', updated: 5 }));
  const bad = JSON.stringify({ name: '\u001b[31mwithout id', updated: 1 });
  const cut = `{"id":"b","notes":"${'é'.repeat(1000)}`;
  await leaveDeadLetters(
    feed,
    publisher.owned(),
    { raw: bad, ageMs: 900_000 },
    { raw: row, ageMs: 200 },
    { raw: cut, bytes: 5_000_000, ageMs: 3 * 86_400_000 },
  );
  const { code, out } = await list('ipos');
  expect(code).toBe(0);
  const lines = out.split('\n');
  expect(lines[0]).toBe(
    `ipos  ${sha256(cut).slice(0, 12)}  5000000 bytes, the first ${Buffer.byteLength(cut)} kept, 3 d old`,
  );
  expect(lines[1]).toBe('  not read');
  expect(lines[2]).toBe(`  ${cut.slice(0, 300)}…`);
  expect(lines[3]).toBe(`ipos  ${sha256(bad).slice(0, 12)}  ${bad.length} bytes, 15 min old`);
  expect(lines[5]).toBe(`  ${bad}`);
  expect(lines).toHaveLength(10);

  vendor.rows = [JSON.parse(row)];
  expect(await retryDeadLetters(publisher.owned().deps)).toEqual({
    retried: 1,
    published: 1,
    still: 2,
    tooOld: 0,
    superseded: 0,
  });
  const json = jsonLines<{ raw: string; cut: boolean }>((await list('--json')).out);
  expect(json.map(({ raw }) => raw)).toEqual([cut, bad]);
  expect(Object.keys(json[0]!)).toEqual(['feed', 'reason', 'sha256', 'bytes', 'cut', 'ts_ms', 'raw']);
  expect(json.map((letter) => letter.cut)).toEqual([true, false]);
});

it('says when there is nothing, no such feed, or no log', async () => {
  expect(await list()).toMatchObject({ code: 0, out: 'No dead letters of insights, analysts, ipos.\n' });
  expect(await list('--json')).toMatchObject({ code: 0, out: '' });
  const unknown = await list('ipo');
  expect(unknown.code).toBe(2);
  expect(unknown.err).toContain('there is no feed ipo; there are insights, analysts, ipos');
  const process = cli(['dead-letters', 'list', '--data-dir', `${publisher.dataDir}/none`]);
  expect(await process.ended()).toMatchObject({ code: 1 });
  expect(process.stderr()).toContain('LOG_MISSING');
});
