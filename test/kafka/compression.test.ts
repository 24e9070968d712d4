import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Kafka, Partitioners } from 'kafkajs';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { type CodecName, compressionType } from '../../src/log/kafka/connection/compression';
import { artefacts } from '../../tools/servers/artefacts';
import { findJava } from '../../tools/servers/java';
import { type ForeignReader, startForeignReader } from '../support/foreign-reader/foreign-reader';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { registerCodecs } from '../support/kafkajs-codecs';
import { readAll } from '../support/log-records';
import { quietLogger } from '../support/source';
import { DEADLINE_MS } from '../support/until';

/** Compressible bytes, incompressible bytes, and none. */
const values = [
  Buffer.from('a decimal as text, 5.0000, and more of it. '.repeat(5_000)),
  randomBytes(200_000),
  Buffer.alloc(0),
  null,
];

describe('compressed records', () => {
  const world = kafkaWorld();
  let brokers: string;
  let kafka: Kafka;
  let topic: string;
  let foreign: ForeignReader | null = null;
  beforeAll(async () => {
    registerCodecs();
    brokers = world.brokers();
    kafka = kafkaClient(plainKafka(brokers), 'test', quietLogger());
  });
  beforeEach(async () => {
    topic = `${world.prefix()}codec`;
    await world.create({ topic });
  });
  afterEach(async () => {
    await foreign?.stop();
    foreign = null;
  });

  async function write(codec: CodecName): Promise<void> {
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    try {
      const messages = values.map((value, i) => ({ key: `k${i}`, value }));
      await producer.send({ topic, messages, compression: compressionType(codec) });
    } finally {
      await producer.disconnect();
    }
  }

  async function writeByJava(codec: string, lines: readonly string[], batchBytes: number): Promise<void> {
    const [java, { kafka: jars }] = [await findJava(), await artefacts()];
    const program = path.join(__dirname, '..', 'support', 'WriteLines.java');
    const args = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=error', '-cp', path.join(jars, '*'), program];
    const running = promisify(execFile)(java, [...args, brokers, topic, codec, String(batchBytes)], {
      timeout: DEADLINE_MS,
    });
    running.child.stdin?.on('error', () => undefined).end(`${lines.join('\n')}\n`);
    await running;
  }

  async function readBack(): Promise<(Buffer | null)[]> {
    return (await readAll(world.log(), [topic])).map(({ value }) => value);
  }

  const written = ['gzip', 'none', 'lz4', 'zstd'] as const;

  it.each(written)('by %s are read back as they were written', async (codec) => {
    await write(codec);
    expect(await readBack()).toEqual(values);
  });

  it.each(written)("by %s are read by Kafka's own consumer", async (codec) => {
    await write(codec);
    foreign = await startForeignReader(brokers);
    expect((await foreign.read(topic)).map(({ value }) => value)).toEqual(values);
  });

  describe.each([
    ['lz4', 'LZ4'],
    ['zstd', 'ZSTD'],
  ] as const)('by %s', (codec, name) => {
    /** A stock consumer in a process of its own, which has not registered what this one has. */
    async function readByStock(before: string): Promise<string> {
      const program = `
        const { Kafka, logLevel } = require('kafkajs');
        ${before}
        const kafka = new Kafka({ brokers: process.argv[1].split(','), logLevel: logLevel.NOTHING });
        const consumer = kafka.consumer({ groupId: process.argv[2] });
        const lengths = [];
        consumer.on(consumer.events.CRASH, ({ payload }) => {
          // A new broker still loads its groups, and kafkajs begins again.
          if (payload.restart) return;
          process.stdout.write(payload.error.message);
          process.exit();
        });
        consumer.connect().then(async () => {
          await consumer.subscribe({ topic: process.argv[2], fromBeginning: true });
          await consumer.run({
            eachMessage: async ({ message }) => {
              lengths.push(message.value?.length ?? null);
              if (lengths.length < ${values.length}) return;
              process.stdout.write(JSON.stringify(lengths));
              process.exit();
            },
          });
        });`;
      const args = ['-e', program, brokers, topic];
      return (await promisify(execFile)(process.execPath, args, { timeout: DEADLINE_MS })).stdout;
    }

    it('a stock kafkajs consumer reads them with the lines of the guide, and without them says what it lacks', async () => {
      await write(codec);
      const guide = readFileSync(path.join(__dirname, '..', '..', 'docs', 'guides', 'node.md'), 'utf8');
      const [, lines = ''] = /```js\n([^`]*CompressionCodecs[^`]*)```/.exec(guide) ?? [];
      expect(await readByStock('')).toBe(`${name} compression not implemented`);
      expect(JSON.parse(await readByStock(lines))).toEqual(values.map((value) => value?.length ?? null));
    });
  });

  // Snappy is what some clusters have all their topics in.
  it.each([...written, 'snappy'])(
    "by %s of Kafka's own producer are read, in batches larger than a codec's window",
    async (codec) => {
      const lines = Array.from({ length: 4_000 }, (_, i) => `${i} ${'a line of some length '.repeat(30)}`);
      // An uncompressed batch must stay below the topic's limit.
      await writeByJava(codec, lines, codec === 'none' ? 500_000 : 4_000_000);
      expect((await readBack()).map(String)).toEqual(lines);
    },
  );
});
