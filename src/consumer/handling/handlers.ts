import { pause } from '../../async/wait';
import type { Decoder } from '../../avro/codec/record-decoder';
import { HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { AssignedPartition } from '../../log/consumer-log';
import type { Logger } from '../../logging/logger';
import { Outage } from '../../logging/outage';
import { contextOf, linksTo, type SpanOptions, traced } from '../../logging/tracing';
import { type LogEvent, toEvent } from '../event';
import type {
  BatchContext,
  ConsumeBatchesOptions,
  ConsumeOptions,
  HandlerContext,
  RetryOptions,
} from '../options';
import { isRefusal } from '../refusals';
import { messageOf } from './dead-letters';
import type { PartitionJob } from './partition-work';

export interface JobDeps {
  readonly decoder: Decoder;
  readonly wanted: (record: LogRecord) => boolean;
  readonly logger: Logger;
  /** Keeps an event that could not be handled. */
  keep(record: LogRecord, error: unknown, attempts: number): Promise<void>;
}

type Handler = (event: LogEvent, context: HandlerContext) => unknown;
type BatchHandler = (events: readonly LogEvent[], context: BatchContext) => unknown;

/** One event after the other. */
export function eventJob(options: ConsumeOptions, handler: Handler, deps: JobDeps): PartitionJob {
  const call: BatchHandler = ([event], { topicId, signal, note, attempt }) =>
    handler(attempt === 1 ? event! : { ...event!, attempt }, { topicId, signal, note });
  return batchJob({ ...options, maxBatch: 1 }, call, deps);
}

/** As many at once as there are, in order. */
export function batchJob(
  { group, retry, maxBatch = 500, onFailure = 'stop' }: ConsumeBatchesOptions & ConsumeOptions,
  call: BatchHandler,
  { decoder, wanted, keep, logger }: JobDeps,
): PartitionJob {
  return async (records, place, advance, note) => {
    const { topic, partition, revoked } = place;
    const noted = { ...place, note };
    const what = `Fetching schemas for ${topic}, partition ${partition}, from the registry`;
    const outage = new Outage(what, logger);
    for (let from = 0; from < records.length; from += maxBatch) {
      if (revoked.aborted) return;
      const batch = records.slice(from, from + maxBatch);
      const next = batch.at(-1)!.logOffset + 1;
      const asked = batch.filter(wanted);
      if (asked.length > 0 && !(await handled(asked, next, noted, outage))) return;
      await advance(next);
    }
  };

  /** @returns false if the partition was taken away in the middle; its next owner does the work */
  async function handled(
    records: readonly LogRecord[],
    next: number,
    { topic, topicId, partition, revoked, note }: AssignedPartition & Pick<HandlerContext, 'note'>,
    outage: Outage,
  ): Promise<boolean> {
    let tries = 0;
    let events: readonly LogEvent[] | null = null;
    const outcome = await tryOften(
      async (attempt) => {
        events ??= await eventsOf(records, outage);
        tries = attempt;
        const batch = events;
        const context = { topic, topicId, partition, next, attempt, signal: revoked, note };
        await traced(
          `process ${topic}`,
          () => spanOf(batch, partition, group),
          () => watched(() => call(batch, context), records[0]!, logger),
        );
      },
      retry,
      revoked,
      isPassing,
      outage,
    ).catch((error: unknown) => {
      // `isRetriable` or `pauseMs` of the program. No event is given up over their fault.
      throw failed(records[0]!, error, tries);
    });
    if (outcome.ok) return true;
    if (revoked.aborted) return false;
    const { error } = outcome;
    // A registry that refuses the login says nothing about the event, which no handler saw.
    if (tries === 0 && isRefusal(error)) throw error;
    if (onFailure === 'stop') throw failed(records[0]!, error, tries);
    return kept(records[0]!, error, tries, revoked);
  }

  async function eventsOf(records: readonly LogRecord[], outage: Outage): Promise<LogEvent[]> {
    const events: LogEvent[] = [];
    for (const record of records) {
      const event = toEvent(record, decoder);
      // An event is there at once, unless its schema has to be fetched.
      if (event instanceof Promise) outage.began();
      events.push(event instanceof Promise ? await event : event);
      outage.over();
    }
    return events;
  }

  /** @returns false if the partition was taken away before the event was kept */
  async function kept(
    record: LogRecord,
    error: unknown,
    tries: number,
    revoked: AbortSignal,
  ): Promise<boolean> {
    const { topic, partition, logOffset } = record;
    const what = `Writing the dead letter of offset ${logOffset} of ${topic}, partition ${partition},`;
    const outage = new Outage(what, logger);
    outage.began();
    const outcome = await tryOften(
      () => keep(record, error, tries),
      // The number of tries is meant for the handler: a letter that is refused for good is not written by any of them.
      { ...retry, attempts: 1 },
      revoked,
      isRetriable,
      outage,
    );
    if (!outcome.ok && !revoked.aborted) throw outcome.error;
    return outcome.ok;
  }
}

type Outcome = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/**
 * Tries until it succeeds, as often as is allowed. An interrupted pause ends the tries.
 * @param work gets the number of the try, from 1
 * @param isPassing whether a failure passes by itself: then the number of tries does not count, and `outage` tells of it
 */
export async function tryOften(
  work: (attempt: number) => Promise<void>,
  retry: RetryOptions | undefined,
  signal: AbortSignal,
  isPassing: (error: unknown) => boolean = () => false,
  outage?: Outage,
): Promise<Outcome> {
  // The default also counts for undefined.
  const { attempts = 5, delayMs = 200, maxDelayMs = 10_000, isRetriable = () => true, pauseMs } = retry ?? {};
  for (let attempt = 1; ; attempt++) {
    try {
      await work(attempt);
      outage?.over();
      return { ok: true };
    } catch (error) {
      const passes = isPassing(error);
      if (passes) outage?.failed(error);
      const isLast = !passes && (attempt >= attempts || !isRetriable(error));
      // Full jitter: consumers that failed over the same thing do not come back together.
      const longestMs = Math.min(maxDelayMs, delayMs * 2 ** Math.min(attempt - 1, 30));
      if (!isLast) await pause(pauseMs?.(error) ?? Math.random() * longestMs, signal);
      if (!isLast && !signal.aborted) continue;
      outage?.end();
      return { ok: false, error };
    }
  }
}

/** One event is handled in its own trace; a batch has a trace of its own, with links to those of its events. */
function spanOf(events: readonly LogEvent[], partition: number, group: string): SpanOptions {
  const [{ id, topic, headers }] = events as [LogEvent];
  const isOne = events.length === 1;
  return {
    kind: 'CONSUMER',
    attributes: {
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.consumer.group.name': group,
      ...(isOne ? { 'messaging.message.id': id } : { 'messaging.batch.message_count': events.length }),
    },
    ...(isOne ? { parent: contextOf(headers) } : { parent: null, links: linksTo(events) }),
  };
}

const SLOW_MS = 60_000;

/** A handler that never returns holds up its partition for good, and nobody else would know. */
async function watched(
  handle: () => unknown,
  { topic, partition, logOffset }: LogRecord,
  logger: Logger,
): Promise<void> {
  // Many handlers are done when they return: a timer for each event would be most of its cost.
  const handling = handle();
  if (!isThenable(handling)) return;
  const began = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - began) / 1_000);
    const what = `A handler has been at work for ${seconds} s; the next events of its partition wait.`;
    logger.warn(what, { topic, partition, offset: logOffset });
  }, SLOW_MS);
  try {
    await handling;
  } finally {
    clearInterval(timer);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}

/**
 * A registry that is down comes back: no event is given up over it. An error thrown by a handler is the handler's own
 * matter.
 */
function isPassing(error: unknown): boolean {
  return isRetriable(error) && error.code.startsWith('REGISTRY_');
}

function isRetriable(error: unknown): error is HighwaterError {
  return error instanceof HighwaterError && error.kind.retriable;
}

function failed(record: LogRecord, cause: unknown, tries: number): HighwaterError {
  const { topic, partition, logOffset, headers } = record;
  const event = headers.ce_id === undefined ? '' : ` (event ${headers.ce_id})`;
  const how = tries > 0 ? `after ${tries} ${tries === 1 ? 'try' : 'tries'}` : 'before any handler saw it';
  const what = `offset ${logOffset} of ${topic}, partition ${partition}${event}: ${messageOf(cause)}, ${how}`;
  return new HighwaterError('CONSUMER_HANDLER_FAILED', what, { cause });
}
