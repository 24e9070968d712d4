/** `highwater`: for programs that run a publisher themselves instead of the command `highwater run`. */
export { loadConfig } from './config/load-config';
export { HighwaterError } from './errors';
export { feedDefinitions } from './feeds';
export type { FeedDefinition, TransitionDefinition } from './feeds/definition';
export type { Feed } from './feeds/feed';
export type { CommitLog, LogRecord, ReadOptions } from './log/commit-log';
export { type LocalLog, type LocalLogOptions, openLocalLog } from './log/local/local-log';
export { createLogger, type Logger } from './logging/logger';
export { runWorker } from './runtime/worker';
export { version } from './version';
