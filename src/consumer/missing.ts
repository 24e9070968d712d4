import { errorKinds, HighwaterError } from '../errors';
import type { ConsumerLog, TopicEnds } from '../log/consumer-log';
import type { LogFacts, Logger } from '../logging/logger';

type Missing = Pick<ConsumerLog, 'missing'>;

/**
 * Names a log that is not there, for a reader that waits for it: the publisher may start later, or the folder may be a wrong one.
 */
export function warnIfMissing(log: Missing, logger: Logger): void {
  const file = log.missing();
  if (file === null) return;
  logger.warn(`There is no log in ${file} yet (LOG_MISSING).`, {
    now: 'It is read once it exists.',
    remedy: errorKinds.LOG_MISSING.remedy,
  });
}

/** @throws HighwaterError LOG_MISSING for a reader that would not wait */
export function assertLog(log: Missing): void {
  const file = log.missing();
  if (file !== null) throw new HighwaterError('LOG_MISSING', `there is no log in ${file} yet`);
}

/**
 * Names a topic that is not there, for its reader: it may come to be, or the name may be a wrong one.
 * @param ends of the topic, as the log says them
 * @param isAwaited whether it is read once it exists
 */
export function warnIfNoTopic(
  topic: string,
  { ends }: TopicEnds,
  logger: Logger,
  { isAwaited = true, facts }: { readonly isAwaited?: boolean; readonly facts?: LogFacts } = {},
): void {
  if (ends.size > 0) return;
  logger.warn(
    `The topic ${topic} does not exist yet${isAwaited ? '; it is read once it exists' : ''}.`,
    facts,
  );
}
