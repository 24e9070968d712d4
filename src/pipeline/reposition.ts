import type { Feed } from '../feeds/feed';
import type { ProducerRecord } from '../log/commit-log';
import { newOffset } from '../state/restore';
import type { SourceOffset } from '../state/source-offset';
import { commit } from './commit';
import { encodeTransaction } from './encode';
import type { PollDeps } from './poll';

/** Commits another position, and nothing else. @throws HighwaterError LOG_*, KAFKA_* */
export async function movePosition(feed: Feed, deps: PollDeps, fields: Partial<SourceOffset>): Promise<void> {
  const pending = deps.state.begin();
  pending.moveOffset(fields);
  await commit(encodeTransaction([], pending, context(feed, deps), deps.session), pending, deps.session);
}

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
  for (const id of state.ids()) {
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
  }
  await commit(
    encodeTransaction([tombstones], pending, context(feed, deps), deps.session),
    pending,
    deps.session,
  );
  return { records: tombstones.length, incarnation };
}

function context(feed: Feed, { topics, codec, instance: owner, session }: PollDeps) {
  return { feed, topics, codec, owner, ownerEpoch: session.ownerEpoch, observedAtMs: Date.now() };
}
