import { type RecordSchema, readSchema } from '../../../src/avro/schemas';
import { HighwaterError } from '../../../src/errors';
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
function uncompactedLog() {
  const session = memorySession();
  const registry = memoryRegistry();
  const vendor = scriptedVendor();
  let isRefused = false;
  const register: typeof registry.register = async (subject, schema) => {
    if (isRefused && JSON.stringify(schema).includes('"notes"'))
      throw new HighwaterError('SCHEMA_UNREGISTERED', 'no such version');
    return registry.register(subject, schema);
  };
  return {
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
