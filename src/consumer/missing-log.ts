import { errorKinds, HighwaterError } from '../errors';
import type { ConsumerLog } from '../log/consumer-log';
import type { Logger } from '../logging/logger';

/**
 * Names a log that is not there, for a reader that waits for it: the publisher may start later, or the folder may be a wrong one.
 */
export function warnIfMissing(log: Pick<ConsumerLog, 'missing'>, logger: Logger): void {
  const file = log.missing();
  if (file === null) return;
  logger.warn(`There is no log in ${file} yet (LOG_MISSING).`, {
    now: 'It is read once it exists.',
    remedy: errorKinds.LOG_MISSING.remedy,
  });
}

/** @throws HighwaterError LOG_MISSING for a reader that would not wait */
export function assertLog(log: Pick<ConsumerLog, 'missing'>): void {
  const file = log.missing();
  if (file !== null) throw new HighwaterError('LOG_MISSING', `there is no log in ${file} yet`);
}
