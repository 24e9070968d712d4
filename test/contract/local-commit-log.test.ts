import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from '../../src/log/local/file/sqlite';
import { openLocalLog } from '../../src/log/local/local-log';
import { commitLogContract } from './commit-log';

commitLogContract('the embedded log', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'highwater-'));
  /** As any program may that opens the file. The trigger stands for what SQLite itself refuses half-way. */
  function outside(sql: string): void {
    const db = connect(path.join(dataDir, 'highwater.db'), 5000);
    db.exec(sql);
    db.close();
  }
  return {
    prefix: '',
    secondInstance: 'is refused',
    open: async () => openLocalLog({ dataDir }).commitLog,
    breakCommits: async () =>
      outside(
        `CREATE TRIGGER broken BEFORE INSERT ON records WHEN NEW.topic LIKE '%.source-offset'
         BEGIN SELECT RAISE(ABORT, 'broken on purpose'); END`,
      ),
    mendCommits: async () => outside('DROP TRIGGER broken'),
    close: () => rm(dataDir, { recursive: true, force: true }),
  };
});
