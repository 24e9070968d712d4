import {
  CompressionCodecs,
  CompressionTypes,
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
}

/** How pages are sent, and how many at a time. */
interface Sending {
  readonly options: ProducerConfig;
  readonly pages: number;
  send(producer: Producer, pages: readonly Page[], to: Target): Promise<void>;
}

interface Target {
  readonly events: string;
  readonly images: string;
  /** lz4, as the peers have it. */
  readonly compression: CompressionTypes;
}

/** What kafkajs alone takes to write all records. */
export async function kafkajsLimit({ options, pages: atOnce, send }: Sending): Promise<void> {
  const input = limitInput();
  const { compress } = fromDist<typeof import('../../src/log/kafka/connection/compression')>(
    'log/kafka/connection/compression',
  );
  // kafkajs itself has no lz4.
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: ({ buffer }: { readonly buffer: Buffer }) => compress(CompressionTypes.LZ4, buffer),
  });
  const target = {
    events: `${input.topic}.events`,
    images: `${input.topic}.images`,
    compression: CompressionTypes.LZ4,
  };
  const messages = await sampleMessages(input);
  const pages: Page[] = [];
  for (let at = 0; at < messages.length; at += ipos.pageSize) {
    const page = messages.slice(at, at + ipos.pageSize);
    pages.push({
      events: page.map(({ key, event }) => ({ key, value: event, headers: eventHeaders })),
      images: page.map(({ key, image }) => ({ key, value: image, headers: imageHeaders })),
    });
  }
  const kafka = new Kafka({ brokers: [input.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer(options);
  await producer.connect();
  const count = input.records / ipos.pageSize;
  const measured = measureOwn();
  for (let at = 0; at < count; at += atOnce) {
    const length = Math.min(atOnce, count - at);
    const next = Array.from({ length }, (_, i) => pages[(at + i) % pages.length]!);
    await send(producer, next, target);
  }
  console.log(JSON.stringify({ records: input.records, ...measured() }));
  await producer.disconnect();
}
