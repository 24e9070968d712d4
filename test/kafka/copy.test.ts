import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { recordDecoder } from '../../src/avro/codec/record-decoder';
import { openLog } from '../../src/cli/log/open-log';
import { loadConfig } from '../../src/config/load-config';
import { ipos } from '../../src/feeds/ipos';
import { roledTopics, settingsFor } from '../../src/log/kafka/admin/topic-rules';
import { openLocalLog } from '../../src/log/local/local-log';
import { allTopics, feedTopics } from '../../src/log/topics';
import { copyFeeds } from '../../src/runtime/copy-feeds';
import type { JsonRecord } from '../../src/simulator/endpoints';
import { type CliPublisher, cliPublisher } from '../support/cli-publisher';
import { createTopics } from '../support/create-topics';
import { transitionsOnFeedTopic } from '../support/feeds';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld } from '../support/kafka-world';
import { deadline, groupBy, readAll } from '../support/log-records';
import { writeAgain } from '../support/records';
import { expectSample } from '../support/samples';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

/** `highwater copy`: the embedded log's feeds go on on Kafka. */

const kafka = kafkaWorld();
let where: Record<string, string>;
let onKafka: Record<string, string>;

beforeEach(() => {
  where = { HIGHWATER_TOPIC_PREFIX: kafka.prefix() };
  onKafka = kafka.env();
});

const publisher: CliPublisher = cliPublisher(() => where);
const { api, done, folder, publishing, records, running, start } = publisher;
const store = () => api().stores.ipos;
const copy = (env?: Record<string, string>) => done(['copy', '--from', 'data'], env);
const topics = [
  'ipos',
  'ipos.deal-status',
  'ipos.current',
  'ipos.dead-letters',
  'analysts',
  'analysts.current',
];

/**
 * All that is in a topic, by key, without what a log decides: partition and offset, and ids of schemas.
 * @param decoded false: sizes in place of values, because decoding thousands takes seconds
 */
async function contents(topic: string, decoded = true) {
  const config = loadConfig({ flags: {}, env: { ...where, ...publishing() }, cwd: folder() }, 'feeds');
  const { commitLog, registry } = openLog(config, { logger: quietLogger(), signal: deadline() });
  const decode = recordDecoder(registry);
  const all = await readAll(commitLog, [`${config.topicPrefix}${topic}`]);
  const plain = await Promise.all(
    all.map(async (record) => {
      const { key, headers, timestamp } = record;
      return {
        key,
        headers,
        timestamp,
        value: decoded ? (await decode(record)).value : record.value?.length,
      };
    }),
  );
  await commitLog.close();
  return new Map([...groupBy(plain, ({ key }) => key)].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const offsetOf = async (feed: string) => (await records(`${feed}.source-offset`)).at(-1)!.value!;
const seqs = async () =>
  (await records('ipos')).map(({ value }) => value!.source.seq as number).sort((a, b) => a - b);

/** Publishes, on the embedded log, every kind of record, and two incarnations of a feed. */
async function publishHistory(): Promise<void> {
  await done(['run', '--once']);
  const [first, gone] = [store().keys()[0]!, store().keys()[20]!];
  const { updated: _, ...record } = store().get(first)!;
  store().upsert({ ...record, id: 'new' } as never);
  store().upsert({ ...record, deal_status: 'Withdrawn', name: 'Moved' } as never);
  const { id: __, ...nameless } = record;
  store().upsert(nameless as never, { key: 'nameless' });
  store().remove(gone);
  await done(['run', '--once']);
  await done(['reconcile', 'ipos', '--allow-deletes', '1']);
  await done(['reset', 'analysts', '--yes']);
  await done(['run', '--once']);
  for (const topic of topics) expect([topic, (await records(topic)).length > 0]).toEqual([topic, true]);
}

/** A change in the API that no publisher has read yet. */
const change = (members: JsonRecord) => writeAgain(store(), store().keys()[5]!, { ...members });

/** The embedded log gives its next schemas ids that the registry beside Kafka does not know. */
async function beginAtHighIds(): Promise<void> {
  const dataDir = path.join(folder(), 'data');
  const { registry, commitLog } = openLocalLog({ dataDir });
  await registry.register('other-value', 'string');
  await commitLog.close();
  const file = new Database(path.join(dataDir, 'highwater.db'));
  file.exec('UPDATE schemas SET id = 1000000');
  file.close();
}

it('the copy has the history under the same ids, and a publisher on Kafka goes on from it without a snapshot', async () => {
  await beginAtHighIds();
  await publishHistory();
  const before = new Map(
    await Promise.all(topics.map(async (topic) => [topic, await contents(topic)] as const)),
  );
  const [iposBefore, analystsBefore] = [await offsetOf('ipos'), await offsetOf('analysts')];
  change({ name: 'Changed while nobody published' });

  where = onKafka;
  const { code, out, err } = await copy();
  const said = `$ highwater copy --from ./data\n${out}${err}`;
  const places = said.replaceAll(kafka.brokers(), 'broker-1:9092').replaceAll(folder(), '/home/me');
  expectSample('moving-to-kafka', places);
  expect(code).toBe(0);
  for (const topic of topics) expect([topic, await contents(topic)]).toEqual([topic, before.get(topic)]);
  for (const [feed, { commit: _, owner_epoch: __, ...own }] of [
    ['ipos', iposBefore],
    ['analysts', analystsBefore],
  ] as const)
    expect(await offsetOf(feed)).toMatchObject(own);

  const { code: published, err: told } = await done(['run', '--once']);
  expect([published, told]).toEqual([0, expect.not.stringContaining('snapshot')]);
  const seq = iposBefore.seq as number;
  expect(await seqs()).toEqual(Array.from({ length: seq + 1 }, (_, i) => i + 1));
  const latest = (await records('ipos')).find(({ value }) => value!.source.seq === seq + 1)!.value!;
  expect(latest).toMatchObject({
    op: 'u',
    after: { name: 'Changed while nobody published' },
    event_id: `ipos:${iposBefore.incarnation}:${seq + 1}`,
  });
  expect((await contents('analysts')).size).toBe(before.get('analysts')!.size);
});

it('a record that is larger than a topic on Kafka takes is named', async () => {
  writeAgain(store(), store().keys()[0]!, { notes: 'x'.repeat(1_100_000) });
  await done(['run', '--once']);
  where = onKafka;
  const { code, err } = await copy();
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/COPY_REFUSED {2}record .* has 1\d{6} bytes.*max\.message\.bytes/s),
  ]);
});

it('topics that take no old records are named with the command that lets them take them', async () => {
  await done(['run', '--once']);
  const monthsAgo = Date.now() - 90 * 86_400_000;
  const file = new Database(path.join(folder(), 'data', 'highwater.db'));
  file.exec(`UPDATE records SET timestamp = ${monthsAgo}`);
  file.close();
  const before = await contents('ipos');

  where = onKafka;
  const onlyIpos = { ...publishing(), HIGHWATER_FEEDS: 'ipos' };
  const admin = kafka.client().admin();
  await admin.connect();
  for (const topic of roledTopics(feedTopics(ipos, kafka.prefix()))) {
    const wanted = { ...settingsFor(topic), 'message.timestamp.before.max.ms': '86400000' };
    const configEntries = Object.entries(wanted).map(([name, value]) => ({ name, value }));
    const { name, partitions } = topic.spec;
    await createTopics(admin, [{ topic: name, numPartitions: partitions, configEntries }]);
  }
  await admin.disconnect();

  const { code, err } = await copy(onlyIpos);
  expect(code).toBe(1);
  expect(err.replaceAll(/\s+/g, ' ')).toContain(`is of ${new Date(monthsAgo).toISOString()}`);
  const [commands = ''] = /(for topic in|kafka-configs\.sh) .*$/m.exec(err)!;
  expect(commands).toContain('--add-config message.timestamp.before.max.ms=9223372036854775807');
  await (await kafkaTools({ folder: folder() }))(commands);
  expect((await copy(onlyIpos)).code).toBe(0);
  expect(await contents('ipos')).toEqual(before);
});

it('transitions that were once on the topic of the changes are copied with it, and the publisher goes on', async () => {
  const yaml = path.join(folder(), 'highwater.yaml');
  writeFileSync(yaml, transitionsOnFeedTopic);
  await done(['run', '--once']);
  change({ deal_status: 'Withdrawn' });
  await done(['run', '--once']);
  rmSync(yaml);
  change({ name: 'After the move' });
  await done(['run', '--once']);
  const before = await contents('ipos');

  where = onKafka;
  expect(await copy()).toMatchObject({ code: 0 });
  expect(await contents('ipos')).toEqual(before);
  change({ name: 'On Kafka' });
  expect((await done(['run', '--once'])).code).toBe(0);
  expect((await records('ipos')).map(({ value }) => value!.after?.name)).toContain('On Kafka');
});

it('a schema that the copy must not register: the error says what the copy does, and what to do', async () => {
  await done(['run', '--once']);
  where = onKafka;
  const { code, err } = await copy({ ...publishing(), HIGHWATER_SCHEMA_REGISTRATION: 'lookup' });
  const words = [/SCHEMA_UNREGISTERED/, /The copy ends/, /copy with HIGHWATER_SCHEMA_REGISTRATION=register/];
  expect(code).toBe(1);
  for (const word of words) expect(err).toMatch(word);
  expect((await copy()).code).toBe(0);
});

it('topics with records, a publisher at work, a wrong folder and missing brokers are refused, and nothing is copied', async () => {
  const refused = async () => {
    const { code, out, err } = await copy();
    return [code, out, /error (\w+)/.exec(err)?.[1]];
  };
  // Partitions are read side by side, so that their records come in another order each time.
  const published = async () =>
    (await records('ipos')).sort((a, b) => (a.value!.event_id < b.value!.event_id ? -1 : 1));
  where = onKafka;
  expect(await refused()).toEqual([1, '', 'LOG_MISSING']);

  const { KAFKA_BROKERS: _, SCHEMA_REGISTRY_URL: __, ...embedded } = onKafka;
  where = embedded;
  // Changes and transitions in one topic have subjects of their own.
  writeFileSync(path.join(folder(), 'highwater.yaml'), transitionsOnFeedTopic);
  const worker = await running();
  change({ deal_status: 'Withdrawn' });
  await until(async () => (await published()).some(({ value }) => value!.status === 'Withdrawn'));
  expect(await refused()).toEqual([2, '', 'USAGE_INVALID']);
  where = onKafka;
  expect(await refused()).toEqual([1, '', 'LOG_OWNED']);
  worker.signal('SIGTERM');
  await worker.ended();
  expect(await published()).toStrictEqual([]);

  expect((await copy()).code).toBe(0);
  const copied = await published();
  expect(copied.length).toBeGreaterThan(61);
  expect(await refused()).toEqual([1, '', 'COPY_REFUSED']);
  expect(await published()).toEqual(copied);
  expect((await done(['run', '--once'])).code).toBe(0);
});

it('no publisher goes on from half a copy; once its topics are deleted, the copy is made whole', async () => {
  // More than the records of one transaction.
  store().load(
    Array.from({ length: 2_600 }, (_, i) => ({
      ...store().get(store().keys()[0]!)!,
      id: `more ${i}`,
    })) as never,
  );
  await done(['run', '--once']);
  const before = await contents('ipos', false);

  where = onKafka;
  const config = loadConfig({ flags: {}, env: { ...where, ...publishing() }, cwd: folder() }, 'feeds');
  const from = openLocalLog({ dataDir: config.dataDir });
  const to = openLog(config, { logger: quietLogger(), signal: deadline() });
  const interrupted = new AbortController();
  const log = {
    ...to.commitLog,
    acquire: async (...args: Parameters<typeof to.commitLog.acquire>) => {
      const session = await to.commitLog.acquire(...args);
      const commit: typeof session.commit = async (batch) => {
        await session.commit(batch);
        interrupted.abort();
      };
      return { ...session, commit };
    },
  };
  const report = async () => expect('reported').toBe('interrupted');
  const options = { instance: 'test', report, signal: interrupted.signal };
  const feed = feedTopics(ipos, config.topicPrefix);
  const half = copyFeeds([feed], { ...from, log: from.commitLog }, { ...to, log }, options);
  await expect(half).rejects.toMatchObject({ name: 'AbortError' });
  await Promise.all([from.commitLog.close(), to.commitLog.close()]);
  expect((await records('ipos')).length).toBeGreaterThan(0);

  const onlyIpos = { ...publishing(), HIGHWATER_FEEDS: 'ipos' };
  const status = start(['status'], onlyIpos);
  expect((await status.ended()).code).not.toBe(0);
  expect(status.stdout()).toMatch(/STATE_DAMAGED.*`highwater copy` has not come to its end/);
  const damaged = (await done(['run', '--once'], onlyIpos)).err;
  expect(damaged).toMatch(/`highwater copy` was cut short.*STATE_DAMAGED.*delete all topics of the feed/s);
  const { err } = await copy(onlyIpos);
  expect(err).toContain('COPY_REFUSED');
  const names = allTopics(feed).map(({ name }) => name);
  expect(err.replaceAll(/\s+/g, ' ')).toContain(`delete the topics ${names.join(', ')}`);
  const admin = kafka.client().admin();
  await admin.connect();
  await admin.deleteTopics({ topics: names });
  await until(async () => !(await admin.listTopics()).some((name) => names.includes(name)));
  await admin.disconnect();
  expect((await copy(onlyIpos)).code).toBe(0);
  expect(await contents('ipos', false)).toEqual(before);
  const again = start(['run', '--once'], onlyIpos);
  expect((await again.ended()).code).toBe(0);
  expect(await contents('ipos', false)).toEqual(before);
});
