import { pause } from '../async/wait';
import type { HighwaterLog } from '../consumer/highwater-log';
import { HighwaterError } from '../errors';
import type { ShownFeed } from '../format/display';
import type { Logger } from '../logging/logger';
import { Outage } from '../logging/outage';
import { createRedactor } from '../secrets/redaction';
import { type Delivery, groupOf, isWanted, type Target } from './delivery';
import { messageOf } from './message';
import { NotDelivered, sender } from './send';

export interface DeliverDeps {
  readonly log: HighwaterLog;
  readonly logger: Logger;
  /** Never to be seen. */
  readonly secrets: readonly string[];
  readonly feedOf: (topic: string) => ShownFeed | null;
  readonly signal: AbortSignal;
}

/** A crash repeats the requests of this time, ms. Events that are not wanted are too many for a commit after each. */
const COMMIT_EVERY_MS = 100;
/** How often an event is sent that the receiver refuses as such. */
const TRIES = 5;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1_000, 60_000];
const [FIRST_REST_MS, LONGEST_REST_MS] = [1_000, 60_000];

/**
 * Delivers events until the signal, as one consumer group: at least once, in order for each key. An error that ends the group, such as a
 * position that is lost, is told, and the group begins again: somebody may have moved it meanwhile.
 */
export async function deliver(delivery: Delivery, target: Target, deps: DeliverDeps): Promise<void> {
  const { logger, signal } = deps;
  let said = '';
  for (let restMs = FIRST_REST_MS; !signal.aborted; restMs = Math.min(2 * restMs, LONGEST_REST_MS)) {
    const began = performance.now();
    try {
      await takePart(delivery, target, deps);
    } catch (error) {
      if (signal.aborted) return;
      const { code, message, remedy } =
        error instanceof HighwaterError
          ? error
          : new HighwaterError('UNEXPECTED', String(error), { cause: error });
      if (performance.now() - began > LONGEST_REST_MS) restMs = FIRST_REST_MS;
      if (message !== said)
        logger.error(`The delivery ${delivery.name} rests: ${message}`, {
          code,
          now: 'Its group keeps its position and tries again, at least every minute.',
          remedy,
        });
      said = message;
      await pause(restMs, signal);
    }
  }
}

async function takePart(
  delivery: Delivery,
  target: Target,
  { log, logger, secrets, feedOf, signal }: DeliverDeps,
): Promise<void> {
  const { name, topics, from, retryForMs } = delivery;
  const { send, close } = sender(target, createRedactor(secrets));
  const outage = new Outage(`The delivery ${name} to ${target.shown}`, logger);
  /** Since when the receiver as a whole has failed; null if it works. */
  let failingSince: number | null = null;
  /** Whether an event is sent again; else it becomes a dead letter. */
  const isRetriable = (error: unknown): boolean => {
    const isSent = error instanceof NotDelivered;
    const isTried =
      isSent && error.code === 'DELIVERY_FAILED' && failingSince !== null
        ? performance.now() - failingSince >= retryForMs
        : !isSent || error.attempt >= TRIES;
    if (isTried)
      logger.warn(`The delivery ${name} gives up an event, which becomes a dead letter.`, { error });
    return !isTried;
  };
  try {
    await log.consume(
      {
        group: groupOf(delivery),
        topics,
        from,
        signal,
        commitEveryMs: COMMIT_EVERY_MS,
        onFailure: 'dead-letter',
        retry: {
          attempts: Number.POSITIVE_INFINITY,
          delayMs: FIRST_PAUSE_MS,
          maxDelayMs: LONGEST_PAUSE_MS,
          pauseMs: (error) => (error instanceof NotDelivered ? error.retryAfterMs : undefined),
          isRetriable,
        },
      },
      async (event, { note }) => {
        if (!isWanted(delivery, event.value)) return;
        outage.began();
        try {
          await send(messageOf(event, target, feedOf, Date.now()));
          failingSince = null;
          outage.over();
        } catch (error) {
          if (!(error instanceof NotDelivered)) throw error;
          error.attempt = event.attempt;
          outage.failed(error);
          failingSince = error.code === 'DELIVERY_REFUSED' ? null : (failingSince ?? performance.now());
          await note(error.message);
          throw error;
        }
      },
    );
  } finally {
    outage.end();
    close();
  }
}
