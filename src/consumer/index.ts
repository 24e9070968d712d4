/** `highwater/consumer`: for programs that react to published changes. */
export { HighwaterError } from '../errors';
export type { Logger } from '../logging/logger';
export { connect } from './connect';
export type { EventFilter, LogEvent } from './event';
export type { HighwaterLog, KnownTopic } from './highwater-log';
export type { ConnectOptions, KafkaOptions, LocalOptions } from './open-log';
export type {
  BatchContext,
  ConsumeBatchesOptions,
  ConsumeOptions,
  GroupConsumeOptions,
  HandlerContext,
  PositionStore,
  ReadOptions,
  RetryOptions,
} from './options';
export * from './schemas';
export type { Table, TableChange, TableOptions } from './table';
