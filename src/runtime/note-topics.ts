import { isDeepStrictEqual } from 'node:util';
import { createdAgain, eventTopics, historyLost } from '../log/topics';
import type { PollDeps } from '../pipeline/poll';
import { movePosition } from '../pipeline/transaction/transact';

/**
 * Finds the topics of events that were created again since the owner before, by their ids in the source offset. Nothing else tells:
 * the state is whole without them. The loss is stored first, so that it is said once.
 * @param isTold this process has just said so
 * @throws HighwaterError as `FeedSession.commit`
 */
export async function noteTopics(deps: PollDeps, isTold: boolean): Promise<void> {
  const { state, topics } = deps;
  const { topicIds: now } = deps.session;
  if (now.size === 0) return;
  const { topic_ids: stored, lost_topics: lostBefore } = state.offset;
  const before = new Map(stored.map(({ topic, id }) => [topic, id]));
  const place = topics.sourceOffset.name;
  // A feed that was copied to another cluster, by whatever means, has all of its topics under other ids.
  const isSamePlace = before.get(place) === now.get(place);
  const names = eventTopics(topics);
  const lost = isSamePlace ? createdAgain(names, before, now) : [];
  const topic_ids = [place, ...names].flatMap((topic) => {
    const id = now.get(topic) ?? (isSamePlace ? before.get(topic) : undefined);
    return id === undefined ? [] : [{ topic, id }];
  });
  if (isDeepStrictEqual(topic_ids, [...stored])) return;
  if (lost.length === 0) {
    const pending = state.begin();
    pending.moveOffset({ topic_ids });
    // The next transaction stores it.
    await pending.settle();
    return;
  }
  const lost_topics = [...new Set([...lostBefore, ...lost])];
  await movePosition(deps, { topic_ids, lost_topics });
  if (isTold) return;
  const { message, code, now: goesOn, remedy } = historyLost(topics.feed, lost);
  deps.logger.error(message, { feed: topics.feed, code, now: goesOn, remedy });
}
