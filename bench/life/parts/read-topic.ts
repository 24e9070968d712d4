import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel } from 'kafkajs';
import type * as ConsumerModule from '../../../src/consumer';
import { fromDist } from '../../dist';
import { measureOwn, type OwnUsage } from '../../measure/own-usage';

/** A topic of Kafka read by a group from its beginning, each event decoded. */
export interface ReadTopicInput {
  readonly way: 'highwater' | 'kafkajs';
  readonly brokers: string;
  readonly registryUrl: string;
  readonly prefix: string;
  readonly group: string;
  readonly events: number;
}

/** After the first batch: who joins a group waits for it. */
export interface ReadTopic {
  readonly events: number;
  readonly usage: OwnUsage;
}

async function main(input: ReadTopicInput): Promise<void> {
  let seen = 0;
  let usage: (() => OwnUsage) | null = null;
  let done: (read: ReadTopic) => void = () => {};
  const read = new Promise<ReadTopic>((resolve) => {
    done = resolve;
  });
  let uncounted = 0;
  const count = (events: number) => {
    seen += events;
    if (usage === null) {
      usage = measureOwn();
      uncounted = events;
    }
    if (seen >= input.events) done({ events: seen - uncounted, usage: usage() });
  };
  await (input.way === 'highwater' ? byHighwater(input, count) : byKafkaJs(input, count));
  console.log(JSON.stringify(await read));
}

async function byHighwater(input: ReadTopicInput, count: (events: number) => void): Promise<void> {
  const { connect } = fromDist<typeof ConsumerModule>('consumer/index');
  const { brokers, registryUrl, prefix: topicPrefix, group } = input;
  const log = connect({ kafka: { brokers: [brokers] }, schemaRegistry: { url: registryUrl }, topicPrefix });
  void log.consumeBatches({ group, topics: ['ipos'], from: 'beginning' }, (events) => {
    if (events.some(({ value }) => value.after === undefined)) throw new Error('not decoded');
    count(events.length);
  });
}

async function byKafkaJs(input: ReadTopicInput, count: (events: number) => void): Promise<void> {
  const registry = new SchemaRegistry({ host: input.registryUrl });
  const kafka = new Kafka({ brokers: [input.brokers], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `${input.prefix}${input.group}` });
  await consumer.connect();
  await consumer.subscribe({ topics: [`${input.prefix}ipos`], fromBeginning: true });
  await consumer.run({
    eachBatch: async ({ batch }) => {
      for (const { value } of batch.messages) await registry.decode(value!);
      count(batch.messages.length);
    },
  });
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
