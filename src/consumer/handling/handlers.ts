import type { Decoder } from '../../avro/codec/record-decoder';
import { HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { AssignedPartition } from '../../log/consumer-log';
import type { Logger } from '../../logging/logger';
import { Outage } from '../../logging/outage';
import { type LogEvent, toEvent } from '../event';
import type { BatchContext, ConsumeBatchesOptions, ConsumeOptions, HandlerContext } from '../options';
import { isRefusal } from '../refusals';
import { tryOften } from './attempts';
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
export function eventJob(
  { retry, onFailure = 'stop' }: ConsumeOptions,
  handler: Handler,
  { decoder, wanted, keep, logger }: JobDeps,
): PartitionJob {
  return {
    async work(records, place, advance) {
      const outage = fetchingSchemas(place, logger);
      for (const record of records) {
        if (place.revoked.aborted) return;
        if (wanted(record) && !(await handled(record, place, outage))) return;
        await advance(record.logOffset + 1);
      }
    },
  };

  /** @returns false if the partition was taken away in the middle; its next owner does the work */
  async function handled(
    record: LogRecord,
    { topicId, revoked }: AssignedPartition,
    outage: Outage,
  ): Promise<boolean> {
    let tries = 0;
    let event: LogEvent | null = null;
    const outcome = await tryOften(
      async (attempt) => {
        event ??= await waited(toEvent(record, decoder), outage);
        tries = attempt;
        const tried = tries === 1 ? event : { ...event, attempt: tries };
        await watched(handler(tried, { topicId, signal: revoked }), record, logger);
      },
      retry,
      revoked,
      isPassing,
      outage,
    );
    if (outcome.ok) return true;
    if (revoked.aborted) return false;
    refuseToSkip(outcome.error, tries);
    if (onFailure === 'stop') throw failed(record, outcome.error, tries);
    const { topic, partition, logOffset } = record;
    const what = `Writing the dead letter of offset ${logOffset} of ${topic}, partition ${partition},`;
    const keeping = new Outage(what, logger);
    keeping.began();
    const kept = await tryOften(
      () => keep(record, outcome.error, tries),
      // The number of tries is meant for the handler: a letter that is refused for good is not written by any of them.
      { ...retry, attempts: 1 },
      revoked,
      isRetriable,
      keeping,
    );
    if (!kept.ok && !revoked.aborted) throw kept.error;
    return kept.ok;
  }
}

function fetchingSchemas({ topic, partition }: AssignedPartition, logger: Logger): Outage {
  return new Outage(`Fetching schemas for ${topic}, partition ${partition}, from the registry`, logger);
}

/** An event is there at once, unless its schema has to be fetched. */
function waited(event: Promise<LogEvent> | LogEvent, outage: Outage): Promise<LogEvent> | LogEvent {
  if (!(event instanceof Promise)) return event;
  outage.began();
  return event.then((made) => {
    outage.over();
    return made;
  });
}

/** As many at once as there are, in order. */
export function batchJob(
  { retry, maxBatch = 500 }: ConsumeBatchesOptions,
  handler: BatchHandler,
  { decoder, wanted, logger }: JobDeps,
): PartitionJob {
  return {
    async work(records, place, advance) {
      const outage = fetchingSchemas(place, logger);
      for (let from = 0; from < records.length; from += maxBatch) {
        if (place.revoked.aborted) return;
        const batch = records.slice(from, from + maxBatch);
        const next = batch.at(-1)!.logOffset + 1;
        const asked = batch.filter(wanted);
        if (asked.length > 0 && !(await handled(asked, next, place, outage))) return;
        await advance(next);
      }
    },
  };

  async function handled(
    records: readonly LogRecord[],
    next: number,
    { topic, topicId, partition, revoked }: AssignedPartition,
    outage: Outage,
  ): Promise<boolean> {
    let tries = 0;
    const outcome = await tryOften(
      async (attempt) => {
        const events: LogEvent[] = [];
        for (const record of records) {
          const event = waited(toEvent(record, decoder), outage);
          events.push(event instanceof Promise ? await event : event);
        }
        tries = attempt;
        const context = { topic, topicId, partition, next, attempt, signal: revoked };
        await watched(handler(events, context), records[0]!, logger);
      },
      retry,
      revoked,
      isPassing,
      outage,
    );
    if (outcome.ok) return true;
    if (revoked.aborted) return false;
    refuseToSkip(outcome.error, tries);
    throw failed(records[0]!, outcome.error, tries);
  }
}

const SLOW_MS = 60_000;

/** A handler that never returns holds up its partition for good, and nobody else would know. */
async function watched(
  handling: unknown,
  { topic, partition, logOffset }: LogRecord,
  logger: Logger,
): Promise<void> {
  // Many handlers are done when they return: a timer for each event would be most of its cost.
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

/** A registry that refuses the login says nothing about the event. @throws its refusal, if no handler saw the event */
function refuseToSkip(error: unknown, tries: number): void {
  if (tries === 0 && isRefusal(error)) throw error;
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
