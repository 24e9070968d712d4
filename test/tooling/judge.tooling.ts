import path from 'node:path';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { publishTwice } from '../faults/publish-twice';
import type { RestlessMarket } from '../faults/restless-market';
import { type ForeignRecord, readTopics } from '../support/foreign-reader/foreign-reader';
import { judge } from '../support/judge/judge';
import { kafkaRecords, type RegistrySchemas, registrySchemas } from '../support/judge/kafka-records';
import { describeVerdict, type Violation } from '../support/judge/verdict';
import { type SharedServers, sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const prefix = uniquePrefix();
let servers: SharedServers;
let market: RestlessMarket | null = null;

beforeAll(async () => {
  servers = await sharedServers();
});
afterEach(async () => {
  await market?.stop();
});

type Damage = (records: readonly ForeignRecord[]) => ForeignRecord[];

function rowsOf(records: readonly ForeignRecord[], topic: string, partition = 1): ForeignRecord[] {
  return records
    .filter((record) => record.topic === prefix + topic && record.partition === partition)
    .filter(({ key }) => key !== '__highwater_fence')
    .sort((a, b) => a.offset - b.offset);
}

/** One that has another before and behind it in its transaction. */
function someRow(records: readonly ForeignRecord[], topic: string): ForeignRecord {
  const rows = rowsOf(records, topic);
  const found = rows.find(
    ({ offset }, i) => rows[i - 1]?.offset === offset - 1 && rows[i + 1]?.offset === offset + 1,
  );
  if (found === undefined) throw new Error(`${topic} has no transaction of three records`);
  return found;
}

function last(records: readonly ForeignRecord[], topic: string, partition = 0): ForeignRecord {
  return rowsOf(records, topic, partition).at(-1)!;
}

const without =
  (pick: (records: readonly ForeignRecord[]) => ForeignRecord): Damage =>
  (records) => {
    const gone = pick(records);
    return records.filter((record) => record !== gone);
  };

/** The record a second time at the end of its partition. */
const again =
  (pick: (records: readonly ForeignRecord[]) => ForeignRecord): Damage =>
  (records) => {
    const twice = pick(records);
    return [...records, { ...twice, offset: last(records, nameOf(twice), twice.partition).offset + 2 }];
  };

const changed =
  (
    pick: (records: readonly ForeignRecord[]) => ForeignRecord,
    change: (record: ForeignRecord, records: readonly ForeignRecord[]) => Partial<ForeignRecord>,
  ): Damage =>
  (records) => {
    const picked = pick(records);
    return records.map((record) => (record === picked ? { ...record, ...change(record, records) } : record));
  };

function nameOf({ topic }: ForeignRecord): string {
  return topic.slice(prefix.length);
}

/** Two records that follow each other have changed places. */
const swapped =
  (topic: string): Damage =>
  (records) => {
    const [a, b] = rowsOf(records, topic).slice(2, 4) as [ForeignRecord, ForeignRecord];
    return records.map((record) =>
      record === a ? { ...a, offset: b.offset } : record === b ? { ...b, offset: a.offset } : record,
    );
  };

/** Damage to the records of a good log, and the judge's expected finding. */
const damages: readonly [string, Damage, Pick<Violation, 'rule' | 'harm'>][] = [
  ['an event is gone', without((all) => someRow(all, 'ipos')), { rule: 'I2', harm: 'lost' }],
  [
    'the last event is gone',
    (all) => {
      const newest = [0, 1, 2].map((partition) => last(all, 'ipos', partition));
      const seqOf = (record: ForeignRecord) => Number(record.headers.ce_id!.split(':')[2]);
      return without(() => newest.sort((a, b) => seqOf(b) - seqOf(a))[0]!)(all);
    },
    { rule: 'I5', harm: 'torn' },
  ],
  ['an event stands twice', again((all) => someRow(all, 'ipos')), { rule: 'I2', harm: 'twice' }],
  ['two events have changed places', swapped('insights'), { rule: 'I4', harm: 'order' }],
  [
    'an event lies in another partition',
    changed(
      (all) => someRow(all, 'analysts'),
      () => ({ partition: 2, offset: 1_000_000 }),
    ),
    { rule: 'I5', harm: 'torn' },
  ],
  [
    'what one transaction wrote is torn by a gap',
    (all) => {
      const from = someRow(all, 'insights');
      return all.map((record) => {
        const isBehind = record.topic === from.topic && record.partition === from.partition;
        return isBehind && record.offset >= from.offset ? { ...record, offset: record.offset + 1 } : record;
      });
    },
    { rule: 'I5', harm: 'torn' },
  ],
  [
    'an image is that of another record',
    changed(
      (all) => someRow(all, 'ipos.current'),
      (_, all) => ({ value: last(all, 'ipos.current', 0).value }),
    ),
    { rule: 'I5', harm: 'torn' },
  ],
  [
    'an image that was superseded is gone',
    without((all) => {
      const rows = rowsOf(all, 'ipos.current');
      return rows.find(({ key, offset }) => rows.some((one) => one.key === key && one.offset > offset))!;
    }),
    { rule: 'I5', harm: 'torn' },
  ],
  ['an image stands twice', again((all) => someRow(all, 'ipos.current')), { rule: 'I5', harm: 'twice' }],
  ['two images have changed places', swapped('analysts.current'), { rule: 'I4', harm: 'order' }],
  [
    'a transition is gone',
    without((all) => last(all, 'ipos.deal-status', 1)),
    { rule: 'transitions', harm: 'lost' },
  ],
  [
    'a transition stands twice',
    again((all) => last(all, 'insights.rating-changes', 1)),
    { rule: 'transitions', harm: 'twice' },
  ],
  [
    'no source offset tells of the last events',
    (all) => {
      const latest = Math.max(...[0, 1, 2].map((partition) => last(all, 'analysts', partition).timestamp));
      const offsets = rowsOf(all, 'analysts.source-offset', 0).filter(({ timestamp }) => timestamp >= latest);
      return all.filter((record) => !offsets.includes(record));
    },
    { rule: 'I5', harm: 'torn' },
  ],
  [
    'the source offset before the last is gone',
    without((all) => rowsOf(all, 'ipos.source-offset', 0).at(-2)!),
    { rule: 'I5', harm: 'lost' },
  ],
  [
    'a source offset stands twice',
    again((all) => last(all, 'ipos.source-offset')),
    { rule: 'I5', harm: 'twice' },
  ],
  ['a dead letter is gone', without((all) => last(all, 'ipos.dead-letters')), { rule: 'I8', harm: 'lost' }],
  [
    'a dead letter stands twice',
    again((all) => last(all, 'ipos.dead-letters')),
    { rule: 'I8', harm: 'twice' },
  ],
  [
    'a header says another op',
    changed(
      (all) => someRow(all, 'insights'),
      ({ headers }) => ({ headers: { ...headers, op: headers.op === 'r' ? 'c' : 'r' } }),
    ),
    { rule: 'I3', harm: 'wrong' },
  ],
  [
    'an event is a tombstone',
    changed(
      (all) => someRow(all, 'insights'),
      () => ({ value: null }),
    ),
    { rule: 'I3', harm: 'wrong' },
  ],
  [
    'a fence lies in a topic of events',
    (all) => [...all, { ...last(all, 'ipos'), offset: 2_000_000, key: '__highwater_fence', value: null }],
    { rule: 'I3', harm: 'wrong' },
  ],
];

describe('the judge over Kafka', () => {
  it('passes a good log and objects to each damage', async () => {
    const { brokers, registryUrl } = servers;
    const log = await kafkaPublisherLog({ brokers, direct: brokers, registryUrl, prefix, proxy: null });
    market = await publishTwice(log, path.join(folder(), 'run'), { everyMs: 25 }).finally(() => log.stop());
    const truth = market.truth();
    const records = await readTopics(brokers, `${prefix}*`);
    const schemas: RegistrySchemas = registrySchemas(registryUrl, prefix);
    const judged = async (seen: readonly ForeignRecord[]) =>
      judge(await kafkaRecords(seen, { schemas, prefix }), truth);

    const good = await judged(records);
    expect(describeVerdict(good)).toBe('nothing to object to');
    expect(good.feeds.ipos).toMatchObject({ live: truth.ipos.records.size });
    const verdicts: [string, string[]][] = [];
    for (const [name, damage] of damages) {
      verdicts.push([name, kindsOf((await judged(damage(records))).violations)]);
    }
    expect(verdicts).toEqual(
      damages.map(([name, , { rule, harm }]) => [name, expect.arrayContaining([`${rule} ${harm}`])]),
    );
  });
});

function kindsOf(violations: readonly Violation[]): string[] {
  return [...new Set(violations.map(({ rule, harm }) => `${rule} ${harm}`))].sort();
}
