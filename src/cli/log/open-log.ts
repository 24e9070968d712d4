import type { SchemaLookup, SchemaRegistry } from '../../avro/registry/registry';
import { type Config, loadConfig } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import type { CommitLog, LogReader } from '../../log/commit-log';
import { type LogSpace, logFile } from '../../log/local/file/reader-connection';
import { openLocalLog } from '../../log/local/local-log';
import { openLocalReader } from '../../log/local/local-reader';
import { createLogger, type LogFacts, type Logger } from '../../logging/logger';
import { createRedactor } from '../../secrets/redaction';
import type { CommandContext } from '../process/command-context';
import { logProcessWarnings } from '../process/this-process';

/** A log to read, with everything that its records need. */
export interface OpenReader {
  readonly commitLog: LogReader;
  readonly registry: SchemaLookup;
  /** Disk space that the embedded log takes. @throws HighwaterError LOG_* */
  readonly space?: () => LogSpace | null;
  /** How long, in ms since the start, quotas of the brokers have held this process back. */
  readonly throttledMs?: () => number;
  /** Where the log is, for people. */
  readonly place: string;
}

export interface OpenLog extends OpenReader {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  /** Takes the folder of the embedded log before the first feed is acquired. @throws HighwaterError LOG_* */
  readonly hold?: () => void;
}

export interface OpenLogOptions {
  readonly logger: Logger;
  /** Ends waiting for servers. */
  readonly signal: AbortSignal;
}

/**
 * The log and the registry that the settings name: Kafka if brokers are set, otherwise the embedded log.
 * @param instance the embedded log names it when it refuses a second publisher
 */
export function openLog(
  config: Config,
  { logger, signal, instance = 'highwater' }: OpenLogOptions & { readonly instance?: string },
): OpenLog {
  logProcessWarnings(logger);
  const { dataDir, retention } = config;
  const onKafka = kafkaSettings(config, { logger, signal });
  if (onKafka === null)
    return { ...openLocalLog({ dataDir, logger, instance, retention }), place: logFile(dataDir) };
  const { openKafkaLog }: typeof import('../../log/kafka/kafka-log') = require('../../log/kafka/kafka-log');
  return { ...onKafka.open, commitLog: openKafkaLog(onKafka.options) };
}

/** The same, only to read it. */
export function openReader(config: Config, { logger, signal }: OpenLogOptions): OpenReader {
  logProcessWarnings(logger);
  const onKafka = kafkaSettings(config, { logger, signal });
  if (onKafka === null) {
    const reader = openLocalReader(config.dataDir);
    return {
      commitLog: reader,
      registry: reader.registry,
      space: reader.space,
      place: logFile(config.dataDir),
    };
  }
  const {
    openKafkaReader,
  }: typeof import('../../log/kafka/kafka-reader') = require('../../log/kafka/kafka-reader');
  return { ...onKafka.open, commitLog: openKafkaReader(onKafka.options) };
}

/** Null for the embedded log. */
function kafkaSettings(config: Config, { logger, signal }: OpenLogOptions) {
  const { kafka, schemaRegistry, appId, topicPrefix } = config;
  // If one of them is set, the other is set, too.
  if (kafka === null || schemaRegistry === null) return null;
  let throttledMs = 0;
  const onThrottled = (ms: number): void => {
    throttledMs += ms;
  };
  return {
    options: { kafka, appId, topicPrefix, logger, onThrottled },
    open: {
      throttledMs: () => throttledMs,
      registry: confluentRegistry()(schemaRegistry, { logger, signal }),
      place: `Kafka at ${kafka.brokers.join(', ')}`,
    },
  };
}

/** Warnings of the log, for example about a partition without a leader, go to the person at the command, with their reason and remedy. */
export function readersLogger(
  { log, secrets }: Config,
  { logging, note }: Pick<CommandContext, 'logging' | 'note'>,
): Logger {
  const redact = createRedactor(secrets);
  const said = (message: string, { why, remedy }: LogFacts = {}) => {
    const reason = why === undefined ? '' : `Why: ${String(why).replace(/\.$/, '')}.`;
    const parts = [message, reason, remedy ?? ''];
    note(`highwater: ${redact(parts.filter((part) => part !== '').join(' '))}\n`);
  };
  return { ...createLogger({ ...log, level: 'error', secrets, ...logging }), warn: said, info: said };
}

/**
 * Runs the work of a command that only reads the log.
 * @param now what an error says that the program does
 * @returns exit code; 0 when the command is interrupted
 */
export async function readLog(
  flags: Readonly<Record<string, unknown>>,
  needs: 'feeds' | 'nothing',
  context: CommandContext,
  work: (open: OpenReader, config: Config) => Promise<number>,
  now = () => 'Nothing more is shown. This command touches no publisher.',
): Promise<number> {
  const { env, cwd, signal } = context;
  const config = loadConfig({ flags, env, cwd }, needs);
  context.hide(config.secrets);
  const open = openReader(config, { signal, logger: readersLogger(config, context) });
  try {
    return await work(open, config);
  } catch (error) {
    if (signal.aborted) return 0;
    throw ofCommand(error, now());
  } finally {
    await open.commitLog.close();
  }
}

/** An error as a command has it: otherwise it says what a publisher does now. */
export function ofCommand(error: unknown, now: string): unknown {
  if (!(error instanceof HighwaterError)) return error;
  return new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy });
}

export interface OpenRegistry {
  readonly registry: SchemaRegistry;
  /** Where the registry is, for people. */
  readonly place: string;
  close(): Promise<void>;
}

/**
 * The registry that the settings name, without the log: a server if its address is set, otherwise the registry of the embedded
 * log. This registry may register, and holds subjects to FULL_TRANSITIVE.
 */
export function openRegistry(
  { schemaRegistry, dataDir }: Config,
  { logger, signal }: OpenLogOptions,
): OpenRegistry {
  if (schemaRegistry !== null) {
    const config = { ...schemaRegistry, registration: 'register' } as const;
    const registry = confluentRegistry()(config, { logger, signal, weakerLevel: 'raise' });
    return { registry, place: schemaRegistry.url, close: async () => {} };
  }
  const { registry, commitLog } = openLocalLog({ dataDir, logger });
  return { registry, place: logFile(dataDir), close: () => commitLog.close() };
}

/** Loaded only if needed: the clients of Kafka and the registry are a third of the code that a command loads. */
function confluentRegistry(): typeof import('../../avro/registry/confluent-registry').confluentRegistry {
  return require('../../avro/registry/confluent-registry').confluentRegistry;
}
