import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { walWatch } from '../../../../src/log/local/file/checkpointer';
import { networkNamed, networkOf } from '../../../../src/log/local/file/network-folder';
import { connectReadOnly, prepare } from '../../../../src/log/local/file/sqlite';
import { localLogs } from '../../../support/local-logs';
import { batch, record } from '../../../support/log-records';
import { quietLogger } from '../../../support/source';

const { folder, file, topics, own } = localLogs();
const MB = 1_000_000;

it('warns when the write-ahead log grows on although it is larger than without a foreign reader, and at twice the size again', () => {
  const warnings: unknown[] = [];
  const watch = walWatch(file(), {
    ...quietLogger(),
    warn: (_message, facts) => warnings.push(facts?.bytes),
  });
  watch();
  writeFileSync(`${file()}-wal`, '');
  for (const size of [197, 300, 300, 100, 260, 267, 300, 533, 535, 100, 260, 267].map((mb) => mb * MB)) {
    truncateSync(`${file()}-wal`, size);
    watch();
  }
  expect(warnings).toEqual([267 * MB, 535 * MB, 267 * MB]);
});

it('counts the write-ahead log that a foreign reader holds as space of the log', async () => {
  const { log, session } = await own();
  const reader = connectReadOnly(file(), 5_000);
  reader.exec('BEGIN');
  prepare(reader, 'SELECT count(*) FROM records').all();
  const values = Array.from({ length: 50 }, (_, i) => record('ipos', `${i}`, Buffer.alloc(100_000)));
  await session.commit(batch(session, topics, values));
  const wal = statSync(`${file()}-wal`).size;
  expect(wal).toBeGreaterThan(5 * MB);
  expect(log.space()!.total).toBeGreaterThanOrEqual(wal + statSync(file()).size);
  reader.exec('COMMIT');
  reader.close();
});

it.each([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xff534d42 | 0, 'CIFS'],
  [0xef53, null],
])('takes a file system of type %i for %s', (type, name) => {
  expect(networkNamed(type)).toBe(name);
});

it('takes the folder of temporary files for a local one', () => {
  expect(networkOf(folder())).toBeNull();
});
