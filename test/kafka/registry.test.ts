import { SchemaRegistry as OtherClient } from '@kafkajs/confluent-schema-registry';
import { createFeedCodec } from '../../src/avro/codec/feed-codec';
import { recordDecoder } from '../../src/avro/codec/record-decoder';
import { type ConfluentRegistryOptions, confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { feedTopics } from '../../src/log/topics';
import type { Simulator } from '../../src/simulator/simulator';
import { freePort } from '../../tools/servers/ports';
import { type Registry, startRegistry } from '../../tools/servers/registry';
import { schemaRegistryContract } from '../contract/schema-registry';
import { endsWithTest } from '../support/ends';
import { testFeed } from '../support/feeds';
import { readAll } from '../support/log-records';
import { writeAgain } from '../support/records';
import { startRegistryFront } from '../support/registry-front';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';
import { type WorkerWorld, workerWorld } from '../support/world';

const logger = quietLogger();
const open = (url: string, options: Partial<ConfluentRegistryOptions> = {}) =>
  confluentRegistry({ url, auth: null, registration: 'register' }, { logger, ...options });

describe('a shared registry', () => {
  let url = '';
  beforeAll(async () => {
    url = (await sharedServers()).registryUrl;
  });

  schemaRegistryContract('a Confluent-compatible server', async () => ({
    open: () => open(url),
    close: async () => {},
  }));

  it('takes the schemas of a feed, and holds each subject to FULL_TRANSITIVE', async () => {
    const feed = testFeed('insights');
    const topics = feedTopics(feed, uniquePrefix());

    await createFeedCodec(feed, topics, open(url));

    for (const { name } of [topics.changes, topics.current, topics.sourceOffset, ...topics.transitions]) {
      const answer = await fetch(`${url}/config/${name}-value`);
      expect(await answer.json()).toEqual({ compatibilityLevel: 'FULL_TRANSITIVE' });
    }
  });

  it('lets another client read what was written with its ids', async () => {
    const feed = testFeed('ipos');
    const topics = feedTopics(feed, uniquePrefix());
    const codec = await createFeedCodec(feed, topics, open(url));
    const letter = { feed: 'ipos', reason: 'no id', raw: '{}', sha256: 'ab', bytes: 2, ts_ms: 1 };
    const other = new OtherClient({ host: url });

    expect(await other.decode(codec.deadLetter.encode(letter))).toMatchObject(letter);
    const subject = `${topics.deadLetters.name}-value`;
    expect(await other.getLatestSchemaId(subject)).toBe(codec.deadLetter.schemaId);
  });
});

describe('a publisher', () => {
  let world: WorkerWorld;
  let api: Simulator;
  let running: Promise<unknown>;
  let seen: number;
  let prefix: string;
  let logger: WorkerWorld['logger'];
  let registry: Registry | null = null;

  beforeEach(async () => {
    world = await workerWorld();
    ({ api, logger } = world);
    seen = 0;
    prefix = uniquePrefix();
  });
  afterAll(() => registry?.stop());

  function publish(url: string, options: Partial<ConfluentRegistryOptions> = {}): void {
    const asking = new AbortController();
    endsWithTest(() => asking.abort());
    running = world.run(
      { HIGHWATER_TOPIC_PREFIX: prefix },
      {
        registry: open(url, { logger, signal: asking.signal, timeoutMs: 1_000, ...options }),
        onPage: ({ changes }) => {
          seen += changes.count;
        },
      },
    );
  }

  const addIpo = () => writeAgain(api.stores.ipos, api.stores.ipos.keys()[0]!, { id: 'written-meanwhile' });

  it('waits for a registry that is not there, and publishes as soon as it is', async () => {
    const port = await freePort();
    publish(`http://127.0.0.1:${port}/apis/ccompat/v7`);
    // A busy machine may not even get the refusal within the time for an answer.
    await until(() => logger.warnings.filter((line) => line.includes('ECONNREFUSED')).length >= 3);
    expect(seen).toBe(0);

    registry = await startRegistry({ port });

    await until(() => seen === 60);
  });

  it('waits for a registry that hangs, and publishes as soon as it answers', async () => {
    registry ??= await startRegistry();
    registry.freeze();
    publish(registry.url);
    await until(() => logger.warnings.length >= 3);
    expect(logger.warnings.every((line) => line.includes('no answer within 1000 ms'))).toBe(true);
    expect(seen).toBe(0);

    registry.thaw();

    await until(() => seen === 60);
  });

  it.each([
    ['forgotten its ids', { status: 404, body: { error_code: 40_403, message: 'Schema not found' } }],
    ['given its ids to other schemas', { status: 200, body: { schema: '"string"' } }],
    ['a schema that is none', { status: 200, body: { schema: '{"type":"nothing"}' } }],
  ])(
    'publishes nothing while the registry has %s, and goes on when it has them again',
    async (_, schemaOfId) => {
      registry ??= await startRegistry();
      const front = await startRegistryFront(registry.url, '');
      try {
        publish(front.url, { confirmEveryMs: 0 });
        await until(() => seen === 60);
        front.schemaOfId = schemaOfId;
        await until(() => logger.warnings.filter((line) => line.includes('gave id')).length === 3);
        addIpo();
        await world.stop();
        await running;
        expect(seen).toBe(60);

        front.schemaOfId = null;
        const decode = recordDecoder(open(registry.url));
        const offsets = await readAll(world.log.commitLog, [`${prefix}ipos.source-offset`]);
        expect((await decode(offsets.at(-1)!)).value).toMatchObject({ parked: 'SCHEMA_LOST' });
        publish(front.url, { confirmEveryMs: 0 });
        await until(() => seen === 61);
      } finally {
        await world.stop();
        await front.stop();
      }
    },
  );

  it('goes on with the ids that it knows when the registry is gone', async () => {
    registry ??= await startRegistry();
    publish(registry.url);
    await until(() => seen === 60);
    await registry.kill();
    addIpo();

    await until(() => seen === 61);

    expect(logger.warnings).toStrictEqual([]);
  });
});
