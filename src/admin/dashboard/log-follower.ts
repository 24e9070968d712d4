import { type DecodedRecord, recordDecoder } from '../../avro/record-decoder';
import type { SchemaRegistry } from '../../avro/registry';
import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import type { ConsumerLog } from '../../log/consumer-log';
import { feedTopics } from '../../log/topics';
import type { Logger } from '../../logger';
import { pause } from '../../wait';

export interface FollowerDeps {
  readonly log: ConsumerLog;
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
  readonly logger: Logger;
}

/** What is read of the log for those who look. */
export interface Followed {
  record(feed: Feed, record: DecodedRecord): void;
  /** So many records of the feed's change events were passed over. */
  passedOver(feed: Feed, count: number): void;
}

/** Of each partition so many are read when somebody begins to look, and after a flood was passed over. */
const BACKLOG = 40;
const AFTER_FLOOD = 10;
/** Of one topic. */
const MOST_PER_SECOND = 200;
const AGAIN_MS = 2_000;

/**
 * Follows the change events and transitions of feeds from shortly before their end, until the signal: those of other instances as
 * one's own, and those of commands as those of polls. What comes faster than people read is passed over unread, so that a
 * flood costs next to nothing. Never fails: what cannot be read now is tried again.
 */
export function followLog(
  feeds: readonly Feed[],
  deps: FollowerDeps,
  followed: Followed,
  signal: AbortSignal,
): void {
  const decode = recordDecoder(deps.registry);
  for (const feed of feeds) {
    const { changes, transitions } = feedTopics(feed, deps.topicPrefix);
    const names = new Set([changes, ...transitions].map(({ name }) => name));
    for (const topic of names) {
      const counted = topic === changes.name ? (count: number) => followed.passedOver(feed, count) : () => {};
      void followTopic(topic, deps, signal, counted, async (record) => {
        followed.record(feed, await decode(record));
      });
    }
  }
}

async function followTopic(
  topic: string,
  { log, logger }: FollowerDeps,
  signal: AbortSignal,
  passedOver: (count: number) => void,
  take: (record: Parameters<ReturnType<typeof recordDecoder>>[0]) => Promise<void>,
): Promise<void> {
  /** By partition the offset of the record to come. */
  const positions = new Map<number, number>();
  let depth = BACKLOG;
  while (!signal.aborted) {
    try {
      const ends = await log.ends(topic, 'committed', signal);
      const from = new Map<number, number>();
      for (const [partition, end] of ends) {
        const known = positions.get(partition);
        const next = Math.max(known ?? 0, end - depth);
        if (known !== undefined) passedOver(next - known);
        // From the beginning, wherever it is by now.
        if (next > 0) from.set(partition, next);
        positions.set(partition, next);
      }
      const allowance = allowanceOf(MOST_PER_SECOND);
      for await (const record of log.follow(topic, from, signal)) {
        positions.set(record.partition, record.logOffset + 1);
        if (record.value !== null) await take(record).catch((error: unknown) => notShown(record, error));
        if (!allowance.take()) break;
      }
      depth = AFTER_FLOOD;
      await pause(1_000, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof HighwaterError && error.code === 'LOG_POSITION_LOST') {
        // Retention was there before, or the topic was made anew: what comes from now on.
        positions.clear();
        depth = 0;
        continue;
      }
      logger.debug('the dashboard cannot read a topic now', { topic, error });
      await pause(AGAIN_MS, signal);
    }
  }

  function notShown(
    { partition, logOffset }: { partition: number; logOffset: number },
    error: unknown,
  ): void {
    logger.debug('the dashboard does not show a record', { topic, partition, logOffset, error });
  }
}

/** A bucket of so many, filled up at the same rate. */
function allowanceOf(perSecond: number): { take(): boolean } {
  let left = perSecond;
  let at = performance.now();
  return {
    take() {
      const now = performance.now();
      left = Math.min(perSecond, left + ((now - at) * perSecond) / 1_000) - 1;
      at = now;
      return left > 0;
    },
  };
}
