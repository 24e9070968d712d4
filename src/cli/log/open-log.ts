import path from 'node:path';
import type { SchemaRegistry } from '../../avro/registry/registry';
import type { Config } from '../../config/load-config';
import type { CommitLog } from '../../log/commit-log';
import type { LogSpace } from '../../log/local/file/reader-connection';
import { openLocalLog } from '../../log/local/local-log';
import type { Logger } from '../../logging/logger';
import { onKafka } from './on-kafka';

export interface OpenLog {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  /** Of the embedded log: takes the folder before the first feed is acquired. @throws HighwaterError LOG_* */
  readonly hold?: () => void;
  /** Of the embedded log. @throws HighwaterError LOG_* */
  readonly space?: () => LogSpace | null;
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
  const { dataDir, retention, kafka, schemaRegistry, appId, topicPrefix } = config;
  // The configuration has the one with the other.
  if (kafka === null || schemaRegistry === null) {
    return {
      ...openLocalLog({ dataDir, logger, instance, retention }),
      place: path.join(dataDir, 'highwater.db'),
    };
  }
  const { openKafkaLog, confluentRegistry } = onKafka();
  return {
    commitLog: openKafkaLog({ kafka, appId, topicPrefix, logger }),
    registry: confluentRegistry(schemaRegistry, { logger, signal }),
    place: `Kafka at ${kafka.brokers.join(', ')}`,
  };
}
