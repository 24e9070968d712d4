import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { readSchema } from '../../src/avro/schemas';
import type { CommitLog } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { type PollDeps, poll } from '../../src/pipeline/poll';
import type { Decoder } from '../../src/pipeline/records/decode';
import { pollRound } from '../../src/pipeline/round';
import { retryDeadLetters } from '../../src/pipeline/rounds/retry-dead-letters';
import { acquireFeed, type OwnedFeed } from '../../src/runtime/owned-feed';
import { commandLine } from '../support/cli';
import { testFeed } from '../support/feeds';
import { kafkaWorld } from '../support/kafka-world';
import { readAll } from '../support/log-records';
import { analyst } from '../support/records';
import { schemaFiles, without } from '../support/schema-versions';
import { scriptedVendor } from '../support/scripted-vendor';
import { quietLogger } from '../support/source';

const cli = commandLine();
const files = schemaFiles();
const newer = readSchema('analyst.avsc');
// The vendor's name of a field within, which Avro cannot hold, has to come back from the registry.
const older = without(newer, ['name_last', 'ratings_accuracy.1m_stdev']);
const vendor = scriptedVendor();
const { signal } = new AbortController();
const kafka = kafkaWorld();
let log: CommitLog;
let owned: OwnedFeed | null = null;

beforeEach(() => {
  vendor.rows = [];
  log = kafka.log();
});
afterEach(async () => {
  await owned?.release();
  owned = null;
});
afterAll(() => files.remove());

const feedOf = (schema: typeof newer) =>
  testFeed('analysts', { schema: files.add(schema), pageSize: 10, wideOverlapSeconds: 100_000 });

/** A publisher with this version of the schema takes the feed over. */
async function takeOver(schema: typeof newer, registration: 'register' | 'lookup' = 'register') {
  const feed = feedOf(schema);
  await owned?.release();
  const logger = quietLogger();
  const registry = confluentRegistry({ url: kafka.registryUrl(), auth: null, registration }, { logger });
  owned = await acquireFeed(
    feed,
    {
      source: vendor,
      log,
      registry,
      logger,
      topics: feedTopics(feed, kafka.prefix()),
      scope: 'scope',
      appId: 'test',
      instance: 'test',
      stateDir: null,
    },
    signal,
  );
  const { deps } = owned;
  return {
    feed,
    deps,
    poll: async (over: Partial<PollDeps> = {}) => {
      const round = pollRound(deps, true);
      return (await poll({ ...deps, ...over }, round, signal)).changes;
    },
  };
}

const accuracy = { '1m_stdev': '0.5', '1m_average_return': '1.5' };
const row = (id: string, updated: number, rest: Record<string, unknown> = {}) =>
  analyst({ id, updated, name_last: 'Doe', ratings_accuracy: accuracy, ...rest });

it('versions with a field more and less take turns over a registry, and publish only what changed', async () => {
  vendor.rows = [row('a', 1), row('b', 2)];
  expect(await (await takeOver(older)).poll()).toBe(2);
  expect(await (await takeOver(newer)).poll()).toBe(0);
  vendor.rows = [row('b', 2), row('a', 3, { firm_name: 'Other' })];
  expect(await (await takeOver(newer)).poll()).toBe(1);

  const rolledBack = await takeOver(older, 'lookup');
  expect(rolledBack.deps.codec.schemas.record.fields.map(({ name }) => name)).toContain('name_last');
  expect(await rolledBack.poll()).toBe(0);
  vendor.rows = [row('a', 3, { firm_name: 'Other' }), row('b', 4, { firm_name: 'Other' })];
  expect(await rolledBack.poll()).toBe(1);
  const { values: image } = rolledBack.deps.images.decode(rolledBack.deps.state.image('b')!);
  expect(image).toMatchObject({ name_last: 'Doe', ratings_accuracy: { _1m_stdev: '0.5' } });
  expect(image).toHaveProperty('extra', {});
  expect(await (await takeOver(newer)).poll()).toBe(0);
});

it('a dead letter is listed, retried and forgotten', async () => {
  const { feed, deps, poll: pollWith } = await takeOver(newer);
  const unread: Decoder = (page) => ({
    records: [],
    rows: [],
    rejected: page.map((one) => ({ reason: 'not read', raw: JSON.stringify(one) })),
  });
  const { deadLetters } = feedTopics(feed, kafka.prefix());
  vendor.rows = [row('a', 1), { id: 'b', name: 'without updated' }];
  await expect(pollWith({ decode: unread })).rejects.toMatchObject({ code: 'SNAPSHOT_UNREADABLE' });
  const env = { KAFKA_BROKERS: kafka.brokers(), SCHEMA_REGISTRY_URL: kafka.registryUrl() };
  const list = async () => {
    const listing = cli(['dead-letters', 'list', 'analysts', '--json', '--topic-prefix', kafka.prefix()], {
      env,
    });
    expect((await listing.ended()).code).toBe(0);
    return listing
      .stdout()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(JSON.parse(line).raw).id);
  };
  expect((await list()).sort()).toEqual(['a', 'b']);

  expect(await retryDeadLetters(deps)).toEqual({
    retried: 1,
    published: 1,
    still: 1,
    tooOld: 0,
    superseded: 0,
  });
  expect(await list()).toEqual(['b']);
  expect(await readAll(log, [feedTopics(feed, kafka.prefix()).changes.name])).toHaveLength(1);
  const gone = (await readAll(log, [deadLetters.name])).find(({ value }) => value === null)!.key;
  expect(deps.state.hasDeadLetter(gone)).toBe(false);
  expect((await takeOver(newer)).deps.state.hasDeadLetter(gone)).toBe(false);
});
