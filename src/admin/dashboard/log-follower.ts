import { type DecodedRecord, recordDecoder } from '../../avro/record-decoder';
import type { SchemaRegistry } from '../../avro/registry';
import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import type { LogRecord } from '../../log/commit-log';
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
  /** A topic is read from now on. @param expects there are records already that are going to be shown */
  opened(expects: boolean): void;
  /** So many records of the feed's change events were passed over. */
  passedOver(feed: Feed, count: number): void;
}

/** Of each partition so many are read when somebody begins to look, and after a flood was passed over. */
const BACKLOG = 40;
const AFTER_FLOOD = 10;
/** Of all feeds together; transitions are counted apart. */
const MOST_PER_SECOND = 200;
const AGAIN_MS = 1_000;

/**
 * Follows the change events and transitions of feeds from shortly before their end, until the signal: those of other instances as
 * one's own, and those of commands as those of polls. What comes faster than people read is passed over unread, so that a
 * flood costs next to nothing. Never fails: what cannot be read now is tried again.
 * @returns how many topics there are
 */
export function followLog(
  feeds: readonly Feed[],
  deps: FollowerDeps,
  followed: Followed,
  signal: AbortSignal,
): number {
  const decode = recordDecoder(deps.registry);
  const allowances = { changes: allowanceOf(MOST_PER_SECOND), transitions: allowanceOf(MOST_PER_SECOND) };
  let topics = 0;
  for (const feed of feeds) {
    const { changes, transitions } = feedTopics(feed, deps.topicPrefix);
    const names = new Set([changes, ...transitions].map(({ name }) => name));
    for (const topic of names) {
      topics++;
      const of: FollowedTopic = {
        opened: (expects) => followed.opened(expects),
        allowance: topic === changes.name ? allowances.changes : allowances.transitions,
        passedOver: (count) => void (topic === changes.name && followed.passedOver(feed, count)),
        record: async (record) => followed.record(feed, await decode(record)),
      };
      void followTopic(topic, deps, of, signal);
    }
  }
  return topics;
}

export interface FollowedTopic {
  readonly allowance: Allowance;
  opened(expects: boolean): void;
  passedOver(count: number): void;
  record(record: LogRecord): Promise<void>;
}

/** One topic, as `followLog` does all of a feed's. */
export async function followTopic(
  topic: string,
  { log, logger }: Pick<FollowerDeps, 'log' | 'logger'>,
  followed: FollowedTopic,
  signal: AbortSignal,
): Promise<void> {
  /** By partition the offset of the record to come. */
  const positions = new Map<number, number>();
  let depth = BACKLOG;
  let isOpened = false;
  while (!signal.aborted) {
    try {
      const ends = await log.ends(topic, 'committed', signal);
      const from = new Map<number, number>();
      for (const [partition, end] of ends) {
        const known = positions.get(partition);
        const next = Math.max(known ?? 0, end - depth);
        if (known !== undefined) followed.passedOver(next - known);
        // From the beginning, wherever it is by now.
        if (next > 0) from.set(partition, next);
        positions.set(partition, next);
      }
      depth = BACKLOG;
      if (!isOpened) followed.opened([...ends].some(([partition, end]) => positions.get(partition)! < end));
      isOpened = true;
      for await (const record of log.follow(topic, from, signal)) {
        positions.set(record.partition, record.logOffset + 1);
        if (record.value !== null)
          await followed.record(record).catch((error: unknown) => notShown(record, error));
        if (!followed.allowance.take()) break;
      }
      depth = AFTER_FLOOD;
      await pause(1_000, signal);
    } catch (error) {
      const code = error instanceof HighwaterError ? error.code : null;
      if (signal.aborted || code === 'LOG_CLOSED') return;
      if (code === 'LOG_POSITION_LOST') {
        // Retention was there before, or the topic was made anew: what comes from now on.
        positions.clear();
        depth = 0;
      } else logger.debug('the dashboard cannot read a topic now', { topic, error });
      await pause(AGAIN_MS, signal);
    }
  }

  function notShown({ partition, logOffset }: LogRecord, error: unknown): void {
    logger.debug('the dashboard does not show a record', { topic, partition, logOffset, error });
  }
}

interface Allowance {
  /** @returns false when there is none left for now */
  take(): boolean;
}

/** A bucket of so many, filled up at the same rate. */
export function allowanceOf(perSecond: number): Allowance {
  let left = perSecond;
  let at = performance.now();
  return {
    take() {
      const now = performance.now();
      left = Math.max(0, Math.min(perSecond, left + ((now - at) * perSecond) / 1_000) - 1);
      at = now;
      return left > 0;
    },
  };
}
