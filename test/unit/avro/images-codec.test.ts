import { codecForImages, createFeedCodec } from '../../../src/avro/codec/feed-codec';
import { readSchemaId } from '../../../src/avro/codec/wire';
import { wireType } from '../../../src/avro/codec/wire-type';
import { recordShape } from '../../../src/avro/record-shape';
import { type RecordSchema, readSchema } from '../../../src/avro/schemas';
import { HighwaterError } from '../../../src/errors';
import { feedTopics } from '../../../src/log/topics';
import { createDecoder } from '../../../src/pipeline/records/decode';
import { testFeed } from '../../support/feeds';
import { ipo } from '../../support/records';
import { memoryRegistry } from '../../support/registry';
import { schemaFiles, without } from '../../support/schema-versions';
import { quietLogger } from '../../support/source';

const files = schemaFiles();
afterAll(() => files.remove());

const full = readSchema('ipo.avsc');
const older = without(full, ['notes']);
const oldest = without(full, ['notes', 'name']);
const other = without(full, ['sic']);

/** The codec for a publisher of `older`, over images that these schemas have written. */
async function chosen(writers: readonly RecordSchema[], registry = memoryRegistry()) {
  const feed = testFeed('ipos', { schema: files.add(older) });
  const topics = feedTopics(feed, '');
  const own = await createFeedCodec(feed, topics, registry);
  const images = writers.map((schema, i) => {
    const image = wireType(schema, 100 + i);
    own.image.addWriter(100 + i, schema);
    return image.encode(createDecoder(feed, recordShape(schema))([ipo()]).records[0]!);
  });
  const logger = quietLogger();
  const codec = await codecForImages(feed, topics, registry, own, new Set(images.map(readSchemaId)), logger);
  return { codec, own, images, logger };
}

it('is the own one where no image has a field beside', async () => {
  for (const writers of [[], [older], [oldest], [other], [oldest, other]]) {
    const { codec, own } = await chosen(writers);
    expect(codec).toBe(own);
  }
});

it.each([[[full]], [[oldest, full]], [[full, other, oldest]]])(
  'is that of the widest images (%#)',
  async (writers) => {
    const { codec, images, logger } = await chosen(writers);
    expect(codec.schemas.record).toEqual(full);
    expect(JSON.stringify(codec.schemas.envelope)).toContain('"notes"');
    for (const image of images) expect(codec.image.decode(image).id).toBe(ipo().id);
    expect(logger.warnings).toStrictEqual([]);
  },
);

it('is the own one, with a warning, where the wider one may not be registered', async () => {
  const registry = memoryRegistry();
  const register: typeof registry.register = async (subject, schema) => {
    if (subject === 'ipos-value' && JSON.stringify(schema).includes('"notes"'))
      throw new HighwaterError('SCHEMA_UNREGISTERED', 'no such version');
    return registry.register(subject, schema);
  };
  const { codec, own, logger } = await chosen([full], { ...registry, register });
  expect(codec).toBe(own);
  expect(logger.warnings).toEqual([expect.stringContaining('which has fewer fields than its images')]);
});

it('waits for a registry that does not answer', async () => {
  const registry = memoryRegistry();
  const register: typeof registry.register = async (subject, schema) => {
    if (JSON.stringify(schema).includes('"notes"')) throw new HighwaterError('REGISTRY_UNREACHABLE', 'down');
    return registry.register(subject, schema);
  };
  await expect(chosen([full], { ...registry, register })).rejects.toMatchObject({
    code: 'REGISTRY_UNREACHABLE',
  });
});
