import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { schemaFolder } from '../../../src/avro/schemas';
import { connect } from '../../../src/log/local/file/sqlite';
import { openLocalLog } from '../../../src/log/local/local-log';
import { type ChangeWriter, changeWriter } from '../../support/change-writer';
import { commandsInFolder, jsonLines } from '../../support/cli';
import { endsWithTest } from '../../support/ends';
import { parquetFile } from '../../support/parquet-file';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { hasSmallDisks, onSmallDisk } from '../../support/small-disk';
import { quietLogger } from '../../support/source';

const { folder, file, start, done } = commandsInFolder();

/** A log in the usual folder, with changes of ipos. */
async function log(): Promise<ChangeWriter> {
  const opened = openLocalLog({ dataDir: file('data'), logger: quietLogger() });
  endsWithTest(() => opened.commitLog.close());
  return changeWriter(opened, '');
}

const run = (...args: string[]) => done(args);

/** So many events of so many records. */
async function manyEvents(thousands: number): Promise<void> {
  const { write } = await log();
  for (let i = 0; i < thousands; i++)
    await write(...Array.from({ length: 1_000 }, (_, j) => ({ id: `${i}-${j}`, status: 'Priced' })));
}

/** Rows of an export to stdout. */
async function rows(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, out, err } = await run('export', ...args);
  expect([code, err]).toEqual([0, expect.stringMatching(/: [\d,]+ rows?/)]);
  return jsonLines(out);
}

describe('what a publisher wrote', () => {
  const api = simulatedApi({ insights: 30, analysts: 20, ipos: 25 });
  const published = async () => expect((await done(['run', '--once'], apiEnv(api()))).code).toBe(0);
  beforeEach(async () => {
    await published();
    for (let i = 0; i < 20; i++) api().marketDay.step();
    await published();
  });

  it('is exported event by event, as tail shows it, in order per partition', async () => {
    for (const topic of ['ipos', 'insights', 'analysts', 'ipos.deal-status', 'insights.rating-changes']) {
      const shown = (await run('tail', topic, '--no-follow', '--json')).out.split('\n').slice(0, -1);
      const tailed = shown.map((line) => JSON.parse(line));
      const exported = await rows(topic);
      expect(exported).toEqual(
        tailed.map(({ type, key, timestamp, partition, offset, headers, value }) => ({
          ...value,
          event_id: headers.ce_id,
          op: headers.op,
          observed_at: new Date(timestamp).toISOString(),
          incarnation: headers.ce_id.split(':')[1],
          seq: Number(headers.ce_id.split(':')[2]),
          ...{ type, key, partition, offset },
        })),
      );
      expect(exported.length).toBeGreaterThan(0);
      const last = new Map<unknown, number>();
      for (const { partition, offset } of exported as { partition: number; offset: number }[]) {
        expect(offset).toBeGreaterThan(last.get(partition) ?? -1);
        last.set(partition, offset);
      }
    }
  });

  it('is the same in Parquet, by the name of the file', async () => {
    for (const topic of ['ipos', 'insights', 'analysts', 'ipos.deal-status', 'insights.rating-changes']) {
      expect(await run('export', topic, '-o', `${topic}.parquet`)).toMatchObject({ code: 0, out: '' });
      const found = await parquetFile(readFileSync(file(`${topic}.parquet`)));
      expect(found.rows.map(asJson)).toEqual((await rows(topic)).map(mapsAsText));
    }
    expect(readdirSync(folder()).filter((name) => name.includes('.part'))).toStrictEqual([]);
  });

  it('has prices as DECIMAL if they are asked for', async () => {
    const { code } = await run('export', 'insights', '--decimals', '2', '-o', 'insights.parquet');
    expect(code).toBe(0);
    const found = await parquetFile(readFileSync(file('insights.parquet')));
    const prices = found.rows.map(({ after }) => (after as Record<string, unknown> | null)?.pt ?? null);
    const texts = (await rows('insights')).map(({ after }) => (after as { pt: string } | null)?.pt);
    expect(prices).toEqual(texts.map((text) => (text ? expect.closeTo(Number(text)) : null)));
    expect(found.schema.filter(({ name }) => name === 'pt')).toEqual([
      expect.objectContaining({ converted_type: 'DECIMAL', scale: 2 }),
      expect.objectContaining({ converted_type: 'DECIMAL', scale: 2 }),
    ]);
  });

  it('goes as Parquet through a pipe, too', async () => {
    const under = ['sh', '-c', `"$0" "$@" > piped.parquet`];
    const piped = start(['export', 'ipos', '--format', 'parquet'], {}, { under });
    expect(await piped.ended()).toEqual({ code: 0, signal: null });
    const found = await parquetFile(readFileSync(file('piped.parquet')));
    expect(found.rows).toHaveLength((await rows('ipos')).length);
  });
});

it('takes the events of a range of time, with its begin and without its end', async () => {
  const writer = await log();
  const times: number[] = [];
  for (const id of ['a', 'b', 'c', 'd']) {
    await writer.write({ id, status: 'Priced' });
    times.push(Date.now());
    while (Date.now() === times.at(-1)) await new Promise(setImmediate);
  }
  const all = await rows('ipos');
  const at = (i: number) => String(all.find(({ seq }) => seq === i + 1)!.observed_at);
  const keys = async (...args: string[]) => (await rows('ipos', ...args)).map(({ key }) => key).sort();
  expect(await keys('--since', at(1))).toEqual(['b', 'c', 'd']);
  expect(await keys('--until', at(1))).toEqual(['a']);
  expect(await keys('--since', at(1), '--until', at(3))).toEqual(['b', 'c']);
  expect(await keys('--since', '1h', '--until', 'now')).toEqual(['a', 'b', 'c', 'd']);
  expect(await keys('--until', '2020-01-01')).toStrictEqual([]);
});

describe('a file', () => {
  it('that exists is replaced only with --force', async () => {
    await (await log()).write({ id: 'a', status: 'Priced' });
    writeFileSync(file('a.csv'), 'mine');
    const refused = await run('export', 'ipos', '-o', 'a.csv');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('error EXPORT_EXISTS')]);
    expect(readFileSync(file('a.csv'), 'utf8')).toBe('mine');
    expect(await run('export', 'ipos', '-o', 'a.csv', '--force')).toMatchObject({ code: 0 });
    expect(readFileSync(file('a.csv'), 'utf8')).toMatch(/^event_id,type,op,key,.*\r\nipos:/);
    mkdirSync(file('folder'));
    const other = await run('export', 'ipos', '-o', 'folder', '--force');
    expect(other.err).toContain('is not a file, so nothing replaces it');
  });

  it('in a folder that is missing is refused by name', async () => {
    await (await log()).write({ id: 'a', status: 'Priced' });
    const { code, err } = await run('export', 'ipos', '-o', 'no/a.csv');
    expect([code, err]).toEqual([1, expect.stringMatching(/error EXPORT_FAILED {2}.*no\/a\.csv: ENOENT/)]);
  });

  it.each(['b.ndjson', 'b.parquet'])('%s is removed if the export is interrupted', async (name) => {
    await manyEvents(20);
    const exporting = start(['export', 'ipos', '-o', name]);
    const parts = () => readdirSync(folder()).filter((one) => one.endsWith('.part'));
    while (parts().length === 0) await new Promise(setImmediate);
    exporting.signal('SIGINT');
    const { code, signal } = await exporting.ended();
    // Unless it was done by then.
    if (readdirSync(folder()).includes(name)) return expect(code).toBe(0);
    expect([signal, parts()]).toEqual(['SIGINT', []]);
  });

  (hasSmallDisks ? it : it.skip)(
    'that does not fit on the disk is removed, and the reason is named',
    async () => {
      await manyEvents(10);
      mkdirSync(file('small'));
      const list = ['sh', '-c', '"$0" "$@"; code=$?; ls -A small >&2; exit $code'];
      const under = [...onSmallDisk(file('small'), 1), ...list];
      const exporting = start(['export', 'ipos', '-o', 'small/a.ndjson'], {}, { under });
      expect(await exporting.ended()).toMatchObject({ code: 1 });
      expect(exporting.stderr()).toMatch(/error EXPORT_FAILED {2}.*ENOSPC.*\n.*\n.*\n$/);
    },
  );
});

(hasSmallDisks ? it : it.skip)('a file of stdout that does not fit on the disk is named', async () => {
  await manyEvents(10);
  mkdirSync(file('small'));
  const under = [...onSmallDisk(file('small'), 1), 'sh', '-c', '"$0" "$@" > small/a.ndjson'];
  for (const args of [
    ['export', 'ipos'],
    ['tail', 'ipos', '--no-follow', '--json'],
    ['backup', '-'],
  ]) {
    const exporting = start(args, {}, { under });
    expect(await exporting.ended()).toMatchObject({ code: 1 });
    expect(exporting.stderr()).toMatch(
      /^error OUTPUT_FAILED {2}.*ENOSPC.*\n.*cut short.*\n.*enough room.*\n$/,
    );
  }
});

it('a reader that has gone ends a backup without a word, but not as if it were whole', async () => {
  await (await log()).write({ id: 'a', status: 'Priced' });
  const under = ['bash', '-o', 'pipefail', '-c', '"$0" "$@" | head -c 10'];
  const backup = start(['backup', '-'], {}, { under });
  expect(await backup.ended()).toEqual({ code: 1, signal: null });
  expect(backup.stderr()).toBe('');
});

it('a reader of stdout that goes away ends it, as it ends tail', async () => {
  await manyEvents(5);
  const exporting = start(['export', 'ipos'], {}, { under: ['sh', '-c', '"$0" "$@" | head -c 10'] });
  expect(await exporting.ended()).toEqual({ code: 0, signal: null });
  expect(exporting.stderr()).not.toContain('error');
});

it('records of other programs are named and left out, with exit code 1', async () => {
  const writer = await log();
  await writer.write({ id: 'a', status: 'Priced' });
  await writer.append({ key: 'x', value: Buffer.from('{"a":1}') });
  await writer.write({ id: 'b', status: 'Priced' });
  const { code, out, err } = await run('export', 'ipos');
  expect(out.match(/"key":"."/g)!.sort()).toEqual(['"key":"a"', '"key":"b"']);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/error VALUE_FOREIGN {2}partition \d of topic ipos/),
  ]);
});

it.each([
  [['ipos', '--as-of', 'now', '--since', '1h'], 'USAGE_INVALID  --as-of is one moment'],
  [['ipos', '--as-of', '2100-01-01'], 'USAGE_INVALID  --as-of lies in the future'],
  [['ipos', '--since', '1h', '--until', '2h'], 'USAGE_INVALID  --since is not before --until'],
  [['ipos', '--since', 'yesterday'], 'Expected a time such as 2020-01-31'],
  [['ipos', '--decimals'], 'USAGE_INVALID  --decimals is not for ndjson'],
  [['ipos', '--decimals', '39', '-o', 'a.parquet'], 'Expected a whole number from 0 to 38'],
  [['ipos', '-o', 'ipos.csv.gz'], 'USAGE_INVALID  the ending .gz names a format that is not written'],
  [['ipos', '--format', 'xlsx'], 'Allowed choices are parquet, ndjson, csv'],
  [['ipo'], 'TOPIC_UNKNOWN  there is no topic ipo; did you mean ipos?'],
  [['ipos', '--topic-prefix', 'other.'], 'has no topic other.ipos yet'],
  [['ipos.current'], 'USAGE_INVALID  ipos.current is no topic of events'],
  [['ipos.deal-status', '--as-of', 'now'], 'USAGE_INVALID  --as-of needs a feed'],
])('export %j is refused: %s', async (args, what) => {
  await (await log()).write({ id: 'a', status: 'Priced' });
  const { code, out, err } = await run('export', ...args);
  expect([code, out, err]).toEqual([2, '', expect.stringContaining(what)]);
});

describe('values with a field that the schema does not have any more', () => {
  beforeEach(async () => {
    const writer = await log();
    await writer.write({ id: 'a', status: 'Priced' });
    await writer.close();
    const schema = JSON.parse(readFileSync(path.join(schemaFolder, 'ipo.avsc'), 'utf8'));
    const fields = schema.fields.filter(({ name }: { name: string }) => name !== 'deal_status');
    writeFileSync(file('fewer.avsc'), JSON.stringify({ ...schema, fields }));
    writeFileSync(file('highwater.yaml'), 'feeds:\n  ipos:\n    schema: fewer.avsc\n');
  });

  it('are exported whole', async () => {
    expect(await rows('ipos')).toMatchObject([{ key: 'a', after: { deal_status: 'Priced' } }]);
    const [row] = await rows('ipos', '--as-of', 'now');
    expect(row).toMatchObject({ id: 'a', deal_status: 'Priced' });
    expect(await run('export', 'ipos', '-o', 'a.parquet')).toMatchObject({ code: 0 });
    const found = await parquetFile(readFileSync(file('a.parquet')));
    expect(found.rows.map(asJson)).toMatchObject([{ before: null, after: { deal_status: 'Priced' } }]);
  });

  it('are exported as they were written, if the schema is refused by the registry', async () => {
    const schema = JSON.parse(readFileSync(path.join(schemaFolder, 'ipo.avsc'), 'utf8'));
    const fields = schema.fields.map((field: { name: string }) =>
      field.name === 'deal_status' ? { ...field, type: ['null', 'long'] } : field,
    );
    writeFileSync(file('fewer.avsc'), JSON.stringify({ ...schema, fields }));
    expect(await run('export', 'ipos', '-o', 'b.parquet')).toMatchObject({ code: 0 });
    const found = await parquetFile(readFileSync(file('b.parquet')));
    expect(found.rows.map(asJson)).toMatchObject([{ after: { deal_status: 'Priced' } }]);
  });

  it.each([
    'the registry does not list the version that has it',
    'the feed had another namespace',
    'the field has another type, and its versions were deleted',
  ])('are refused if %s: they would be lost', async (why) => {
    const db = connect(file('data/highwater.db'), 5_000);
    if (why.includes('namespace'))
      writeFileSync(file('highwater.yaml'), 'feeds:\n  ipos:\n    namespace: other.ipos\n');
    else db.prepare(`UPDATE schemas SET subject = 'other' WHERE subject = 'ipos-value'`).run([]);
    db.close();
    if (why.includes('type')) {
      const schema = readFileSync(path.join(schemaFolder, 'ipo.avsc'), 'utf8');
      const { fields, ...others } = JSON.parse(schema);
      const status = { name: 'deal_status', type: ['null', 'long'], default: null };
      const changed = fields.map((field: { name: string }) => (field.name === status.name ? status : field));
      writeFileSync(file('fewer.avsc'), JSON.stringify({ ...others, fields: changed }));
    }
    for (const flags of [[], ['--as-of', 'now']]) {
      const { code, out, err } = await run('export', 'ipos', ...flags);
      expect([code, out, err]).toEqual([1, '', expect.stringContaining('error EXPORT_NEWER')]);
    }
  });
});

it('there is nothing to export without a log', async () => {
  const { code, err } = await run('export', 'ipos');
  expect([code, err]).toEqual([1, expect.stringContaining('error LOG_MISSING')]);
});

/** A row of Parquet as JSON has it. */
function asJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asJson(one)]));
}

/** With the member `extra` as text, wherever it is. */
function mapsAsText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      name === 'extra' ? JSON.stringify(one) : mapsAsText(one),
    ]),
  );
}
