import type { FeedCodec } from '../../avro/codec/feed-codec';
import type { ScanPage, VendorRecord } from '../../types';
import type { Decoder } from './decode';

/**
 * A record that is older than its image may come from a replica that lags, or the vendor may really have gone back. The
 * page is read once more: what both answers agree on is taken, the rest is left to a later poll.
 */
export async function confirm(
  doubtful: readonly VendorRecord[],
  page: ScanPage,
  { decode, codec }: { readonly decode: Decoder; readonly codec: Pick<FeedCodec, 'image'> },
): Promise<readonly VendorRecord[]> {
  if (doubtful.length === 0) return doubtful;
  const ids = new Set(doubtful.map(({ id }) => id));
  const again = new Map<string, Buffer>();
  for (const record of decode(await page.reread()).records)
    if (ids.has(record.id)) again.set(record.id, codec.image.encode(record));
  return doubtful.filter((record) => again.get(record.id)?.equals(codec.image.encode(record)));
}
