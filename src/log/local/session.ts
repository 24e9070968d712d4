import { HighwaterError } from '../../errors';
import type { FeedSession, FeedTopics } from '../commit-log';
import { assertOwn, GatheredRecords } from '../gathered';
import { assertReaches, isCompacted } from '../topics';
import type { OwnedTopic } from './append';
import { type ReadDeps, restore } from './read';
import type { Writer } from './writer';

/**
 * One ownership of one feed in this process, whose topics' next offsets it keeps in memory.
 * @param released is called when the session no longer holds its feed
 */
export async function openSession(
  topics: FeedTopics,
  ownerEpoch: string,
  writer: Writer,
  reading: ReadDeps,
  released: (session: FeedSession) => void,
): Promise<FeedSession> {
  const { feed } = topics;
  const owned: ReadonlyMap<string, OwnedTopic> = await writer.claimFeed(topics, ownerEpoch);
  let isReleased = false;
  let underWay = 0;
  /** After an error a batch may be in the log all the same. */
  let isCertain = true;
  let commit: number | null = null;

  function compacted(topic: string): OwnedTopic {
    const spec = owned.get(topic);
    if (spec === undefined || !isCompacted(spec))
      throw new RangeError(`${topic} is not a compacted topic of the feed ${feed}`);
    return spec;
  }

  const session: FeedSession = {
    ownerEpoch,
    topicIds: new Map(),
    maxRecordBytes: () => Infinity,
    partitionsOf(topic) {
      const spec = owned.get(topic);
      if (spec === undefined) throw new RangeError(`${topic} is not a topic of the feed ${feed}`);
      return spec.partitions;
    },
    restore(topic, signal, after) {
      const { id, nextOffsets } = compacted(topic);
      if (after !== undefined) assertReaches(topic, { topicId: String(id), offsets: nextOffsets }, after);
      return restore(topic, signal, reading, after?.offsets);
    },
    endOf(topic) {
      const { id, nextOffsets } = compacted(topic);
      if (isReleased || underWay > 0 || !isCertain) return null;
      return { topicId: String(id), offsets: [...nextOffsets], commit };
    },
    gather: () => new GatheredRecords(),
    async commit(batch) {
      if (isReleased || reading.isClosed()) {
        const what = `the feed ${feed} was released before the batch was committed`;
        throw new HighwaterError('LOG_CLOSED', what);
      }
      assertOwn(batch, feed, ownerEpoch);
      underWay++;
      try {
        await writer.commit(batch, ownerEpoch, owned);
        commit = batch.position.commit;
      } catch (error) {
        isCertain = false;
        throw error;
      } finally {
        underWay--;
      }
    },
    async release() {
      if (isReleased) return;
      isReleased = true;
      try {
        if (!reading.isClosed()) await writer.releaseFeed(feed, ownerEpoch);
      } finally {
        released(session);
      }
    },
  };
  return session;
}
