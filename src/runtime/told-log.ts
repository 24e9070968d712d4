import { performance } from 'node:perf_hooks';
import { type ErrorCode, HighwaterError } from '../errors';
import type { CommitLog } from '../log/commit-log';
import type { Tell } from './publisher-events';

/** The log, with each transaction told of. */
export function toldLog(log: CommitLog, tell: Tell): CommitLog {
  return {
    ...log,
    async acquire(topics, signal, grant) {
      const { feed } = topics;
      const session = await log.acquire(topics, signal, grant);
      return {
        ...session,
        async commit(batch) {
          const began = performance.now();
          const ended = (failure: ErrorCode | null) =>
            tell({ kind: 'transaction', feed, failure, seconds: (performance.now() - began) / 1_000 });
          try {
            await session.commit(batch);
          } catch (error) {
            ended(error instanceof HighwaterError ? error.code : 'UNEXPECTED');
            throw error;
          }
          ended(null);
        },
      };
    },
  };
}
