import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { tempFolder } from '../support/temp-folder';
import { type CollectedLog, collectedLog } from './collected-log';

const folder = tempFolder();
let db: Database.Database;
let log: CollectedLog;
beforeEach(() => {
  mkdirSync(path.join(folder(), 'data'));
  db = new Database(path.join(folder(), 'data', 'highwater.db'));
  db.exec(`
    CREATE TABLE records (topic TEXT, partition INTEGER, offset INTEGER, timestamp INTEGER, key TEXT, headers TEXT, value BLOB);
    CREATE TABLE schemas (id INTEGER, subject TEXT, version INTEGER, schema TEXT);
  `);
  log = collectedLog(path.join(folder(), 'data'));
});
afterEach(() => {
  log.stop();
  db.close();
});

function publish(...offsets: number[]): void {
  for (const offset of offsets)
    db.prepare(`INSERT INTO records VALUES ('ipos', 1, ?, 0, 'id', '{}', x'00')`).run(offset);
}
const change = (sql: string) => db.exec(sql);
const offsets = () => log.read((seen) => seen.rows('ipos').map(({ offset }) => offset));

it('a record that retention removed after it was read is still shown', async () => {
  publish(0, 1);
  expect(await offsets()).toEqual([0, 1]);
  publish(2);
  change('DELETE FROM records WHERE offset < 1');
  expect(await offsets()).toEqual([0, 1, 2]);
  expect(log.checkTail()).toMatchObject({ collected: 3, kept: 2 });
});

it('a record that retention removed before it was read is an error', async () => {
  publish(0, 1, 2);
  await offsets();
  publish(3, 4);
  change('DELETE FROM records WHERE offset < 4');
  await expect(offsets()).rejects.toThrow(
    'ipos/1@4 (id) is the next record to read, and 3 were read before it',
  );
});

it.each([
  ['is lost', 'DELETE FROM records WHERE offset = 1'],
  ['is the last one and lost', 'DELETE FROM records WHERE offset = 2'],
  ['has another value', "UPDATE records SET value = x'01' WHERE offset = 1"],
  ['is there twice', 'INSERT INTO records SELECT * FROM records WHERE offset = 2'],
  [
    'was never read',
    'INSERT INTO records SELECT topic, partition, 3, timestamp, key, headers, value FROM records WHERE offset = 2',
  ],
])('a log in which a record %s is not the tail of what was read', async (_, sql) => {
  publish(0, 1, 2);
  await offsets();
  change(sql);
  expect(() => log.checkTail()).toThrow(/ipos\/1@/);
});
