import { type FeedName, feedNames } from '../../src/simulator/endpoints';
import type { KafkaProxy, ProxiedMessage } from '../support/kafka-proxy';

/** The commits of a publisher's pages as its own proxy sees them. */
export interface PageCommits {
  /** Whether the next commit of the feed is of a fence: a new producer has its transactional id, and has committed nothing yet. */
  isFencing(feed: FeedName): boolean;
  remove(): void;
}

/** @param committed the broker's answer, that it has carried the commit of a page out, is on its way to the publisher */
export function watchPages(proxy: KafkaProxy, committed: (feed: FeedName) => void): PageCommits {
  const fencing = new Set<FeedName>();
  const watches = [
    proxy.at({ api: 'InitProducerId', where: 'request', every: 1 }, (message) => {
      const feed = feedOf(message);
      if (feed !== null) fencing.add(feed);
      return 'pass';
    }),
    proxy.at({ api: 'EndTxn', commits: true, where: 'answer', every: 1 }, (message) => {
      const feed = feedOf(message);
      if (feed !== null && !fencing.delete(feed)) committed(feed);
      return 'pass';
    }),
  ];
  return {
    isFencing: (feed) => fencing.has(feed),
    remove() {
      for (const watch of watches) watch.remove();
    },
  };
}

/** Each feed has a transactional id of its own, which ends in its name. */
export function feedOf({ transactionalId }: ProxiedMessage): FeedName | null {
  return feedNames.find((feed) => transactionalId?.endsWith(`.${feed}`)) ?? null;
}
