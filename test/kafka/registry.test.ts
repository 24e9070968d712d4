import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SchemaRegistry as OtherClient } from '@kafkajs/confluent-schema-registry';
import { createFeedCodec } from '../../src/avro/codec/feed-codec';
import { recordDecoder } from '../../src/avro/codec/record-decoder';
import { type ConfluentRegistryOptions, confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { loadConfig } from '../../src/config/load-config';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import type { PageReport } from '../../src/pipeline/poll';
import { runWorker } from '../../src/runtime/worker';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { freePort } from '../../tools/servers/ports';
import { type Registry, startRegistry } from '../../tools/servers/registry';
import { schemaRegistryContract } from '../contract/schema-registry';
import { testFeed } from '../support/feeds';
import { readAll } from '../support/log-records';
import { startRegistryFront } from '../support/registry-front';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

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
  let api: Simulator;
  let dataDir: string;
  let log: LocalLog;
  let stop: AbortController;
  let running: Promise<unknown>;
  let seen: number;
  let prefix: string;
  let registry: Registry | null = null;

  beforeEach(async () => {
    api = await startSimulator({ records: { ipos: 20, insights: 20, analysts: 20 }, compress: false });
    dataDir = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
    log = openLocalLog({ dataDir });
    stop = new AbortController();
    running = Promise.resolve();
    seen = 0;
    prefix = uniquePrefix();
    logger.warnings.length = 0;
  });
  afterEach(async () => {
    stop.abort();
    await running.catch(() => {});
    await log.commitLog.close();
    await api.stop();
    rmSync(dataDir, { recursive: true });
  });
  afterAll(() => registry?.stop());

  function publish(url: string, options: Partial<ConfluentRegistryOptions> = {}): void {
    const env = {
      HIGHWATER_API_URL: api.url,
      HIGHWATER_API_TOKEN: api.token,
      HIGHWATER_DATA_DIR: dataDir,
      HIGHWATER_POLL_INTERVAL: '30ms',
      HIGHWATER_TOPIC_PREFIX: prefix,
    };
    const config = loadConfig({ flags: {}, env, cwd: dataDir });
    const deps = {
      log: log.commitLog,
      registry: open(url, { signal: stop.signal, timeoutMs: 1_000, ...options }),
      logger,
      onPage: ({ changes }: PageReport) => {
        seen += changes.count;
      },
    };
    running = runWorker(config, deps, false, stop.signal);
  }

  function addIpo(): void {
    const { updated: _, ...rest } = [...api.truth('ipos').values()][0]!;
    api.stores.ipos.upsert({ ...rest, id: 'written-meanwhile' } as never);
  }

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
        stop.abort();
        await running;
        expect(seen).toBe(60);

        front.schemaOfId = null;
        const decode = recordDecoder(open(registry.url));
        const offsets = await readAll(log.commitLog, [`${prefix}ipos.source-offset`]);
        expect((await decode(offsets.at(-1)!)).value).toMatchObject({ parked: 'SCHEMA_LOST' });
        stop = new AbortController();
        publish(front.url, { confirmEveryMs: 0 });
        await until(() => seen === 61);
      } finally {
        stop.abort();
        await running.catch(() => {});
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
