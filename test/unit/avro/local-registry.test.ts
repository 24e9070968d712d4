import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { AvroSchema } from '../../../src/avro/registry/registry';
import { connect, prepare } from '../../../src/log/local/file/sqlite';
import { openLocalLog } from '../../../src/log/local/local-log';
import { tempFolder } from '../../support/temp-folder';

const record = (name: string, ...fields: object[]): AvroSchema => ({ type: 'record', name, fields });
const nullable = (name: string) => ({ name, type: ['null', 'string'], default: null });

describe('local schema registry', () => {
  const folder = tempFolder();
  const open = () => openLocalLog({ dataDir: folder() });

  function stored(): unknown[] {
    const db = connect(path.join(folder(), 'highwater.db'), 5000);
    const rows = prepare(db, 'SELECT id, subject, version FROM schemas ORDER BY subject, version').all();
    db.close();
    return rows;
  }

  it('gives one schema one id under all subjects, and each subject versions from 1', async () => {
    const { registry, commitLog } = open();
    const [first, second] = [record('A'), record('A', nullable('b'))];

    expect(await registry.register('a-value', first)).toBe(1);
    expect(await registry.register('a-value', second)).toBe(2);
    expect(await registry.register('b-value', second)).toBe(2);
    expect(await registry.register('a-value', first)).toBe(1);

    expect(stored()).toEqual([
      [1, 'a-value', 1],
      [2, 'a-value', 2],
      [2, 'b-value', 1],
    ]);
    await commitLog.close();
  });

  it('knows a schema again whatever the order of its attributes', async () => {
    const { registry, commitLog } = open();
    await registry.register('a-value', { type: 'record', name: 'A', fields: [] });

    expect(await registry.register('a-value', { fields: [], name: 'A', type: 'record' })).toBe(1);
    await commitLog.close();
  });

  it('takes a schema for another one when only an attribute of ours differs', async () => {
    const { registry, commitLog } = open();
    await registry.register('a-value', record('A', nullable('b')));

    expect(await registry.register('a-value', record('A', { ...nullable('b'), decimalText: true }))).toBe(2);
    await commitLog.close();
  });

  it('gives schemas back to other instances and after a restart', async () => {
    const writer = open();
    const schema = record('A', nullable('b'));
    const id = await writer.registry.register('a-value', schema);
    const reader = open();

    expect(await reader.registry.schemaById(id)).toEqual(schema);
    await writer.commitLog.close();
    expect(await open().registry.schemaById(id)).toEqual(schema);
    await reader.commitLog.close();
  });

  it('lets instances register side by side without giving an id twice', async () => {
    const [a, b] = [open(), open()];
    const names = ['A', 'B', 'C', 'D', 'E', 'F'];
    const ids = await Promise.all(
      names.map((name, i) => (i % 2 === 0 ? a : b).registry.register(`${name}-value`, record(name))),
    );

    expect(new Set(ids).size).toBe(names.length);
    expect(await b.registry.register('A-value', record('A'))).toBe(ids[0]);
    await Promise.all([a.commitLog.close(), b.commitLog.close()]);
  });

  it('refuses an incompatible version and stores nothing of it', async () => {
    const { registry, commitLog } = open();
    await registry.register('a-value', record('A'));

    const refused = registry.register('a-value', record('A', { name: 'b', type: 'long' }));

    await expect(refused).rejects.toMatchObject({
      code: 'SCHEMA_INCOMPATIBLE',
      message: expect.stringMatching(/a-value.*version 1.*field b/),
    });
    expect(stored()).toEqual([[1, 'a-value', 1]]);
    expect(await registry.register('b-value', record('A', { name: 'b', type: 'long' }))).toBe(2);
    await commitLog.close();
  });

  it('says which id it does not know, also where there is no file, and makes none', async () => {
    const { registry } = open();

    await expect(registry.schemaById(7)).rejects.toMatchObject({ code: 'SCHEMA_UNKNOWN' });
    await expect(registry.schemaById(7)).rejects.toThrow('id 7');
    expect(() => readFileSync(path.join(folder(), 'highwater.db'))).toThrow('ENOENT');
  });
});
