import { joinSignals, sharedController, untilAny } from '../../async/wait';
import { HighwaterError } from '../../errors';
import type { LogRecord } from '../commit-log';
import type { ConsumerLog, GroupMember } from '../consumer-log';
import { kafkaClient } from './connection/client';
import { joinConsumerGroup } from './consumer/consumer-group';
import { kafkaGroups } from './consumer/groups';
import type { KafkaReaderOptions } from './kafka-reader';
import { LeaderlessNotes } from './reader/leaderless';
import { read } from './reader/read';
import type { ReadingDeps } from './reader/reading';
import { load, topicEnds } from './reader/restore';
import { appender } from './shared-topics';

/** Kafka's topics for consumers. Opens no connection before the first call that needs one. Topics and groups are named in full here. */
export function openKafkaConsumerLog({ kafka: target, appId, logger }: KafkaReaderOptions): ConsumerLog {
  const kafka = kafkaClient(target, appId, logger);
  const closing = sharedController();
  const shared = appender(kafka, target, closing.signal);
  const members = new Set<GroupMember>();
  const deps: ReadingDeps = { kafka, target, logger };
  const groups = kafkaGroups(deps);

  /** The signal also ends with the log. @throws HighwaterError LOG_CLOSED */
  async function within<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    closing.signal.throwIfAborted();
    return untilAny([signal, closing.signal], ask);
  }

  return {
    missing: () => null,
    ends: (topic, at, signal) => within(signal, (either) => topicEnds(topic, at, either, deps)),
    async *load(topic, signal, isCompacted = false): AsyncGenerator<LogRecord> {
      closing.signal.throwIfAborted();
      const either = joinSignals([signal, closing.signal]);
      try {
        yield* load(topic, either.signal, isCompacted, deps);
      } finally {
        either.leave();
      }
    },
    async *follow(topic, from, signal, topicId = null) {
      closing.signal.throwIfAborted();
      const options = { fromBeginning: false, follow: true, signal, exact: { from, topicId } };
      const notes = new LeaderlessNotes(logger);
      yield* read([topic], options, { ...deps, notes, closing: closing.signal });
    },
    groups: (prefix, signal) => within(signal, (either) => groups.groups(prefix, either)),
    moveGroup: (groupId, to, signal) => within(signal, (either) => groups.moveGroup(groupId, to, either)),
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
