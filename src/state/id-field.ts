import { isDeepStrictEqual } from 'node:util';
import { HighwaterError } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import { idPaths } from '../feeds/row-keys';
import type { SourceOffset } from './source-offset';

type Identified = Pick<FeedDefinition, 'name' | 'idField'>;

/** The paths that the feed's records are keyed by: the present ones if none are stored, or if there are no records. */
export function keptIdField(offset: SourceOffset, feed: Identified): readonly string[] {
  return offset.id_field.length === 0 || offset.record_count === 0 ? idPaths(feed) : offset.id_field;
}

/**
 * With another idField, every record would be published as created under a new key, beside the old one.
 * @throws HighwaterError STATE_ID_FIELD_CHANGED
 */
export function assertSameIdField({ id_field, record_count }: SourceOffset, feed: Identified): void {
  const present = idPaths(feed);
  if (isDeepStrictEqual([...id_field], [...present])) return;
  const [now, before] = [present, id_field].map((paths) => `[${paths.join(', ')}]`);
  throw new HighwaterError(
    'STATE_ID_FIELD_CHANGED',
    `Feed ${feed.name} has idField ${now}, and its ${record_count} records were published under ${before}.`,
    {
      remedy: `Set idField back to ${before}, or run \`highwater reset ${feed.name}\`: all records then come as reads (op r) under their new keys, in a new incarnation.`,
    },
  );
}
