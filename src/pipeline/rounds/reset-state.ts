import { inSlices } from '../../async/slices';
import { newOffset } from '../../state/restore';
import type { PollDeps } from '../poll';
import { transactGathered } from '../transaction/transact';

/**
 * Ends the incarnation and begins another: one transaction removes all images and holds the first position of the new incarnation.
 * Events of the old incarnation stay in their topics; nothing is published about the records, which come again as reads.
 */
export async function resetState(
  deps: PollDeps,
): Promise<{ readonly records: number; readonly incarnation: string }> {
  const { feed, state, topics, images, session } = deps;
  const pending = state.begin();
  const { scope, scope_since_ms, paused, topic_ids } = state.offset;
  const first = newOffset(feed, scope, Date.now());
  const { incarnation } = first;
  pending.moveOffset({ ...first, scope_since_ms, paused, topic_ids });
  let records = 0;
  // Encoded one by one: all at once, hundreds of thousands would block the process for seconds.
  const gathered = session.gather();
  await inSlices(state.records.stored(), (number) => {
    const id = state.records.idOf(number);
    const before = state.records.imageOf(number);
    const beforeRecord = images.decode(before);
    pending.apply({ op: 'd', id, before, after: null, beforeRecord, afterRecord: null, changedFields: [] });
    records++;
    gathered.add([
      { topic: topics.current.name, key: id, value: null, headers: { incarnation }, timestamp: Date.now() },
    ]);
  });
  await transactGathered(deps, pending, gathered, Date.now());
  return { records, incarnation };
}
