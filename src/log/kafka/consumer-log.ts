import { joinSignals, sharedController } from '../../async/wait';
import { HighwaterError } from '../../errors';
import type { LogRecord } from '../commit-log';
import type { ConsumerLog, GroupMember } from '../consumer-log';
import { kafkaClient } from './connection/client';
import { joinConsumerGroup } from './consumer/consumer-group';
import { follow } from './consumer/follow';
import type { ReadingDeps } from './consumer/reading';
import { endsWithId, load, topicEnds } from './consumer/whole-topic';
import type { KafkaLogOptions } from './kafka-log';
import { appender } from './shared-topics';

/** As the log of publishers. Topics and groups are named in full here. */
export type KafkaConsumerLogOptions = Omit<KafkaLogOptions, 'limits'>;

/** Kafka's topics for consumers. Opens no connection before the first call that needs one. */
export function openKafkaConsumerLog({ kafka: target, appId, logger }: KafkaConsumerLogOptions): ConsumerLog {
  const kafka = kafkaClient(target, appId, logger);
  const closing = sharedController();
  const shared = appender({ kafka, cluster: target, closing: closing.signal });
  const members = new Set<GroupMember>();
  const deps: ReadingDeps = { kafka, target, logger };

  /** A signal that also ends with the log. @throws HighwaterError LOG_CLOSED */
  function joined(signal: AbortSignal): ReturnType<typeof joinSignals> {
    closing.signal.throwIfAborted();
    return joinSignals([signal, closing.signal]);
  }

  async function ask<T>(signal: AbortSignal, question: (either: AbortSignal) => Promise<T>): Promise<T> {
    const either = joined(signal);
    return question(either.signal).finally(either.leave);
  }

  async function* read(
    signal: AbortSignal,
    records: (either: AbortSignal) => AsyncIterable<LogRecord>,
  ): AsyncGenerator<LogRecord> {
    const either = joined(signal);
    try {
      yield* records(either.signal);
    } finally {
      either.leave();
    }
  }

  return {
    missing: () => null,
    ends: (topic, at, signal) => ask(signal, (either) => topicEnds(topic, at, either, deps)),
    endsWithId: (topic, signal) => ask(signal, (either) => endsWithId(topic, either, deps)),
    load: (topic, signal) => read(signal, (either) => load(topic, either, deps)),
    follow: (topic, from, signal, topicId = null) =>
      read(signal, (either) => follow(topic, from, either, topicId, deps)),
    joinGroup(group) {
      closing.signal.throwIfAborted();
      const member = joinConsumerGroup(group, deps);
      members.add(member);
      const left = () => member.leave().then(() => members.delete(member));
      member.over.then(left, left);
      return member;
    },
    append: shared.append,
    async close() {
      closing.abort(new HighwaterError('LOG_CLOSED', 'the log was closed'));
      await Promise.all([...members].map((member) => member.leave()));
      await shared.close();
    },
  };
}
