import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import type { Feed } from '../../src/feeds/feed';
import type { ConsumerLog } from '../../src/log/consumer-log';
import { openLocalConsumerLog } from '../../src/log/local/consumer/consumer-log';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import { type PollResult, poll } from '../../src/pipeline/poll';
import { pollRound } from '../../src/pipeline/round';
import { acquireFeed, type OwnedFeed } from '../../src/runtime/owned-feed';
import { type Standby, type StandbyDeps, type StandbyTimes, standBy } from '../../src/runtime/standby';
import type { Source } from '../../src/source/source';
import type { FeedState } from '../../src/state/feed-state';
import { groupOf } from '../../src/state/group-index';
import type { SourceOffset } from '../../src/state/source-offset';
import { endsWithTest } from './ends';
import { type Published, publishedIn, type Values } from './published';
import { quietLogger } from './source';

/** One feed published to an embedded log in a folder of its own, poll by poll. */
export interface TestPublisher {
  readonly log: LocalLog;
  readonly dataDir: string;
  readonly logger: ReturnType<typeof quietLogger>;
  owned(): OwnedFeed;
  offset(): SourceOffset;
  poll(options?: { readonly wide?: boolean }): Promise<PollResult>;
  /** Everything in a topic, in the order of arrival. */
  topic(name: string): Promise<Published[]>;
  sourceOffset(): Promise<Values>;
  /**
   * Lets go of the feed and acquires it again: a restart, as far as state goes. It goes on from what was kept in its folder, and that is
   * what the log would have given. It is in three folders in turn: so it finds changes behind what was kept, and what was kept in the
   * third folder is the copy of a standby, as far as that has come.
   */
  restart(change?: {
    readonly feed?: Feed;
    readonly scope?: string;
    readonly stateDir?: string;
  }): Promise<void>;
  /** @param options what is to be other than it would be; `changed` gives methods of the log that it reads */
  standBy(
    stateDir: string,
    options?: Partial<StandbyDeps & StandbyTimes> & { changed?(log: ConsumerLog): Partial<ConsumerLog> },
  ): Standby;
  /** Writes into the log's file behind the publisher's back. */
  damage(sql: string): void;
  /** Is called after the test, too. */
  close(): Promise<void>;
}

/** As if a poll had found the feed empty. If the next one does so too, the first snapshot is complete. */
export function foundEmpty(state: FeedState): void {
  const pending = state.begin();
  pending.moveOffset({ empty_since_ms: 0 });
  pending.settle();
}

/** All that a state has from the log. */
function contentsOf(state: FeedState) {
  const { records, deadLetterCount, imageBytes, recordCount } = state;
  const view = state.begin();
  const images = Array.from(records.numbers(), (number) => {
    const id = records.idOf(number);
    const [isUnshown, isOutOfScope] = [view.isUnshown(id), records.isOutOfScope(number)];
    return [id, { image: records.imageOf(number).toString('hex'), isUnshown, isOutOfScope }] as const;
  });
  const groups = view.groups.map((group) => {
    const names = new Set(images.map(([id]) => groupOf(group.transition, view.record(id))));
    names.delete(null);
    return Object.fromEntries(
      Array.from(names, (name) => [name, [group.newest(name!), [...group.members(name!)].sort()]]),
    );
  });
  const { scope_since_ms: _, ...offset } = state.offset;
  const counts = view.partitionCounts();
  return {
    images: Object.fromEntries(images),
    ...{ deadLetterCount, imageBytes, recordCount, counts, offset, groups },
  };
}

/** @param pause instead of the pauses between looks for what was published before */
export async function testPublisher(
  feed: Feed,
  source: Source,
  pause: NonNullable<OwnedFeed['deps']['pause']> = async () => {},
): Promise<TestPublisher> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
  const log = openLocalLog({ dataDir });
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  const logger = { ...quietLogger(), info: tell, debug: tell };
  const { signal } = new AbortController();
  const acquire = (of: Feed, scope: string, stateDir: string | null = dataDir) =>
    acquireFeed(
      of,
      {
        source,
        log: log.commitLog,
        registry: log.registry,
        logger,
        topics: feedTopics(of, ''),
        scope,
        appId: 'test',
        instance: 'test',
        stateDir,
        pause,
      },
      signal,
    );
  const { consumerLog } = openLocalConsumerLog({ dataDir, logger });
  const times = { beginAfterMs: 0, againAfterMs: 1, lookEveryMs: 100, differsForMs: 1e9 };
  // As on Kafka, the only log with standbys: there topics have ids.
  const ends: typeof consumerLog.ends = async (topic, at, over) => {
    const found = await consumerLog.ends(topic, at, over);
    const db = new Database(path.join(dataDir, 'highwater.db'), { readonly: true });
    const row = db.prepare('SELECT id FROM topics WHERE topic = ?').get(topic) as { id: number } | undefined;
    db.close();
    return { ...found, topicId: row === undefined ? null : String(row.id) };
  };
  const standByIn: TestPublisher['standBy'] = (stateDir, { changed, ...others } = {}) => {
    const deps = { registry: log.registry, logger, topics: feedTopics(current, ''), stateDir, ...others };
    return standBy(
      current,
      { ...deps, log: { ...consumerLog, ends, ...changed?.(consumerLog) } },
      { ...times, ...others },
    );
  };
  let standby: Standby | null = null;
  const folders = ['first', 'second', 'standby'].map((name) => path.join(dataDir, name));
  let restarts = 0;
  let current = feed;
  let owned = await acquire(feed, 'scope', folders[0]);
  foundEmpty(owned.deps.state);

  const publisher: TestPublisher = {
    log,
    dataDir,
    logger,
    owned: () => owned,
    offset: () => owned.deps.state.offset,
    poll: ({ wide = false } = {}) => poll(owned.deps, pollRound(owned.deps, wide), signal),
    topic: (name) => publishedIn(log, name),
    async sourceOffset() {
      return (await publisher.topic(`${feed.name}.source-offset`)).at(-1)!.decoded!;
    },
    standBy: standByIn,
    async restart({ feed: next = current, scope = 'scope', stateDir } = {}) {
      await owned.close();
      current = next;
      const fromLog = await acquire(next, scope, null);
      const expected = contentsOf(fromLog.deps.state);
      await fromLog.close();
      const folder = stateDir ?? folders[++restarts % 3]!;
      mkdirSync(folder, { recursive: true });
      if (folder === folders[2]) await standby?.end();
      else standby ??= standByIn(folders[2]!);
      const hasKept = readdirSync(folder).some((name) => name.endsWith('.table'));
      told.length = 0;
      owned = await acquire(next, scope, folder);
      // A feed without a commit begins another incarnation each time.
      if (expected.offset.commit === 0) return;
      expect(contentsOf(owned.deps.state)).toEqual(expected);
      // Not after a reset, and not if a new scope came and went.
      const uses = /goes on with the images that it kept|not used.*they are (those of incarnation|of commit)/;
      if (hasKept) expect(told).toContainEqual(expect.stringMatching(uses));
    },
    damage(sql) {
      const db = new Database(path.join(dataDir, 'highwater.db'));
      expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
      db.close();
    },
    async close() {
      await standby?.end();
      await consumerLog.close();
      await log.commitLog.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  endsWithTest(publisher.close);
  return publisher;
}
