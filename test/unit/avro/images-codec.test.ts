import { codecForImages, createFeedCodec } from '../../../src/avro/codec/feed-codec';
import { type RecordSchema, readSchema } from '../../../src/avro/schemas';
import { HighwaterError } from '../../../src/errors';
import { feedTopics } from '../../../src/log/topics';
import { testFeed } from '../../support/feeds';
import { memoryRegistry } from '../../support/registry';
import { schemaFiles, without } from '../../support/schema-versions';
import { quietLogger } from '../../support/source';

const files = schemaFiles();
afterAll(() => files.remove());

const full = readSchema('ipo.avsc');

/** The codec for a publisher of a schema with a field less than the images have. @param error of whatever has the field */
async function chosen(error: HighwaterError) {
  const registry = memoryRegistry();
  const refusing: typeof registry = {
    ...registry,
    async register(subject, schema) {
      if (JSON.stringify(schema).includes('"notes"')) throw error;
      return registry.register(subject, schema);
    },
  };
  const feed = testFeed('ipos', { schema: files.add(without(full, ['notes'])) });
  const topics = feedTopics(feed, '');
  const own = await createFeedCodec(feed, topics, refusing);
  own.image.addWriter(100, full);
  const logger = quietLogger();
  const codec = await codecForImages(feed, topics, refusing, own, new Set([100]), logger);
  return { codec, own, logger };
}

it('the codec of images is the own one, with a warning, if the wider one may not be registered', async () => {
  const { codec, own, logger } = await chosen(new HighwaterError('SCHEMA_UNREGISTERED', 'no such version'));
  expect(codec).toBe(own);
  expect(logger.warnings).toEqual([expect.stringContaining('which has fewer fields than its images')]);
});

it('the codec of images is the own one, with a warning, if one name would stand for two types', async () => {
  const part = (name: string, field: string) => ({
    ...{ name, default: null },
    type: ['null', { type: 'record', name: 'Part', fields: [{ name: field, type: 'string' }] }],
  });
  const withPart = (name: string, field: string) =>
    ({ ...full, fields: [...full.fields, part(name, field)] }) as RecordSchema;
  const registry = memoryRegistry();
  const feed = testFeed('ipos', { schema: files.add(withPart('new_part', 'b')) });
  const topics = feedTopics(feed, '');
  const own = await createFeedCodec(feed, topics, registry);
  own.image.addWriter(100, withPart('old_part', 'a'));
  const logger = quietLogger();
  expect(await codecForImages(feed, topics, registry, own, new Set([100]), logger)).toBe(own);
  expect(logger.warnings).toEqual([expect.stringContaining('which has fewer fields than its images')]);
});

it('the codec of images waits for a registry that does not answer', async () => {
  const down = chosen(new HighwaterError('REGISTRY_UNREACHABLE', 'down'));
  await expect(down).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
});
