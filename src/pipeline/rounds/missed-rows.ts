import { WHOLE_FEED } from '../../types';
import type { MissedRow } from '../changes/page-changes';
import { lookAt } from '../look';
import type { PollDeps } from '../poll';
import { learnedPaging } from '../position';
import { ofNoUse } from '../scan/seam';
import { movePosition } from '../transaction/transact';

/** One of several servers behind the address may lag. */
const LOOKS = 4;

/**
 * Asks the filter for rows that polls have missed, as a poll would. Rows that became visible late are shown now. If one is not shown, the
 * filter goes by another time than `updated`, and is not used any more: polls would go on missing such rows.
 * @throws HighwaterError as `lookAt`
 */
export async function testFilter(
  deps: PollDeps,
  missed: readonly MissedRow[],
  signal: AbortSignal,
): Promise<void> {
  const { feed, state, logger } = deps;
  const { name, parameters } = feed;
  if (parameters.updatedSince === null || learnedPaging(state.offset, feed).lag >= WHOLE_FEED) return;
  for (const row of missed) {
    if (!(await isLeftOut(deps, row, signal))) continue;
    await movePosition(deps, { filter_lag: WHOLE_FEED });
    logger.warn(`Feed ${name}: the filter ${parameters.updatedSince} ${ofNoUse(feed)}`, { feed: name });
    return;
  }
}

async function isLeftOut(deps: PollDeps, { id, updated }: MissedRow, signal: AbortSignal): Promise<boolean> {
  const range = { from: Math.max(0, updated - deps.feed.overlapSeconds), through: updated };
  const look = (withoutFilter: boolean) =>
    lookAt(deps, { ...range, withoutFilter }, (one) => one === id, signal);
  for (let i = 0; i < LOOKS; i++) {
    const { rows, isPresent } = await look(false);
    if (rows.has(id) || !isPresent) return false;
  }
  // It has not moved meanwhile, and each answer shows it: one of a server that lags proves nothing.
  for (let i = 0; i < LOOKS; i++) if ((await look(true)).rows.get(id) !== updated) return false;
  return true;
}
