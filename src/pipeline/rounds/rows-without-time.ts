import type { Feed } from '../../feeds/feed';
import { rowKeys } from '../../feeds/row-keys';
import type { Paging, ScanPage } from '../../types';
import { PageReader } from '../scan/pages/page-reader';
import { noPage } from '../scan/pages/refusals';
import { type ScanDeps, ScanPosition } from '../scan/scan-position';

/**
 * Rows without a time on the first page that the API shows without the filter. A database compares a missing time with nothing, so a
 * filter may hide such rows whatever it is asked for, and every request of a scan names the filter. They become dead letters, which
 * people see. A warning names rows with a time before 1970, which the filter is not asked for. One page shows most feeds of this kind; an
 * API that gives none without the filter is not asked further.
 * @param isKnown told the id of each row @returns whether the filter has shown a row with it
 */
export async function* rowsWithoutTime(
  feed: Feed,
  paging: Paging,
  isKnown: (id: string) => boolean,
  { source, logger }: ScanDeps,
  signal: AbortSignal,
): AsyncGenerator<ScanPage> {
  const { parameters, updatedField, windowSeconds } = feed;
  if (parameters.updatedSince === null || updatedField === null || windowSeconds !== undefined) return;
  const unfiltered = { ...feed, parameters: { ...parameters, updatedSince: null } };
  const reader = new PageReader(unfiltered, source, paging, signal);
  const page = await reader.readFirst(0).catch(noPage);
  if (page === null) return;
  const keys = rowKeys(feed);
  const hidden = page.rows.filter((row) => {
    const id = keys.id(row);
    return id !== null && !isKnown(id) && (keys.updated(row) ?? 0) <= 0;
  });
  const early = hidden.find((row) => keys.updated(row) === 0);
  if (early !== undefined) {
    const remedy =
      (feed.beginAt ?? 0) < 0
        ? 'parameters.updatedSince of the feed to null'
        : 'beginAt of the feed to 0001-01-01';
    const what = `hides records dated 1970 or before, such as ${keys.id(early)}, and they are not published. Set ${remedy}.`;
    logger.warn(`Feed ${feed.name}: the filter ${parameters.updatedSince} ${what}`, { feed: feed.name });
  }
  const rows = hidden.filter((row) => keys.updated(row) === null);
  if (rows.length === 0) return;
  const start = { snapshot: false, highWaterMark: 0 };
  const read = new ScanPosition(unfiltered, reader, logger, start, 0).page(page);
  yield { ...read, rows, progress: { ...read.progress, paging } };
}
