import { HighwaterError } from '../../errors';
import type { FeedDefinition } from '../../feeds/definition';
import type { FeedTopics } from '../../log/commit-log';
import type { Logger } from '../../logging/logger';
import { covers, recordShape } from '../record-shape';
import type { SchemaRegistry } from '../registry/registry';
import type { RecordSchema } from '../schemas';
import { createFeedCodec, type FeedCodec } from './feed-codec';

/**
 * The codec by which a feed with images continues: its own, or the codec of a schema that wrote some of the images and has more fields
 * than its own schema. So a publisher of an older version continues by the schema of a newer version, and readers of both schemas see
 * each `before` as the `after` that it was (`docs/decisions/0010`).
 *
 * @param own knows all writers of the images
 * @throws HighwaterError REGISTRY_*
 */
export async function codecForImages(
  feed: FeedDefinition,
  topics: FeedTopics,
  registry: SchemaRegistry,
  own: FeedCodec,
  writers: Iterable<number>,
  logger: Logger,
): Promise<FeedCodec> {
  const { image } = own;
  const schemaOf = (id: number) => image.writerSchema(id) as RecordSchema;
  const isWider = (id: number, than: number) => {
    const [shape, other] = [recordShape(schemaOf(id)), recordShape(schemaOf(than))];
    return covers(shape, other) && !covers(other, shape);
  };
  const widest = [...writers].reduce((best, id) => (isWider(id, best) ? id : best), image.schemaId);
  if (widest === image.schemaId) return own;
  const facts = { feed: feed.name, schemaId: widest, own: image.schemaId };
  try {
    const codec = await createFeedCodec(feed, topics, registry, schemaOf(widest));
    for (const id of image.writers()) codec.image.addWriter(id, schemaOf(id));
    logger.info(
      `Feed ${feed.name} goes on by the schema of its images, which has more fields than this version's.`,
      facts,
    );
    return codec;
  } catch (error) {
    if (!(error instanceof HighwaterError) || !/^SCHEMA_(UNREGISTERED|INCOMPATIBLE)$/.test(error.code))
      throw error;
    // An envelope of this version around a record of that schema may be new to the registry, which may refuse it.
    logger.warn(
      `Feed ${feed.name} goes on by this version's schema, which has fewer fields than its images'.`,
      {
        ...facts,
        now: 'Values without a field are published in extra.',
        why: error.message,
      },
    );
    return own;
  }
}
