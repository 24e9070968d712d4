import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readSchema } from '../../src/avro/schemas';
import { HighwaterError } from '../../src/errors';
import { reconcile } from '../../src/pipeline/rounds/reconcile';
import { resetState } from '../../src/pipeline/rounds/reset-state';
import type { Standby } from '../../src/runtime/standby';
import type { Simulator } from '../../src/simulator/simulator';
import { endsWithTest } from '../support/ends';
import { testFeed } from '../support/feeds';
import { writeAgain } from '../support/records';
import { schemaFiles, without } from '../support/schema-versions';
import { quietLogger } from '../support/source';
import type { TestPublisher } from '../support/test-publisher';
import { until } from '../support/until';
import { world } from '../support/world';

let api: Simulator;
let publisher: TestPublisher;
let stateDir: string;
let told: string[];
let logger: ReturnType<typeof quietLogger>;

/** A feed that is published, and by default polled once. */
async function begin(name: 'ipos' | 'insights' = 'ipos', isPolled = true): Promise<void> {
  const feed = testFeed(name, { pollIntervalMs: 10, deleteShare: 1 });
  const records = { insights: 0, analysts: 0, ipos: 0, [name]: 30 };
  ({ api, publisher } = await world({ feed, vendor: { records } }));
  stateDir = path.join(publisher.dataDir, 'copy');
  told = [];
  logger = { ...quietLogger(), info: (message) => void told.push(message) };
  if (isPolled) await poll();
}

const poll = () => publisher.poll();
const ids = () => api.stores.ipos.keys();
const rename = (at: number) => writeAgain(api.stores.ipos, ids()[at]!, { name: 'Renamed' });

/** Deletes what the API has no longer. */
async function reconciled(): Promise<void> {
  const alone = { between: async () => {}, rest: async () => {}, poll: async () => void (await poll()) };
  const { deps } = publisher.owned();
  await reconcile(deps, { dryRun: false, allowDeletes: null, ...alone }, new AbortController().signal);
}

type Options = NonNullable<Parameters<TestPublisher['standBy']>[1]>;

function standBy(options: Options = {}): Standby {
  const standby = publisher.standBy(stateDir, { logger, ...options });
  endsWithTest(standby.end);
  return standby;
}

const isCurrent = (times = 1) =>
  until(() => told.filter((message) => message.includes('is here and follows the log')).length >= times);

/** A standby whose copy is current. */
async function currentStandby(options: Options = {}): Promise<Standby> {
  const standby = standBy(options);
  await isCurrent();
  return standby;
}

/** Ends the standby; its copy must be what the log has. @param groups how many transitions have their groups in the copy */
async function takeOver(standby: Standby, groups = 0): Promise<void> {
  await standby.end();
  const tables = readdirSync(stateDir).filter((name) => name.endsWith('.table'));
  expect(tables).toHaveLength(1);
  const table = readFileSync(path.join(stateDir, tables[0]!));
  const { facts } = JSON.parse(String(table.subarray(4, 4 + table.readUInt32LE())));
  expect(facts.groups).toHaveLength(groups);
  await publisher.restart({ stateDir });
  expect(publisher.logger.warnings).toStrictEqual([]);
}

it('a copy has the records, and the groups of records, that came and went while it was kept', async () => {
  await begin('insights');
  const standby = await currentStandby();
  const { insights } = api.stores;
  const [first, second, third, gone] = insights.keys().map((id) => insights.get(id)!);
  for (const { updated: _, ...record } of [first!, second!])
    insights.upsert({ ...record, security: third!.security, firm_id: third!.firm_id } as never);
  insights.upsert({ ...third!, id: 'new' } as never);
  insights.remove(gone!.id as string);
  await poll();
  await reconciled();
  await takeOver(standby, 1);
});

it('groups that the feed has no longer are not kept, because they would not follow the log', async () => {
  await begin('insights');
  const before = testFeed('insights', { pollIntervalMs: 10 });
  await (await currentStandby()).end();
  await publisher.restart({
    feed: { ...before, transitions: [] },
    stateDir: path.join(publisher.dataDir, 'elsewhere'),
  });
  told.length = 0;
  const second = await currentStandby();
  await publisher.restart({ feed: before, stateDir: path.join(publisher.dataDir, 'elsewhere') });
  await takeOver(second, 0);
});

it('a record is taken over only when the source offset of its batch is known, which says how old it is', async () => {
  await begin();
  let isHeld = false;
  let read = 0;
  const isRead = () => until(() => read === publisher.owned().deps.state.offset.seq);
  const standby = await currentStandby({
    changed: (log) => ({
      async *follow(topic, ...rest) {
        for await (const record of log.follow(topic, ...rest)) {
          if (topic === 'ipos.source-offset') await until(() => !isHeld);
          else read = Number(record.headers.seq);
          yield record;
        }
      },
    }),
  });
  isHeld = true;
  rename(3);
  await poll();
  await isRead();
  // Another snapshot: what was there before has not been shown since.
  const pending = publisher.owned().deps.state.begin();
  pending.moveOffset({ snapshot_seq: pending.offset.seq });
  pending.settle();
  rename(4);
  await poll();
  // It would be read by now if the record before it were not waited for.
  await until(() => read === publisher.owned().deps.state.offset.seq, 500).catch(() => {});
  isHeld = false;
  await isRead();
  await takeOver(standby);
});

it('a feed that is reset is copied anew', async () => {
  await begin();
  const standby = await currentStandby();
  await resetState(publisher.owned().deps);
  await poll();
  await isCurrent(2);
  await takeOver(standby);
});

it('a feed that nobody has published yet is copied when it is', async () => {
  await begin('ipos', false);
  const standby = standBy();
  await poll();
  await isCurrent();
  await takeOver(standby);
});

it('kept images without a tombstone that is gone are not believed for long', async () => {
  await begin();
  await (await currentStandby()).end();
  const [id] = ids();
  api.stores.ipos.remove(id!);
  await reconciled();
  // Compaction does so with a record that was deleted long ago.
  publisher.damage(`DELETE FROM records WHERE topic = 'ipos.current' AND key = '${id}'`);
  told.length = 0;

  const second = await currentStandby({ differsForMs: 300 });
  const why =
    /^The copy of feed ipos does not follow the log: its images are not those that the source offset counts/;
  expect(logger.warnings).toEqual([expect.stringMatching(why)]);
  await takeOver(second);
});

it('says once that no copy can be kept, goes on with what it has, and says when it is current again', async () => {
  await begin();
  let isDown = false;
  let begun = 0;
  const standby = await currentStandby({
    changed: (log) => ({
      async *follow(topic, ...rest) {
        for await (const record of log.follow(topic, ...rest)) {
          if (isDown) throw new HighwaterError('KAFKA_UNREACHABLE', 'no broker answers');
          if (record.logOffset === 0 && topic === 'ipos.current') begun++;
          yield record;
        }
      },
    }),
  });
  isDown = true;
  rename(1);
  await poll();
  await until(() => logger.warnings.length > 0);
  rename(2);
  await poll();
  isDown = false;
  await isCurrent(2);
  expect(logger.warnings).toStrictEqual(['The copy of feed ipos does not follow the log: no broker answers']);
  expect(begun).toBeLessThanOrEqual(3);
  await takeOver(standby);
});

it('a copy that was kept is not read again because the registry was away', async () => {
  await begin('ipos', false);
  const files = schemaFiles();
  endsWithTest(files.remove);
  const older = testFeed('ipos', { schema: files.add(without(readSchema('ipo.avsc'), ['notes'])) });
  await publisher.restart({ feed: older });
  await poll();
  await (await currentStandby()).end();
  await publisher.restart({ feed: testFeed('ipos') });
  told.length = 0;
  let isAway = true;
  const { registry } = publisher.log;
  const schemaById: typeof registry.schemaById = async (id) => {
    if (isAway) throw new HighwaterError('REGISTRY_UNREACHABLE', 'the registry is away');
    return registry.schemaById(id);
  };
  const second = standBy({ registry: { ...registry, schemaById } });
  await until(() => logger.warnings.length > 0);
  isAway = false;
  await isCurrent();
  expect(told).toEqual([expect.stringContaining('is here and follows the log')]);
  expect(logger.warnings).toEqual(['The copy of feed ipos does not follow the log: the registry is away']);
  await takeOver(second);
});

it('says once that no file can be made, and makes the copy when it can', async () => {
  await begin();
  rmSync(stateDir, { recursive: true, force: true });
  writeFileSync(stateDir, 'not a folder');
  const standby = standBy();
  await until(() => logger.warnings.length > 0);
  rmSync(stateDir);
  await isCurrent();
  expect(logger.warnings).toEqual([
    expect.stringMatching(/^The copy of feed ipos does not follow the log: EEXIST/),
  ]);
  await takeOver(standby);
});
