import { once } from 'node:events';
import { joinSignals } from '../../async/wait';
import type { Decoder } from '../../avro/codec/record-decoder';
import { HighwaterError } from '../../errors';
import type { ProducerRecord } from '../../log/commit-log';
import type { AssignedPartition, ConsumerLog, TopicEnds } from '../../log/consumer-log';
import type { Logger } from '../../logging/logger';
import { eventFilter } from '../event';
import { warnIfNoTopic } from '../missing';
import type { GroupConsumeOptions } from '../options';
import { outliving, type Refusals } from '../refusals';
import { deadLetter, deadLetterTopic, withoutValue } from './dead-letters';
import type { JobDeps } from './handlers';
import { type PartitionJob, placeName, type Start, workOn } from './partition-work';

export interface ConsumeDeps {
  readonly log: ConsumerLog;
  readonly decoder: Decoder;
  readonly logger: Logger;
  readonly topicPrefix: string;
  readonly refusals: Refusals;
  /** Aborted when the log is closed. */
  readonly closing: AbortSignal;
  /** Told of a topic whose events a group without a position does not read. Left out: a warning for programs. */
  readonly skips?: ((topic: string) => void) | undefined;
}

interface Failure {
  readonly error: unknown;
}

const SESSION_TIMEOUT_MS = 10_000;
const COMMIT_EVERY_MS = 1_000;

/**
 * Takes part in a group until the signal: the partitions that it is given are worked on side by side, each in order. If a server
 * refuses a password or a certificate that may be replaced, it leaves the group and joins it again later.
 * @throws HighwaterError CONSUMER_HANDLER_FAILED, LOG_POSITION_LOST, KAFKA_*, REGISTRY_UNAUTHORIZED, LOG_*
 */
export async function takePart(
  options: GroupConsumeOptions,
  jobOf: (deps: JobDeps) => PartitionJob,
  { log, decoder, logger, topicPrefix, refusals, closing, skips }: ConsumeDeps,
): Promise<void> {
  const { from = 'end', onLost = 'stop', positions, where } = options;
  const { sessionTimeoutMs = SESSION_TIMEOUT_MS, commitEveryMs = COMMIT_EVERY_MS } = options;
  const groupId = `${topicPrefix}${options.group}`;
  const topics = [...new Set(options.topics)].map((name) => `${topicPrefix}${name}`);
  const stopped = joinSignals([closing, ...(options.signal === undefined ? [] : [options.signal])]);
  /** As the topics were at the call. */
  const atCall = new Map<string, TopicEnds>();
  const done = new Map<string, number>();
  const warned = new Set<string>();
  try {
    await outliving(refusals, groupId, logger, stopped.signal, async (hasJoined) => {
      let failure: Failure | null = null;
      try {
        await lookAtTopics();
        failure = await membership(hasJoined);
      } catch (error) {
        if (!stopped.signal.aborted) throw error;
      }
      if (failure !== null) throw failure.error;
    });
  } finally {
    stopped.leave();
  }

  async function lookAtTopics(): Promise<void> {
    for (const topic of topics) {
      if (atCall.has(topic)) continue;
      const found = await log.ends(topic, 'reachable', stopped.signal);
      warnIfNoTopic(topic, found, logger, { facts: { group: groupId } });
      atCall.set(topic, found);
    }
  }

  /** Until the signal or the first failure. */
  async function membership(hasJoined: () => void): Promise<Failure | null> {
    const ending = new AbortController();
    let failure: Failure | null = null;
    const fail = (error: unknown): void => {
      failure ??= { error };
      ending.abort();
    };
    const job = jobOf({
      decoder,
      logger,
      wanted: eventFilter(where),
      async keep(record, error, attempts) {
        const letter = deadLetter(record, groupId, error, attempts);
        const write = (one: ProducerRecord) => log.append(deadLetterTopic(groupId), [one], ending.signal);
        await write(letter).catch((refusal: unknown) => {
          const isRefused = refusal instanceof HighwaterError && refusal.code === 'LOG_RECORD_REFUSED';
          if (!isRefused || letter.value === null) throw refusal;
          return write(withoutValue(letter));
        });
      },
    });
    const member = log.joinGroup({
      groupId,
      topics,
      sessionTimeoutMs,
      work(place) {
        hasJoined();
        return workOn(place, job, { logger, done, onLost, commitEveryMs, startOffset }).catch(fail);
      },
    });
    member.over.catch(fail);
    await ended([stopped.signal, ending.signal]);
    await member.leave();
    return failure;
  }

  async function startOffset(place: AssignedPartition): Promise<Start> {
    const { topic, topicId, partition, committed, range } = place;
    const beginning = { next: range.first, isUnread: true };
    const own = (await positions?.load(topic, partition, topicId)) ?? null;
    if (own !== null) return { next: own };
    // A database without a position has seen nothing. The group's position may come from an earlier database.
    if (positions !== undefined && from === 'beginning') return beginning;
    // Events that were handled here are not handled again if the group did not hear of it.
    // Without an id this may be another topic of the same name, if the group knows no position in it.
    const reached = committed === null && topicId === null ? undefined : done.get(placeName(place));
    if (committed !== null || reached !== undefined) return { next: Math.max(committed ?? 0, reached ?? 0) };
    const known = atCall.get(topic)!;
    const isNew = place.isRecreated || topicId !== known.topicId;
    // A topic or partition that was not there at the call came to be after it, with all that it holds.
    if (from === 'beginning' || isNew || !known.ends.has(partition)) return beginning;
    if (from === 'stored-or-fail') throw noPosition(groupId, topic, partition);
    const next = known.ends.get(partition) ?? range.sinceJoined;
    if (next > range.first && !warned.has(topic)) {
      warned.add(topic);
      (skips ?? warnOfSkipped)(topic);
    }
    return { next };
  }

  /** Brokers remove positions after a while, and the group would not notice. */
  function warnOfSkipped(topic: string): void {
    logger.warn(
      `The group ${groupId} has no position in ${topic}, so it begins at the end; the events that the topic holds are not read. ` +
        "A new group begins like this. If the group is not new, the log has lost its position: read them with a new group (from: 'beginning'), and set from: 'stored-or-fail'.",
    );
  }
}

function noPosition(groupId: string, topic: string, partition: number): HighwaterError {
  const what = `the group ${groupId} has no position in partition ${partition} of ${topic}, and is to begin only where it stopped`;
  return new HighwaterError('LOG_POSITION_LOST', what, {
    remedy:
      'Begin once with from: beginning or from: end. If the group is not new, the log has lost its position (on Kafka: offsets.retention.minutes): ' +
      'give it one with `highwater groups reset`.',
  });
}

async function ended(signals: readonly AbortSignal[]): Promise<void> {
  const any = joinSignals(signals);
  // Keeps the process alive: nothing else may, while a log in which nothing happens is followed.
  const timer = setInterval(() => undefined, 60_000);
  if (!any.signal.aborted) await once(any.signal, 'abort');
  clearInterval(timer);
  any.leave();
}
