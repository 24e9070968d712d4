import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Subject } from '../../../src/avro/published-topics';
import { changelogOf, historyFolder, historyStanding } from '../../../src/avro/registry/schema-history';
import { type FieldSchema, feedSchemas, readSchema } from '../../../src/avro/schemas';
import { ipos } from '../../../src/feeds/ipos';
import { historyGaps, keptSubjects, newSchemaVersions } from '../../../tools/generate/schema-versions';
import { tempFolder } from '../../support/temp-folder';

const folder = tempFolder();
const history = () => path.join(folder(), 'schemas', 'history');

beforeEach(() => {
  cpSync(historyFolder, history(), { recursive: true });
  cpSync(changelogOf(historyFolder), changelogOf(history()));
});

/** The record of the IPOs with other fields, as it stands in its two subjects. */
function changed(change: (fields: readonly FieldSchema[]) => readonly FieldSchema[]): Subject[] {
  const record = readSchema('ipo.avsc');
  const { record: image, envelope } = feedSchemas(ipos, { ...record, fields: change(record.fields) });
  const schemas = new Map([
    ['ipos-value', envelope],
    ['ipos.current-value', image],
  ]);
  return keptSubjects().map(({ subject, schema }) => ({ subject, schema: schemas.get(subject) ?? schema }));
}

const sector: FieldSchema = { name: 'sector', type: ['null', 'string'], default: null, doc: 'Sector.' };

function write(files: ReadonlyMap<string, string>): void {
  for (const [file, text] of files) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

it('a field without a default breaks with the first version, in the record and in the changes', () => {
  const subjects = changed((fields) => [...fields, { name: 'sector', type: 'string' }]);
  expect(historyGaps(history(), subjects)).toEqual([
    expect.stringMatching(/^ipos-value breaks .* version 1 wrote: field before\.sector: .* no default$/),
    expect.stringMatching(/^ipos\.current-value breaks .* version 1 wrote: field sector: .* no default$/),
  ]);
  expect(() => newSchemaVersions('sector', history(), subjects)).toThrow('field before.sector');
});

it('a new field with a default asks for a version, and for no other of the same record', () => {
  const subjects = changed((fields) => [...fields, sector]);
  expect(historyGaps(history(), subjects)).toEqual([
    expect.stringMatching(/^ipos-value differs from version 1, .* `npm run generate -- --new-schema-version/),
    expect.stringMatching(/^ipos\.current-value differs from version 1, .* --new-schema-version/),
  ]);

  write(newSchemaVersions('the sector', history(), subjects));
  expect(historyGaps(history(), subjects)).toStrictEqual([]);
  expect(newSchemaVersions('the sector', history(), subjects).size).toBe(0);
  expect(readFileSync(changelogOf(history()), 'utf8')).toContain(
    '## marketdata.ipos.Ipo\n\n- 2 – the sector\n- 1 – first version\n',
  );
});

it('a version that the changelog does not tell of is named', () => {
  const subjects = changed((fields) => [...fields, sector]);
  const changelog = readFileSync(changelogOf(history()), 'utf8');
  write(newSchemaVersions('the sector', history(), subjects));
  writeFileSync(changelogOf(history()), changelog);
  expect(historyGaps(history(), subjects)).toEqual([
    expect.stringContaining('no line for version 2 of marketdata.ipos.Envelope'),
    expect.stringContaining('no line for version 2 of marketdata.ipos.Ipo'),
  ]);
});

it('a schema that fits the latest version must fit the earlier versions', () => {
  const withSector = changed((fields) => [...fields, sector]);
  write(newSchemaVersions('the sector', history(), withSector));
  // As a number it could follow version 1, which has none.
  const asNumber = changed((fields) => [...fields, { ...sector, type: ['null', 'long'] }]);
  expect(historyGaps(history(), asNumber)).toEqual([
    expect.stringContaining('version 2 cannot read what it writes: field before.sector'),
    expect.stringContaining('version 2 cannot read what it writes: field sector'),
  ]);
});

it('a changed doc is another schema, as it is to a registry', () => {
  const subjects = changed(([id, ...fields]) => [{ ...id!, doc: 'Something else.' }, ...fields]);
  expect(historyGaps(history(), subjects)).toHaveLength(2);
});

it('a folder of feeds of your own needs nothing of those that come with highwater', () => {
  const own = path.join(folder(), 'own', 'history');
  mkdirSync(own, { recursive: true });
  const [insights] = keptSubjects();
  expect(historyStanding(insights!, own)).toEqual({ state: 'kept', version: 1 });
  const dividends = { subject: 'dividends-value', schema: insights!.schema };
  expect(historyStanding(dividends, own)).toEqual({ state: 'changed', latest: null });
  write(new Map([[path.join(own, 'dividends-value', '1.avsc'), JSON.stringify(dividends.schema)]]));
  expect(historyStanding(dividends, own)).toEqual({ state: 'kept', version: 1 });

  writeFileSync(changelogOf(own), '# Ours\n');
  expect(historyStanding(dividends, own)).toMatchObject({ state: 'unexplained', version: 1 });
  const offset = { subject: 'dividends.source-offset-value', schema: readSchema('source-offset.avsc') };
  write(new Map([[path.join(own, offset.subject, '1.avsc'), JSON.stringify(offset.schema)]]));
  expect(historyStanding(offset, own)).toEqual({ state: 'kept', version: 1 });
});

it('a version that is not JSON is named', () => {
  write(new Map([[path.join(history(), 'ipos-value', '1.avsc'), '{"type":']]));
  expect(() => historyGaps(history())).toThrow(/ipos-value.1\.avsc is not JSON/);
});
