import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { AvroSchema } from '../../../src/avro/registry/registry';
import { connect, prepare } from '../../../src/log/local/file/sqlite';
import { openLocalLog } from '../../../src/log/local/local-log';
import { tempFolder } from '../../support/temp-folder';

const _record = (name: string, ...fields: object[]): AvroSchema => ({ type: 'record', name, fields });

describe('local schema registry', () => {
  const folder = tempFolder();
  const open = () => openLocalLog({ dataDir: folder() });

  function _stored(): unknown[] {
    const db = connect(path.join(folder(), 'highwater.db'), 5000);
    const rows = prepare(db, 'SELECT id, subject, version FROM schemas ORDER BY subject, version').all();
    db.close();
    return rows;
  }

  it('says which id it does not know, also where there is no file, and makes none', async () => {
    const { registry } = open();

    await expect(registry.schemaById(7)).rejects.toMatchObject({ code: 'SCHEMA_UNKNOWN' });
    await expect(registry.schemaById(7)).rejects.toThrow('id 7');
    expect(() => readFileSync(path.join(folder(), 'highwater.db'))).toThrow('ENOENT');
  });
});
