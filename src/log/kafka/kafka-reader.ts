import type { Kafka } from 'kafkajs';
import { sharedController } from '../../async/wait';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logging/logger';
import { Outage } from '../../logging/outage';
import type { LogReader } from '../commit-log';
import { type KafkaConfig, kafkaClient } from './connection/client';
import { groupOwners } from './group/examine-group';
import { ownersGroup } from './group/owners-protocol';
import { LeaderlessNotes } from './reader/leaderless';
import { read, topicNames } from './reader/read';

export interface KafkaReaderOptions {
  readonly kafka: KafkaConfig;
  /** Name of the installation. Transactional ids begin with it and the prefix, so two installations have different ids. */
  readonly appId: string;
  readonly topicPrefix: string;
  readonly logger: Logger;
  /** Is told for how long, in ms, a quota of the brokers holds the log's client back. */
  readonly onThrottled?: (ms: number) => void;
}

/** The log on Kafka for programs that read it. Opens no connection before the first call that needs one. */
export function openKafkaReader(options: KafkaReaderOptions): LogReader {
  const closing = sharedController();
  const kafka = kafkaClient(options.kafka, options.appId, options.logger, options.onThrottled);
  return {
    ...kafkaReader(options, kafka, closing.signal),
    async close() {
      closing.abort(new HighwaterError('LOG_CLOSED', 'the log was closed'));
    },
  };
}

/**
 * Reads with a client that others close.
 * @param closing aborted with LOG_CLOSED when the log is closed
 */
export function kafkaReader(
  { kafka: target, appId, topicPrefix, logger }: KafkaReaderOptions,
  kafka: Kafka,
  closing: AbortSignal,
): Omit<LogReader, 'close'> {
  const notes = new LeaderlessNotes(logger);
  const asking = new Outage(`Asking the brokers ${target.brokers.join(', ')} for their topics`, logger);
  closing.addEventListener('abort', () => asking.end(), { once: true });
  const groupId = ownersGroup(appId, topicPrefix);
  return {
    read: (topics, options) => read(topics, options, { kafka, target, closing, logger, notes }),
    async owners(feeds, signal) {
      closing.throwIfAborted();
      const found = await groupOwners({ kafka, target, groupId, signal });
      return new Map([...found].filter(([feed]) => feeds.includes(feed)));
    },
    async topicNames() {
      closing.throwIfAborted();
      return topicNames(kafka, asking);
    },
  };
}
