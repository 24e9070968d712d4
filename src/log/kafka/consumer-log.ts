import { joinSignals } from '../../async/wait';
import { HighwaterError } from '../../errors';
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
export function openKafkaConsumerLog(options: KafkaConsumerLogOptions): ConsumerLog {
  const { appId, logger } = options;
  const target = options.kafka;
  const kafka = kafkaClient(target, appId, logger);
  const closing = new AbortController();
  const shared = appender({ kafka, cluster: target, closing: closing.signal });
  const members = new Set<GroupMember>();
  const deps: ReadingDeps = { kafka, target, logger };

  function assertOpen(): void {
    if (closing.signal.aborted) throw new HighwaterError('LOG_CLOSED', 'the log was closed');
  }

  /** Runs work that ends when the log is closed. */
  async function unlessClosed<T>(signal: AbortSignal, work: (either: AbortSignal) => Promise<T>): Promise<T> {
    assertOpen();
    const either = joinSignals([signal, closing.signal]);
    try {
      return await work(either.signal);
    } catch (error) {
      signal.throwIfAborted();
      assertOpen();
      throw error;
    } finally {
      either.leave();
    }
  }

  return {
    ends: (topic, at, signal) => unlessClosed(signal, (either) => topicEnds(topic, at, either, deps)),
    endsWithId: (topic, signal) => unlessClosed(signal, (either) => endsWithId(topic, either, deps)),
    async *load(topic, signal) {
      assertOpen();
      const either = joinSignals([signal, closing.signal]);
      try {
        yield* load(topic, either.signal, deps);
      } catch (error) {
        signal.throwIfAborted();
        assertOpen();
        throw error;
      } finally {
        either.leave();
      }
    },
    async *follow(topic, from, signal, topicId = null) {
      assertOpen();
      const either = joinSignals([signal, closing.signal]);
      try {
        yield* follow(topic, from, either.signal, topicId, deps);
      } finally {
        either.leave();
      }
    },
    joinGroup(group) {
      assertOpen();
      const member = joinConsumerGroup(group, deps);
      members.add(member);
      const left = () => member.leave().then(() => members.delete(member));
      member.over.then(left, left);
      return member;
    },
    append: shared.append,
    async close() {
      closing.abort();
      await Promise.all([...members].map((member) => member.leave()));
      await shared.close();
    },
  };
}
