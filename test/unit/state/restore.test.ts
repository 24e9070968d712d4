import { type RecordSchema, readSchema } from '../../../src/avro/schemas';
import { HighwaterError } from '../../../src/errors';
import type { ProducerRecord } from '../../../src/log/commit-log';
import { feedTopics } from '../../../src/log/topics';
import { poll } from '../../../src/pipeline/poll';
import { pollRound } from '../../../src/pipeline/round';
import { resetState } from '../../../src/pipeline/rounds/reset-state';
import { acquireFeed, type OwnedFeed } from '../../../src/runtime/owned-feed';
import { endsWithTest } from '../../support/ends';
import { testFeed } from '../../support/feeds';
import { memorySession } from '../../support/memory-session';
import { ipo } from '../../support/records';
import { memoryRegistry } from '../../support/registry';
import { schemaFiles, without } from '../../support/schema-versions';
import { scriptedVendor } from '../../support/scripted-vendor';
import { quietLogger } from '../../support/source';

const { signal } = new AbortController();
const files = schemaFiles();
afterAll(() => files.remove());
const newer = readSchema('ipo.avsc');
const older = without(newer, ['notes']);

/** A log that holds every record of its compacted topics, as Kafka does until it has compacted them. */
function uncompactedLog(session = memorySession()) {
  const registry = memoryRegistry();
  const vendor = scriptedVendor();
  let isRefused = false;
  const register: typeof registry.register = async (subject, schema) => {
    if (isRefused && JSON.stringify(schema).includes('"notes"'))
      throw new HighwaterError('SCHEMA_UNREGISTERED', 'no such version');
    return registry.register(subject, schema);
  };
  return {
    session,
    vendor,
    /** Whether the registry refuses new schemas that have the newer version's field. */
    refuse(refuses: boolean) {
      isRefused = refuses;
    },
    async takeOver(schema: RecordSchema): Promise<OwnedFeed> {
      const feed = testFeed('ipos', { schema: files.add(schema), wideOverlapSeconds: 100_000 });
      const owned = await acquireFeed(
        feed,
        {
          source: vendor,
          log: { acquire: async () => session } as never,
          registry: { ...registry, register },
          logger: quietLogger(),
          topics: feedTopics(feed, ''),
          scope: 'scope',
          appId: 'test',
          instance: 'test',
          stateDir: null,
        },
        signal,
      );
      endsWithTest(owned.release);
      return owned;
    },
  };
}

const polled = ({ deps }: OwnedFeed) => poll(deps, pollRound(deps, true), signal);

it('a schema whose images have all been replaced is not continued', async () => {
  const { vendor, refuse, takeOver } = uncompactedLog();
  vendor.rows = [ipo({ id: 'a', updated: 100 })];
  await polled(await takeOver(newer));
  refuse(true);
  const alone = await takeOver(older);
  expect(alone.deps.codec.schemas.record).toEqual(older);
  vendor.rows = [ipo({ id: 'a', updated: 200, name: 'Renamed' })];
  expect(await polled(alone)).toMatchObject({ changes: 1 });
  refuse(false);

  expect((await takeOver(older)).deps.codec.schemas.record).toEqual(older);
});

it('a schema whose images a reset has removed is not continued', async () => {
  const { vendor, takeOver } = uncompactedLog();
  vendor.rows = [ipo({ id: 'a', updated: 100 })];
  const owned = await takeOver(newer);
  await polled(owned);
  await resetState(owned.deps);

  expect((await takeOver(older)).deps.codec.schemas.record).toEqual(older);
});

describe('a publisher does not go on', () => {
  const topics = feedTopics(testFeed('ipos'), '');

  /** Three changes of a record, in three transactions, and another record. */
  async function changed() {
    const { session, vendor, takeOver } = uncompactedLog();
    const owned = await takeOver(newer);
    for (const updated of [100, 200, 300]) {
      vendor.rows = [ipo({ id: 'a', updated, name: `name ${updated}` }), ipo({ id: 'b', updated: 100 })];
      await polled(owned);
    }
    const all = session.transactions.flatMap(({ records }) => records);
    const of = (topic: string) => all.filter((one) => one.topic === topic);
    /** Takes the feed over from a log that ends with these records of the topic. */
    const takeOverWith = async (topic: string, records: readonly ProducerRecord[]) => {
      const rest = all.filter((one) => one.topic !== topic);
      const damaged = memorySession();
      const position = { incarnation: '', ownerEpoch: '', commit: 0 };
      await damaged.commit({ feed: 'ipos', records: [...rest, ...records], position });
      return uncompactedLog(damaged).takeOver(newer);
    };
    return { of, takeOverWith };
  }

  it('from a source offset that is older than the images', async () => {
    const { of, takeOverWith } = await changed();
    const offsets = of(topics.sourceOffset.name);
    const older = offsets.findLast((one) => Number(one.headers.seq) < 4)!;
    await expect(takeOverWith(topics.sourceOffset.name, [...offsets, older])).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      message: expect.stringMatching(
        /image of change 4 \(key a\), but the source offset .* ends at 3/,
      ) as string,
    });
  });

  it('from an older image that was written once more', async () => {
    const { of, takeOverWith } = await changed();
    const images = of(topics.current.name);
    await expect(takeOverWith(topics.current.name, [...images, images[0]!])).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      message: expect.stringMatching(/image of change 1 \(key a\), behind one of 4/) as string,
    });
  });

  const textOf = (topic: string, key: string): ProducerRecord => ({
    ...{ topic, key, value: Buffer.from('text'), headers: {}, timestamp: 0 },
  });

  it('from a value of another program', async () => {
    const { of, takeOverWith } = await changed();
    const { name } = topics.current;
    await expect(takeOverWith(name, [...of(name), textOf(name, 'a')])).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      message: expect.stringMatching(/holds a value that highwater did not write \(key a\)/) as string,
    });
  });

  it('unless such a value was replaced since', async () => {
    const { of, takeOverWith } = await changed();
    for (const [{ name }, key] of [
      [topics.current, 'a'],
      [topics.sourceOffset, 'ipos'],
    ] as const) {
      const { state } = (await takeOverWith(name, [textOf(name, key), ...of(name)])).deps;
      expect([state.offset.seq, state.records.size]).toEqual([4, 2]);
    }
  });

  it('unless all is there', async () => {
    const { of, takeOverWith } = await changed();
    const { state } = (await takeOverWith(topics.current.name, of(topics.current.name))).deps;
    expect(state.offset.seq).toBe(4);
  });
});
