import path from 'node:path';
import type { SchemaRegistry } from '../avro/registry';
import type { Config } from '../config/load-config';
import type { CommitLog } from '../log/commit-log';
import { openLocalLog } from '../log/local/local-log';
import type { Logger } from '../logger';

export interface OpenLog {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  /** Where it is, for people. */
  readonly place: string;
}

/** The log and the registry that the configuration names: Kafka where brokers are set, else the embedded log. */
export function openLog(
  { dataDir }: Config,
  { logger, instance = 'highwater' }: { readonly logger: Logger; readonly instance?: string },
): OpenLog {
  return { ...openLocalLog({ dataDir, logger, instance }), place: path.join(dataDir, 'highwater.db') };
}
