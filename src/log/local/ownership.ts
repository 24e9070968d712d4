import { hostname } from 'node:os';
import { HighwaterError } from '../../errors';
import type { FeedTopics, TopicSpec } from '../commit-log';
import { allTopics, isCompacted } from '../topics';
import type { OwnedTopic } from './append';
import { gapsQuery } from './file/gaps';
import { endOffsetQuery, type FolderOwner } from './file/reader-connection';
import { type Connection, prepare, textOf, transact } from './file/sqlite';

/**
 * The owner of the folder and, by an epoch, of each feed. Kept in the file, so that a commit can check it in its
 * transaction.
 */
export function ownership(db: Connection) {
  const epoch = prepare(db, 'SELECT CAST(owner_epoch AS BLOB) FROM feeds WHERE feed = ?');
  const addTopic = prepare(db, 'INSERT OR IGNORE INTO topics (topic, partitions, cleanup) VALUES (?, ?, ?)');
  const topicByName = prepare(db, 'SELECT id, partitions, CAST(cleanup AS BLOB) FROM topics WHERE topic = ?');
  const endOffset = endOffsetQuery(db);
  const gaps = gapsQuery(db);

  return {
    /** Writes down who publishes here now, and voids every hold of earlier processes. */
    claimFolder(instance: string): void {
      transact(db, 'IMMEDIATE', () => {
        db.exec('DELETE FROM publisher; DELETE FROM feeds');
        const add = prepare(db, 'INSERT INTO publisher VALUES (?, ?, ?, ?)');
        add.run([process.pid, hostname(), instance, Date.now()]);
      });
    },
    /** Makes `ownerEpoch` the feed's only valid one, and its topics known. @throws HighwaterError LOG_TOPIC_MISMATCH */
    claimFeed: (topics: FeedTopics, ownerEpoch: string): ReadonlyMap<string, OwnedTopic> =>
      transact(db, 'IMMEDIATE', () => {
        prepare(db, 'INSERT OR REPLACE INTO feeds VALUES (?, ?)').run([topics.feed, ownerEpoch]);
        return new Map(allTopics(topics).map((spec) => [spec.name, owned(spec)]));
      }),
    /** @throws HighwaterError LOG_FENCED. To be called within the transaction that depends on it. */
    assertOwned(feed: string, ownerEpoch: string): void {
      const [row] = epoch.all(feed) as [Buffer][];
      if (row === undefined || textOf(row[0]) !== ownerEpoch) throw fenced(feed, ownerEpoch);
    },
    releaseFeed(feed: string, ownerEpoch: string): void {
      prepare(db, 'DELETE FROM feeds WHERE feed = ? AND owner_epoch = ?').run([feed, ownerEpoch]);
    },
    /** Makes a topic of no feed known, as it stands. To be called within the transaction that writes there. @throws as claimFeed */
    sharedTopic: owned,
    releaseFolder: (): void => void db.exec('DELETE FROM publisher'),
  };

  /** As in Kafka, a topic that exists keeps its partitions: with other ones a key's records would part. */
  function owned(spec: TopicSpec): OwnedTopic {
    addTopic.run([spec.name, spec.partitions, spec.cleanup]);
    const [row] = topicByName.all(spec.name) as [number, number, Buffer][];
    const [id, partitions] = row!;
    const cleanup = textOf(row![2]) as TopicSpec['cleanup'];
    if (isCompacted({ cleanup }) !== isCompacted(spec)) {
      const what = `topic ${spec.name} is kept with cleanup ${cleanup} in this log, and ${spec.cleanup} is needed`;
      throw new HighwaterError('LOG_TOPIC_MISMATCH', what);
    }
    const nextOffsets = Array.from({ length: partitions }, (_, partition) =>
      Math.max(endOffset(spec.name, partition), gaps(spec.name, partition).at(-1)?.next ?? 0),
    );
    return { id, name: spec.name, partitions, cleanup, nextOffsets };
  }
}

/** For a commit of an earlier owner. */
export function fenced(feed: string, ownerEpoch: string): HighwaterError {
  return new HighwaterError('LOG_FENCED', `another owner has taken the feed ${feed} since ${ownerEpoch}`);
}

/** @throws HighwaterError LOG_OWNED, always */
export function refuse(dataDir: string, owner: FolderOwner | null): never {
  if (owner === null) {
    const what = `another publisher, just started, holds the data folder ${dataDir}`;
    throw new HighwaterError('LOG_OWNED', what);
  }
  const { pid, host, instance, since, feeds } = owner;
  const owned = feeds.length === 0 ? '' : ` (${feeds.join(', ')})`;
  const what = `the data folder ${dataDir} belongs to ${instance}, process ${pid} on ${host}, since ${new Date(since).toISOString()}${owned}`;
  throw new HighwaterError('LOG_OWNED', what);
}
