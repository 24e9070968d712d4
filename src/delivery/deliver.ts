import { pause } from '../async/wait';
import { highwaterLog } from '../consumer/connect';
import type { LogEvent } from '../consumer/event';
import type { Opened } from '../consumer/open-log';
import { HighwaterError } from '../errors';
import type { ShownFeed } from '../format/display';
import type { Logger } from '../logging/logger';
import { Outage } from '../logging/outage';
import { flushSpans, type SpanOptions, traced, traceHeaders } from '../logging/tracing';
import { createRedactor } from '../secrets/redaction';
import { type Delivery, foreignTopicsNote, groupOf, isWanted, type Target } from './delivery';
import { hasLostPosition, leavingSigns } from './first-start';
import { messageOf } from './message';
import { NotDelivered, sender } from './send';
import { resetRemedy } from './status';

export interface DeliverDeps {
  /** Opens the log: after an error it is opened anew. */
  readonly open: () => Opened;
  readonly logger: Logger;
  /** Never to be seen. */
  readonly secrets: readonly string[];
  readonly feedOf: (topic: string) => ShownFeed | null;
  readonly signal: AbortSignal;
}

export const NAME_TOPICS = 'Name the topics of feeds in topics of the delivery.';

/** A crash repeats the requests of this time, ms. Events that are not wanted are too many for a commit after each. */
const COMMIT_EVERY_MS = 100;
/** How often an event is sent that the receiver refuses as such. */
const TRIES = 5;
/** An event has two tries at least: a connection that was kept may have closed. */
const LEAST_TRIES = 2;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1_000, 60_000];
const [FIRST_REST_MS, LONGEST_REST_MS] = [1_000, 60_000];

/**
 * Delivers events until the signal, as one consumer group: at least once, in order for each key. An error that ends the group, such as a
 * position that is lost, is told, and the group begins again: somebody may have moved it meanwhile.
 */
export async function deliver(delivery: Delivery, target: Target, deps: DeliverDeps): Promise<void> {
  const { logger, signal } = deps;
  const note = foreignTopicsNote(delivery);
  if (note !== null) logger.warn(`The delivery ${delivery.name}: ${note}.`, { remedy: NAME_TOPICS });
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
      // It has worked meanwhile.
      if (performance.now() - began > LONGEST_REST_MS) [restMs, said] = [FIRST_REST_MS, ''];
      if (message !== said)
        logger.error(`The delivery ${delivery.name} rests: ${message}`, {
          code,
          now: 'It tries again by itself, at least every minute.',
          remedy: code === 'LOG_POSITION_LOST' ? `${resetRemedy(groupOf(delivery))}.` : remedy,
        });
      said = message;
      await pause(restMs, signal);
    }
  }
}

async function takePart(
  delivery: Delivery,
  target: Target,
  { open, logger, secrets, feedOf, signal }: DeliverDeps,
): Promise<void> {
  const { name, topics, from, retryForMs } = delivery;
  const group = groupOf(delivery);
  const opened = open();
  const signed = leavingSigns(opened.log, signal, (error) => {
    if (!(error instanceof HighwaterError) || error.code === 'LOG_CLOSED') return;
    logger.warn(`The delivery ${name} could not make the topic of its dead letters: ${error.message}`, {
      now: 'It delivers. If the brokers forget its position while it is stopped, it will skip the events of that time.',
      remedy: error.remedy,
    });
  });
  const log = highwaterLog({ ...opened, log: signed }, (topic) =>
    logger.info(
      `The delivery ${name} has no position in ${topic} yet, and begins with the next event. ` +
        `To have those before it, stop it once: then ${resetRemedy(group)}.`,
    ),
  );
  const { send, close } = sender(target, createRedactor(secrets));
  const troubles = new Map<string, Trouble>();
  const troubleOf = ({ topic, partition }: LogEvent): Trouble => {
    const place = `${topic}, partition ${partition}`;
    const what = `The delivery ${name} of ${place}, to ${target.shown}`;
    const found = troubles.get(place) ?? new Trouble(new Outage(what, logger), retryForMs);
    troubles.set(place, found);
    return found;
  };
  const spanOptions = (): SpanOptions => ({
    kind: 'CLIENT',
    attributes: { 'highwater.delivery': name, 'http.request.method': 'POST', 'url.full': target.shown },
  });
  /** Whether an event is sent again; else it becomes a dead letter. */
  const isRetriable = (error: unknown): boolean => {
    if (error instanceof NotDelivered && !error.isFinal) return true;
    logger.warn(`The delivery ${name} gives up an event, which becomes a dead letter.`, { error });
    return false;
  };
  try {
    const fullName = `${opened.topicPrefix}${group}`;
    const isLost = from === 'end' && (await hasLostPosition(fullName, opened.log, signal));
    await log.consume(
      {
        group,
        topics,
        from: isLost ? 'stored-or-fail' : from,
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
      async (event, { note, signal: revoked }) => {
        if (!isWanted(delivery, event.value)) return;
        const trouble = troubleOf(event);
        trouble.outage.began();
        try {
          const message = messageOf(event, target, feedOf, Date.now());
          await traced(`deliver ${name}`, spanOptions, () => {
            const headers =
              target.kind === 'webhook' ? { ...traceHeaders(), ...message.headers } : message.headers;
            return send({ ...message, headers }, revoked);
          });
          trouble.over();
        } catch (error) {
          if (!(error instanceof NotDelivered)) throw error;
          trouble.met(error, event.attempt);
          await note(error.message);
          throw error;
        }
      },
    );
  } finally {
    for (const { outage } of troubles.values()) outage.end();
    close();
    await log.close();
    await flushSpans();
  }
}

/** The failures of a partition. Other partitions may get on meanwhile. */
class Trouble {
  /** Since when every event has failed, whatever it was, ms of `performance.now()`. */
  private since: number | null = null;
  /** When the next try is due at the latest: a failure after that is another one. */
  private until = 0;
  private refusals = 0;

  constructor(
    readonly outage: Outage,
    private readonly retryForMs: number,
  ) {}

  over(): void {
    this.since = null;
    this.outage.over();
  }

  /** Decides whether the failure is the last of the event. */
  met(failure: NotDelivered, attempt: number): void {
    const now = performance.now();
    if (attempt === 1) this.refusals = 0;
    this.outage.failed(failure);
    if (failure.code === 'DELIVERY_REFUSED') {
      this.since = null;
      this.refusals += 1;
      failure.isFinal = this.refusals >= TRIES;
    } else {
      if (this.since === null || now > this.until) this.since = now;
      this.until = now + 2 * LONGEST_PAUSE_MS + (failure.retryAfterMs ?? 0);
      failure.isFinal = attempt >= LEAST_TRIES && now - this.since >= this.retryForMs;
    }
    if (failure.isFinal) this.outage.end();
  }
}
