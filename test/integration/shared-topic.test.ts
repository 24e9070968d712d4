import { openLocalLog } from '../../src/log/local/local-log';
import { deadline, isAscending, readAll, record } from '../support/log-records';
import { type PublisherProcess, startPublisher } from '../support/publisher-process';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const spec = { name: 'notes', partitions: 1, cleanup: 'delete', retentionMs: 60_000 } as const;
const note = (value: string, timestamp = Date.now()) => record(spec.name, 'k', value, { timestamp });
const running: PublisherProcess[] = [];

afterEach(async () => {
  for (const one of running.splice(0)) await one.kill();
});

it('takes records beside a publisher of another process, which loses no batch by it', async () => {
  const publisher = await startPublisher(folder(), { batches: 150 });
  running.push(publisher);
  const { commitLog } = openLocalLog({ dataDir: folder() });
  const texts = Array.from({ length: 60 }, (_, i) => `${i}`);
  for (const text of texts) await commitLog.append(spec, [note(text)], deadline());
  await publisher.committed(150);

  const read = await readAll(commitLog, [spec.name]);
  expect(read.map(({ value }) => String(value))).toEqual(texts);
  expect(isAscending(read.map(({ logOffset }) => logOffset))).toBe(true);
  expect(publisher.refused).toBeNull();
  await commitLog.close();
});

it('removes what is older than the topic keeps, and never gives an offset again', async () => {
  const { commitLog } = openLocalLog({ dataDir: folder() });
  const old = Date.now() - spec.retentionMs - 1;
  await commitLog.append(spec, [note('a', old), note('b', old), note('c', old)], deadline());
  // The last one stays until there is a later one, or its offset would be given again.
  await commitLog.append(spec, [], deadline());
  expect((await readAll(commitLog, [spec.name])).map(({ logOffset }) => logOffset)).toEqual([2]);

  await commitLog.append(spec, [note('d')], deadline());
  await commitLog.append(spec, [note('e')], deadline());
  const kept = await readAll(commitLog, [spec.name]);
  expect(kept.map(({ logOffset, value }) => [logOffset, String(value)])).toEqual([
    [3, 'd'],
    [4, 'e'],
  ]);
  await commitLog.close();
});
