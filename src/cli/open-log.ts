import path from 'node:path';
import { confluentRegistry } from '../avro/confluent-registry';
import type { SchemaRegistry } from '../avro/registry';
import type { Config } from '../config/load-config';
import type { CommitLog } from '../log/commit-log';
import type { ConsumerLog } from '../log/consumer-log';
import { openKafkaConsumerLog } from '../log/kafka/consumer/consumer-log';
import { openKafkaLog } from '../log/kafka/kafka-log';
import { openLocalConsumerLog } from '../log/local/consumer-log';
import { openLocalLog } from '../log/local/local-log';
import type { Logger } from '../logger';

export interface OpenLog {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  /** Where it is, for people. */
  readonly place: string;
}

export interface OpenLogOptions {
  readonly logger: Logger;
  /** Ends waiting for servers. */
  readonly signal: AbortSignal;
  /** How a second publisher of the embedded log names this one when it is refused. */
  readonly instance?: string;
}

/** The log and the registry that the configuration names: Kafka where brokers are set, else the embedded log. */
export function openLog(config: Config, { logger, signal, instance = 'highwater' }: OpenLogOptions): OpenLog {
  const { dataDir, kafka, schemaRegistry, appId, topicPrefix } = config;
  // The configuration has the one with the other.
  if (kafka === null || schemaRegistry === null) {
    return { ...openLocalLog({ dataDir, logger, instance }), place: path.join(dataDir, 'highwater.db') };
  }
  return {
    commitLog: openKafkaLog({ kafka, appId, topicPrefix, logger }),
    registry: confluentRegistry(schemaRegistry, { logger, signal }),
    place: `Kafka at ${kafka.brokers.join(', ')}`,
  };
}

/** The same log for who reads it beside whoever publishes. */
export function openReadingLog({ dataDir, kafka, appId, topicPrefix }: Config, logger: Logger): ConsumerLog {
  return kafka === null
    ? openLocalConsumerLog({ dataDir, logger }).consumerLog
    : openKafkaConsumerLog({ kafka, appId, topicPrefix, logger });
}
