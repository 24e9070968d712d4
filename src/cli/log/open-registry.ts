import path from 'node:path';
import type { SchemaRegistry } from '../../avro/registry/registry';
import type { Config } from '../../config/load-config';
import { openLocalLog } from '../../log/local/local-log';
import type { Logger } from '../../logging/logger';
import { onKafka } from './on-kafka';

export interface OpenRegistry {
  readonly registry: SchemaRegistry;
  /** Where it is, for people. */
  readonly place: string;
  close(): Promise<void>;
}

/**
 * The registry that the configuration names, without the log: a server where its address is set, else the embedded log's.
 * Whoever opens it by command may register, and means to have subjects held to FULL_TRANSITIVE.
 */
export function openRegistry(
  { schemaRegistry, dataDir }: Config,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): OpenRegistry {
  if (schemaRegistry !== null) {
    const config = { ...schemaRegistry, registration: 'register' } as const;
    const registry = onKafka().confluentRegistry(config, { logger, signal, weakerLevel: 'raise' });
    return { registry, place: schemaRegistry.url, close: async () => {} };
  }
  const { registry, commitLog } = openLocalLog({ dataDir, logger });
  return { registry, place: path.join(dataDir, 'highwater.db'), close: () => commitLog.close() };
}
