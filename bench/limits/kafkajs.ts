import {
  type CompressionTypes,
  Kafka,
  logLevel,
  type Message,
  type Producer,
  type ProducerConfig,
} from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import { fromDist } from '../dist';
import { measureOwn } from '../measure/own-usage';
import { limitInput } from './limit-input';
import { eventHeaders, imageHeaders, sampleMessages } from './messages';

interface Page {
  readonly events: Message[];
  readonly images: Message[];
  readonly codec: CompressionTypes;
}

/** What kafkajs alone takes to write all records, a page at a time, with lz4 as the peers have it. */
export async function kafkajsLimit(
  options: ProducerConfig,
  send: (producer: Producer, page: Page, topic: (name: string) => string) => Promise<void>,
): Promise<void> {
  const input = limitInput();
  const { compressionType } =
    fromDist<typeof import('../../src/log/kafka/compression')>('log/kafka/compression');
  const codec = compressionType('lz4');
  const messages = await sampleMessages(input);
  const pages: Page[] = [];
  for (let at = 0; at < messages.length; at += ipos.pageSize) {
    const page = messages.slice(at, at + ipos.pageSize);
    pages.push({
      codec,
      events: page.map(({ key, event }) => ({ key, value: event, headers: eventHeaders })),
      images: page.map(({ key, image }) => ({ key, value: image, headers: imageHeaders })),
    });
  }
  const kafka = new Kafka({ brokers: [input.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer(options);
  await producer.connect();
  const topic = (name: string) => `${input.topic}.${name}`;
  const measured = measureOwn();
  for (let page = 0; page < input.records / ipos.pageSize; page++) {
    await send(producer, pages[page % pages.length]!, topic);
  }
  console.log(JSON.stringify({ records: input.records, ...measured() }));
  await producer.disconnect();
}
