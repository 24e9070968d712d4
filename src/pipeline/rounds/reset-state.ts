import { inSlices } from '../../async/slices';
import type { Feed } from '../../feeds/feed';
import type { ProducerRecord } from '../../log/commit-log';
import { newOffset } from '../../state/restore';
import type { PollDeps } from '../poll';
import { transact } from '../transaction/transact';

/**
 * Ends the incarnation and begins another: all images are removed in one transaction with the first position of the new
 * one. The events of the old one stay in their topics; nothing is published about the records, which come again as reads.
 */
export async function resetState(
  feed: Feed,
  deps: PollDeps,
): Promise<{ readonly records: number; readonly incarnation: string }> {
  const { state, topics, images } = deps;
  const pending = state.begin();
  const { scope, scope_since_ms, paused } = state.offset;
  const first = newOffset(feed, scope, Date.now());
  const { incarnation } = first;
  pending.moveOffset({ ...first, scope_since_ms, paused });
  const tombstones: ProducerRecord[] = [];
  await inSlices(state.ids(), (id) => {
    const before = state.image(id)!;
    const beforeRecord = images.decode(before);
    pending.apply({ op: 'd', id, before, after: null, beforeRecord, afterRecord: null, changedFields: [] });
    tombstones.push({
      topic: topics.current.name,
      key: id,
      value: null,
      headers: { incarnation },
      timestamp: Date.now(),
    });
  });
  await transact(feed, deps, pending, [tombstones]);
  return { records: tombstones.length, incarnation };
}
