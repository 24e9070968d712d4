import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { openKafkaReader } from '../../src/log/kafka/kafka-reader';
import { type AsOfWorld, exported, runAgainstList, steps } from '../support/as-of-model';
import { changeWriter } from '../support/change-writer';
import { commandLineHere } from '../support/cli';
import { endsWithTest } from '../support/ends';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { quietLogger } from '../support/source';

const kafka = kafkaWorld();
const here = commandLineHere();

async function asOfWorld(prefix: string): Promise<AsOfWorld> {
  const logger = quietLogger();
  const registry = confluentRegistry(
    { url: kafka.registryUrl(), auth: null, registration: 'register' },
    { logger },
  );
  const reader = openKafkaReader({
    ...{ kafka: plainKafka(kafka.brokers()), appId: 'test', topicPrefix: prefix, logger },
  });
  endsWithTest(() => reader.close());
  const admin = await kafka.admin();
  return {
    ...{ commitLog: kafka.log({ topicPrefix: prefix }), registry, lookup: registry, reader, prefix },
    folder: tmpdir(),
    async remove(topic, partition, before) {
      // It knows leaders only of topics that it was asked about.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] });
    },
  };
}

it('the table as of any moment is what the changes up to it make, on Kafka too', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const world = await asOfWorld(`${kafka.prefix()}${++count}.`);
      await runAgainstList(sequence.slice(0, 15), world);
    }),
    { numRuns: 4, seed: 3, endOnFailure: true },
  );
});

it('a deleted record whose changes are no longer kept does not come back from its earlier image', async () => {
  const world = await asOfWorld(kafka.prefix());
  const writer = await changeWriter(world, kafka.prefix());
  for (const id of ['a', 'b']) await writer.write({ id, status: 'Priced' });
  await writer.write({ id: 'a', status: null });
  for (let i = 0; i < 6; i++) await writer.write({ id: `c${i}`, status: 'Priced' });
  const topic = `${kafka.prefix()}ipos`;
  const options = { fromBeginning: true, follow: false, signal: AbortSignal.timeout(60_000) };
  const last = new Map<number, number>();
  for await (const { key, partition, logOffset } of world.reader.read([topic], options))
    if (key === 'a') last.set(partition, logOffset);
  for (const [partition, logOffset] of last) await world.remove(topic, partition, logOffset + 1);
  const { table } = (await exported(world, Date.now()))!;
  expect(Object.keys(table).sort()).toEqual(['b', 'c0', 'c1', 'c2', 'c3', 'c4', 'c5']);
});

it('events and a table are exported from Kafka', async () => {
  const world = await asOfWorld(kafka.prefix());
  const writer = await changeWriter(world, kafka.prefix());
  for (const id of ['a', 'b', 'c'])
    await writer.write({ id, status: 'Rumored' }, { id: `${id}2`, status: 'Priced' });
  const exporting = here(['export', 'ipos'], { env: kafka.env() });
  expect(await exporting.ended()).toEqual({ code: 0, signal: null });
  const rows = exporting
    .stdout()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  expect(rows.map(({ seq }) => seq).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(rows.map(({ key, after }) => [key, after.deal_status])).toContainEqual(['b2', 'Priced']);
  const asOf = here(['export', 'ipos', '--as-of', 'now', '--format', 'csv'], { env: kafka.env() });
  expect(await asOf.ended()).toEqual({ code: 0, signal: null });
  expect(
    asOf
      .stdout()
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(',')[0]),
  ).toEqual(['a', 'a2', 'b', 'b2', 'c', 'c2']);
});
