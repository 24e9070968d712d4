import { pause } from '../../async/wait';
import type { CommitLog, LogRecord } from '../../log/commit-log';
import type { Logger } from '../../logging/logger';

export interface FollowerDeps {
  readonly log: Pick<CommitLog, 'read'>;
  readonly logger: Logger;
}

export interface Followed {
  readonly topic: string;
  readonly allowance: Allowance;
  /** A record that this rejects for is not shown; the records after it are. */
  record(record: LogRecord): Promise<void>;
  /** This many positions of the log were skipped, because more came than the allowance lets through. */
  passedOver?(count: number): void;
}

/** How many positions of each partition are read when somebody begins to look, and after a flood was passed over. */
const BACKLOG = 40;
const AFTER_FLOOD = 10;
const AGAIN_MS = 1_000;

/**
 * Follows a topic from shortly before its end, until the signal. When records come faster than people read, the reader skips them, so that a
 * flood costs next to nothing. Whatever fails is tried again.
 * @returns once the records that were there have been read, or could not be. Never fails
 */
export async function followTopic(
  { topic, allowance, record, passedOver }: Followed,
  { log, logger }: FollowerDeps,
  signal: AbortSignal,
): Promise<void> {
  /** By partition the offset of the last record that was read. */
  const latest = new Map<number, number>();

  /** @returns whether it ended because the allowance was used up */
  async function read(depth: number, follow: boolean): Promise<boolean> {
    const before = new Map(latest);
    const from = { fromBeginning: true, notBefore: { positionsToEnd: depth } };
    for await (const one of log.read([topic], { ...from, follow, signal })) {
      const { partition, logOffset } = one;
      const place = before.get(partition);
      if (place !== undefined) {
        const isAgain = logOffset <= place && logOffset >= place - depth;
        if (!isAgain || logOffset === place) before.delete(partition);
        if (isAgain) continue;
        if (logOffset > place) passedOver?.(logOffset - place - 1);
      }
      latest.set(partition, logOffset);
      if (one.value !== null)
        await record(one).catch((error: unknown) =>
          logger.debug('the dashboard does not show a record', { topic, partition, logOffset, error }),
        );
      if (!allowance.take()) return true;
    }
    return false;
  }

  /** @returns how far before the end the next reader begins */
  async function readFrom(depth: number, follow: boolean): Promise<number> {
    try {
      return (await read(depth, follow)) ? AFTER_FLOOD : BACKLOG;
    } catch (error) {
      if (!signal.aborted) logger.debug('the dashboard cannot read a topic now', { topic, error });
      return BACKLOG;
    }
  }

  async function keepReading(first: number): Promise<void> {
    for (let depth = first; !signal.aborted; await pause(AGAIN_MS, signal))
      depth = await readFrom(depth, true);
  }

  void keepReading(await readFrom(BACKLOG, false));
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
