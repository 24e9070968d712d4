import { once } from 'node:events';
import { joinSignals } from '../../async/wait';
import type { AssignedPartition, ConsumerLog, TopicEnds } from '../../log/consumer-log';
import type { Logger } from '../../logging/logger';
import type { Decoder } from '../decoder';
import { eventFilter } from '../event';
import type { GroupConsumeOptions } from '../options';
import { deadLetter, deadLetterTopic } from './dead-letters';
import type { JobDeps } from './handlers';
import { type PartitionJob, placeName, workOn } from './partition-work';

export interface ConsumeDeps {
  readonly log: ConsumerLog;
  readonly decoder: Decoder;
  readonly logger: Logger;
  readonly topicPrefix: string;
  /** Aborted when the log is closed. */
  readonly closing: AbortSignal;
}

const SESSION_TIMEOUT_MS = 10_000;

/**
 * Takes part in a group until the signal: the partitions that it is given are worked on side by side, each in order.
 * @throws HighwaterError CONSUMER_HANDLER_FAILED, LOG_POSITION_LOST, KAFKA_*, LOG_*
 */
export async function takePart(
  options: GroupConsumeOptions,
  jobOf: (deps: JobDeps) => PartitionJob,
  { log, decoder, logger, topicPrefix, closing }: ConsumeDeps,
): Promise<void> {
  const { from = 'end', positions, sessionTimeoutMs = SESSION_TIMEOUT_MS, where } = options;
  const groupId = `${topicPrefix}${options.group}`;
  const topics = [...new Set(options.topics)].map((name) => `${topicPrefix}${name}`);
  const stopped = joinSignals([closing, ...(options.signal === undefined ? [] : [options.signal])]);
  /** As the topics were at the call. */
  const atCall = new Map<string, TopicEnds>();
  const done = new Map<string, number>();
  const ending = new AbortController();
  let failure: { readonly error: unknown } | null = null;
  const fail = (error: unknown): void => {
    failure ??= { error };
    ending.abort();
  };
  const job = jobOf({
    decoder,
    logger,
    wanted: eventFilter(where),
    keep: (record, error, attempts) =>
      log.append(deadLetterTopic(groupId), [deadLetter(record, groupId, error, attempts)], ending.signal),
  });
  try {
    for (const topic of topics) {
      const found = await log.endsWithId(topic, stopped.signal);
      if (found.ends.size === 0)
        logger.warn(`The topic ${topic} does not exist yet; it is read once it exists.`);
      atCall.set(topic, found);
    }
    await membership();
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
  } finally {
    stopped.leave();
  }
  throwFailure();

  function throwFailure(): void {
    if (failure !== null) throw failure.error;
  }

  async function membership(): Promise<void> {
    const member = log.joinGroup({
      groupId,
      topics,
      sessionTimeoutMs,
      work: (place) => workOn(place, job, { logger, done, startOffset }).catch(fail),
    });
    member.over.catch(fail);
    await ended([stopped.signal, ending.signal]);
    await member.leave();
  }

  async function startOffset(place: AssignedPartition): Promise<number> {
    const { topic, topicId, partition, committed, range } = place;
    const own = (await positions?.load(topic, partition, topicId)) ?? null;
    if (own !== null) return own;
    // A database without a position has seen nothing. The group's position may come from an earlier database.
    if (positions !== undefined && from === 'beginning') return range.first;
    // Events that were handled here are not handled again if the group did not hear of it.
    if (committed !== null) return Math.max(committed, done.get(placeName(place)) ?? 0);
    const known = atCall.get(topic)!;
    const isNew = place.isRecreated || topicId !== known.topicId;
    // A topic or partition that was not there at the call came to be after it, with all that it holds.
    if (from === 'beginning' || isNew) return range.first;
    const end = known.ends.get(partition);
    return end === undefined ? range.first : (end ?? range.sinceJoined);
  }
}

async function ended(signals: readonly AbortSignal[]): Promise<void> {
  const any = joinSignals(signals);
  // Keeps the process alive: nothing else may, while a log in which nothing happens is followed.
  const timer = setInterval(() => undefined, 60_000);
  if (!any.signal.aborted) await once(any.signal, 'abort');
  clearInterval(timer);
  any.leave();
}
