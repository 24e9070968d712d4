import type { Kafka } from 'kafkajs';
import { sharedController } from '../../async/wait';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logging/logger';
import type { LogReader } from '../commit-log';
import type { CommandTarget } from './connection/admin-commands';
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
export function openKafkaReader({ appId, topicPrefix, logger, ...options }: KafkaReaderOptions): LogReader {
  const closing = sharedController();
  return {
    ...kafkaReader({
      kafka: kafkaClient(options.kafka, appId, logger, options.onThrottled),
      cluster: options.kafka,
      groupId: ownersGroup(appId, topicPrefix),
      closing: closing.signal,
      logger,
    }),
    async close() {
      closing.abort(new HighwaterError('LOG_CLOSED', 'the log was closed'));
    },
  };
}

/** Reads with a client that others close. */
export function kafkaReader({
  kafka,
  cluster,
  groupId,
  closing,
  logger,
}: {
  readonly kafka: Kafka;
  /** For the commands in errors. */
  readonly cluster: CommandTarget;
  /** The group of the publishers. */
  readonly groupId: string;
  /** Aborted with LOG_CLOSED when the log is closed. */
  readonly closing: AbortSignal;
  readonly logger: Logger;
}): Omit<LogReader, 'close'> {
  const notes = new LeaderlessNotes(logger);
  return {
    read: (topics, options) => read(topics, options, { kafka, target: cluster, closing, logger, notes }),
    async owners(feeds, signal) {
      closing.throwIfAborted();
      const found = await groupOwners({ kafka, cluster, groupId, signal });
      return new Map([...found].filter(([feed]) => feeds.includes(feed)));
    },
    async topicNames() {
      closing.throwIfAborted();
      return topicNames(kafka);
    },
  };
}
