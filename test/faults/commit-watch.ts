import { setTimeout as delay } from 'node:timers/promises';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { type FeedName, feedNames } from '../../src/simulator/endpoints';
import { type ForeignRecord, startForeignReader } from '../support/foreign-reader/foreign-reader';

/** The commits of publishers, as a foreign consumer sees them while brokers come and go. */
export interface CommitWatch {
  /** When the pages were read that each feed has committed, ms since the epoch, in the order of the log. */
  times(feed: FeedName): readonly number[];
  /** By whom each feed's last commit was: `host:pid`. */
  owners(): Promise<ReadonlyMap<FeedName, string>>;
  /** Why the last look failed; null: it did not. */
  failure(): string | null;
  stop(): Promise<void>;
}

export interface WatchedPlace {
  readonly brokers: string;
  readonly registryUrl: string;
  readonly prefix: string;
}

/** How long one look may take while brokers are away, in ms. */
const LOOK_MS = 6_000;

export async function watchCommits({ brokers, registryUrl, prefix }: WatchedPlace): Promise<CommitWatch> {
  const registry = new SchemaRegistry({ host: registryUrl });
  const reader = await startForeignReader(brokers, { commandMs: LOOK_MS });
  const topics = new Map(feedNames.map((feed) => [`${prefix}${feed}.source-offset`, feed]));
  const times = new Map(feedNames.map((feed) => [feed, [] as number[]]));
  const last = new Map<FeedName, ForeignRecord>();
  let seen = 0;
  let failure: string | null = null;
  let isOver = false;

  const looking = (async () => {
    while (!isOver) {
      // Partitions that cannot be read now are read later.
      failure = null;
      const records = await reader.read(...topics.keys()).catch((error: unknown) => {
        failure = String(error);
        return [];
      });
      for (const record of records.slice(seen)) {
        const feed = topics.get(record.topic)!;
        // The others are fences.
        if (record.key !== feed) continue;
        times.get(feed)!.push(record.timestamp);
        last.set(feed, record);
      }
      seen = Math.max(seen, records.length);
      await delay(100);
    }
  })();

  return {
    times: (feed) => times.get(feed)!,
    async owners() {
      const owners = new Map<FeedName, string>();
      for (const [feed, { value }] of last)
        owners.set(feed, ((await registry.decode(value!)) as { owner: string }).owner);
      return owners;
    },
    failure: () => failure,
    async stop() {
      isOver = true;
      await reader.stop();
      await looking;
    },
  };
}
