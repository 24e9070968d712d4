// What it costs to decode one event: by highwater/consumer, and by `registry.decode` of @kafkajs/confluent-schema-registry with
// its schemas in its cache. The same values, read from a log that the publisher wrote; best and median of the runs.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SchemaRegistry as KafkaJsRegistry } from '@kafkajs/confluent-schema-registry';
import type * as DecoderModule from '../../src/avro/codec/record-decoder';
import type { SchemaRegistry } from '../../src/avro/registry/registry';
import type * as ConnectModule from '../../src/consumer/connect';
import type * as EventsModule from '../../src/consumer/event';
import type * as FeedsModule from '../../src/feeds';
import type { LogRecord } from '../../src/log/commit-log';
import type * as ConsumerLogModule from '../../src/log/local/consumer/consumer-log';
import { fromDist } from '../dist';
import { median } from '../measure/figures';
import { publishedFolder } from './published-folder';
import { quiet } from './quiet';

const { valueDecoder } = fromDist<typeof DecoderModule>('avro/codec/record-decoder');
const { toEvent } = fromDist<typeof EventsModule>('consumer/event');
const { knownSchemas } = fromDist<typeof ConnectModule>('consumer/connect');
const { feedDefinitions } = fromDist<typeof FeedsModule>('feeds/index');
const ownSchemas = knownSchemas(feedDefinitions);
const { openLocalConsumerLog } = fromDist<typeof ConsumerLogModule>('log/local/consumer/consumer-log');

interface Input {
  readonly records: number;
  readonly runs: number;
}

/** As a registry of the network would answer, so that the library fills its cache its own way. */
async function served(registry: SchemaRegistry): Promise<{ url: string; stop(): void }> {
  const server = createServer(async (request, response) => {
    const id = Number(/\/schemas\/ids\/(\d+)/.exec(request.url ?? '')?.[1]);
    const schema = JSON.stringify(await registry.schemaById(id));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ schema }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => void server.close() };
}

interface Spent {
  readonly best: number;
  readonly median: number;
}

type Decoding = (slice: readonly LogRecord[]) => Promise<void>;

/** What else the machine does meets all of them alike. @returns milliseconds of each for all values */
async function alternating(
  found: readonly LogRecord[],
  all: readonly Decoding[],
): Promise<readonly number[]> {
  const spent = all.map(() => 0);
  for (let from = 0; from < found.length; from += SLICE) {
    const slice = found.slice(from, from + SLICE);
    for (const [i, decode] of all.entries()) {
      const began = performance.now();
      await decode(slice);
      spent[i]! += performance.now() - began;
    }
  }
  return spent;
}

const SLICE = 250;

async function main({ records, runs }: Input): Promise<void> {
  const lines: string[] = [];
  const folder = await publishedFolder({ ipos: records, updatesOf: 0.5 });
  const { consumerLog, registry } = openLocalConsumerLog({ dataDir: folder.dataDir, logger: quiet });
  const api = await served(registry);
  try {
    const library = new KafkaJsRegistry({ host: api.url });
    for (const topic of ['ipos', 'ipos.current']) {
      const found: LogRecord[] = [];
      for await (const record of consumerLog.load(topic, new AbortController().signal)) {
        if (record.value !== null) found.push(record);
      }
      const bytes = found.reduce((sum, { value }) => sum + value!.length, 0);
      const decoder = valueDecoder(registry, ownSchemas);
      const ours = async (slice: readonly LogRecord[]) => {
        for (const record of slice) {
          const event = toEvent(record, decoder);
          sink += (event instanceof Promise ? await event : event).offset;
        }
      };
      const theirs = async (slice: readonly LogRecord[]) => {
        for (const { value } of slice) sink += (await library.decode(value!)) === null ? 0 : 1;
      };
      const [own, other]: [number[], number[]] = [[], []];
      for (let i = -1; i < runs; i++) {
        const [mine, its] = await alternating(found, [ours, theirs]);
        // The first one is for the compiler.
        if (i >= 0) own.push(mine! / found.length);
        if (i >= 0) other.push(its! / found.length);
      }
      const [a, b] = [own, other].map((all) => ({ best: Math.min(...all), median: median(all) })) as [
        Spent,
        Spent,
      ];
      const us = (ms: number) => (ms * 1000).toFixed(2).padStart(6);
      lines.push(`${topic}: ${found.length} values of ${Math.round(bytes / found.length)} bytes, µs a value`);
      lines.push(`  highwater/consumer   best ${us(a.best)}  median ${us(a.median)}`);
      lines.push(`  registry.decode      best ${us(b.best)}  median ${us(b.median)}`);
      lines.push(
        `  ratio                best ${(b.best / a.best).toFixed(2)}  median ${(b.median / a.median).toFixed(2)}`,
      );
    }
    console.log(JSON.stringify({ text: `${lines.join('\n')}\n` }));
  } finally {
    api.stop();
    await consumerLog.close();
    folder.remove();
  }
}

/** What is decoded is looked at, so that none of it can be left out. */
let sink = 0;
main(JSON.parse(process.argv[2]!)).then(() => sink < 0 && console.error(sink));
