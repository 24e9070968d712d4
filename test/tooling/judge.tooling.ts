import { copyFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { publishTwice } from '../faults/publish-twice';
import { embeddedLog } from '../faults/publisher-log';
import type { RestlessMarket } from '../faults/restless-market';
import { type ApiTruth, judgeFile } from '../support/judge/judge';
import { describeVerdict, type Violation } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const where = (topic: string): string => `topic = '${topic}'`;
/** Any row of a topic that has another behind it in its partition. */
const someRow = (topic: string): string =>
  `rowid = (SELECT rowid FROM records WHERE ${where(topic)} AND partition = 1 ORDER BY offset LIMIT 1 OFFSET 3)`;
const again = (topic: string): string =>
  `INSERT INTO records SELECT topic, partition, (SELECT max(offset) + 1 FROM records WHERE ${where(topic)} AND partition = 1),
     timestamp, key, headers, value FROM records WHERE ${someRow(topic)}`;

/** Damage to a good log, and the judge's expected finding. */
const damages: readonly [string, string, Pick<Violation, 'rule' | 'harm'>][] = [
  ['an event is gone', `DELETE FROM records WHERE ${someRow('ipos')}`, { rule: 'I2', harm: 'lost' }],
  ['an event stands twice', again('ipos'), { rule: 'I2', harm: 'twice' }],
  [
    'two events have changed places',
    `UPDATE records SET offset = -1 - offset WHERE ${where('insights')} AND partition = 1;
     UPDATE records SET offset = 1000000 + offset WHERE ${where('insights')} AND partition = 1`,
    { rule: 'I4', harm: 'order' },
  ],
  [
    'an event lies in another partition',
    `UPDATE records SET partition = 2, offset = 1000000 WHERE ${someRow('analysts')}`,
    { rule: 'I5', harm: 'torn' },
  ],
  [
    'an image is that of another record',
    `UPDATE records SET value = (SELECT value FROM records WHERE ${where('ipos.current')} AND partition = 0 LIMIT 1)
     WHERE ${someRow('ipos.current')}`,
    { rule: 'I5', harm: 'torn' },
  ],
  ['an image is gone', `DELETE FROM records WHERE ${someRow('ipos.current')}`, { rule: 'I5', harm: 'torn' }],
  [
    'a transition is gone',
    `DELETE FROM records WHERE ${someRow('ipos.deal-status')}`,
    { rule: 'transitions', harm: 'lost' },
  ],
  ['a transition stands twice', again('insights.rating-changes'), { rule: 'transitions', harm: 'twice' }],
  [
    'the source offset is gone',
    `DELETE FROM records WHERE ${where('analysts.source-offset')}`,
    { rule: 'I5', harm: 'torn' },
  ],
  [
    'a dead letter is gone',
    `DELETE FROM records WHERE ${where('ipos.dead-letters')}`,
    { rule: 'I8', harm: 'lost' },
  ],
  [
    'a header says another op',
    `UPDATE records SET headers = replace(headers, '"op":"r"', '"op":"c"') WHERE ${where('insights')}`,
    { rule: 'I3', harm: 'wrong' },
  ],
];

describe('the judge', () => {
  it('passes a good log and objects to each damage', async () => {
    const { file, market } = await goodLog();
    const truth = market.truth();
    expect(describeVerdict(judgeFile(file, truth))).toBe('nothing to object to');

    const verdicts = damages.map(([name, sql]) => {
      const damaged = path.join(folder(), 'damaged.db');
      copyFileSync(file, damaged);
      const db = new Database(damaged);
      db.exec(sql);
      db.close();
      return [name, kindsOf(judgeFile(damaged, truth).violations)];
    });
    expect(verdicts).toEqual(
      damages.map(([name, , { rule, harm }]) => [name, expect.arrayContaining([`${rule} ${harm}`])]),
    );
  });

  it('objects to a log that lacks what the API shows, or has what it never showed', async () => {
    const { file, market } = await goodLog();
    const good = market.truth();
    const kinds = (change: (truth: ApiTruth) => ApiTruth): string[] =>
      kindsOf(judgeFile(file, { ...good, ipos: change(good.ipos) }).violations);
    const [id, record] = [...good.ipos.records][0]!;
    const changed = new Map(good.ipos.records).set(id, { ...record, name: 'Another' });

    expect(kinds((truth) => ({ ...truth, records: changed }))).toEqual(['I1 lost']);
    expect(kinds((truth) => ({ ...truth, records: new Map() }))).toEqual(['I1 wrong']);
    expect(
      kinds((truth) => ({ ...truth, history: truth.history.filter((entry) => entry.id !== id) })),
    ).toEqual(['I1 wrong']);
    expect(kinds((truth) => ({ ...truth, history: [...truth.history].reverse() }))).toContain('I4 order');
  });
});

function kindsOf(violations: readonly Violation[]): string[] {
  return [...new Set(violations.map(({ rule, harm }) => `${rule} ${harm}`))].sort();
}

let market: RestlessMarket | null = null;
afterEach(async () => {
  await market?.stop();
});

async function goodLog(): Promise<{ file: string; market: RestlessMarket }> {
  const dataDir = path.join(folder(), 'data');
  market = await publishTwice(embeddedLog(dataDir), dataDir);
  return { file: path.join(dataDir, 'highwater.db'), market };
}
