import type { Feed } from '../../src/feeds/feed';
import { feedDefinitions } from '../../src/feeds/index';

/** A built-in feed with short intervals; `overrides` win. */
export function testFeed(name: string, overrides: Partial<Feed> = {}): Feed {
  const definition = feedDefinitions.find((feed) => feed.name === name);
  if (definition === undefined) throw new Error(`no feed ${name}`);
  return {
    ...definition,
    pollIntervalMs: 100,
    overlapSeconds: 5,
    wideOverlapSeconds: 3600,
    widePollEveryMs: 900_000,
    reconcileEveryMs: null,
    deleteShare: 0.05,
    snapshotMode: 'initial',
    ...overrides,
  };
}

/** `highwater.yaml` with the transitions of IPOs on the topic of their changes. */
export const transitionsOnFeedTopic = JSON.stringify({
  feeds: { ipos: { transitions: testFeed('ipos').transitions.map((one) => ({ ...one, topic: 'ipos' })) } },
});
