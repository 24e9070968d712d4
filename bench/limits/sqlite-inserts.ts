import path from 'node:path';
import Database from 'libsql';
import { ipos } from '../../src/feeds/ipos';
import { fromDist } from '../dist';
import { measureOwn } from '../measure/own-usage';
import { limitInput } from './limit-input';
import { eventHeaders, imageHeaders, type Message, sampleMessages } from './messages';

/** Rows of one statement. */
const ROWS = 50;

/** Event and image of each record as rows of a log file, a transaction a page. */
async function main(): Promise<void> {
  const input = limitInput();
  const messages = await sampleMessages(input);
  const { prepareFile } = fromDist<typeof import('../../src/log/local/file/file-format')>(
    'log/local/file/file-format',
  );
  const file = path.join(input.folder, 'highwater.db');
  const db = new Database(file);
  prepareFile(db, file);
  const row = '(?, ?, ?, ?, ?, ?, ?)';
  const insert = db.prepare(`INSERT INTO records VALUES ${Array(ROWS).fill(row).join(', ')}`);
  const headers = [JSON.stringify(eventHeaders), JSON.stringify(imageHeaders)];
  const measured = measureOwn();
  for (let at = 0; at < input.records; at += ipos.pageSize) {
    db.exec('BEGIN IMMEDIATE');
    for (let i = at; i < at + ipos.pageSize; i += ROWS / 2) {
      const values: unknown[] = [];
      for (let n = i; n < i + ROWS / 2; n++) {
        const { key, event, image } = messages[n % messages.length] as Message;
        values.push('ipos', 0, n, Date.now(), key, headers[0], event);
        values.push('ipos.current', 0, n, Date.now(), key, headers[1], image);
      }
      insert.run(values);
    }
    db.exec('COMMIT');
  }
  console.log(JSON.stringify({ records: input.records, ...measured() }));
  db.close();
}

void main();
