import { sharedController } from '../../../async/wait';
import { type ErrorCode, HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';

export interface SettingsWatchDeps {
  /**
   * Whether the topics are still kept as they must be.
   * @returns the largest record that they take by now, in bytes; null: not known
   * @throws HighwaterError LOG_TOPIC_MISMATCH, LOG_TOPIC_LOST; other errors say nothing about the topics
   */
  verify(signal: AbortSignal): Promise<number | null>;
  /** As the topics were when the feed was acquired. */
  readonly maxRecordBytes: number;
  readonly logger: Logger;
}

const TELLING: readonly ErrorCode[] = ['LOG_TOPIC_MISMATCH', 'LOG_TOPIC_LOST'];

/**
 * Looks now and then whether the topics of an owner are still kept as they must be: an operator can change their settings at any time,
 * and the brokers tell nobody. It runs beside the commits, which it does not hold up.
 */
export function watchSettings({ verify, logger, ...deps }: SettingsWatchDeps, everyMs: number) {
  const stopping = sharedController();
  let { maxRecordBytes } = deps;
  let mismatch: HighwaterError | null = null;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    try {
      maxRecordBytes = (await verify(stopping.signal)) ?? maxRecordBytes;
      mismatch = null;
    } catch (error) {
      if (error instanceof HighwaterError && TELLING.includes(error.code)) mismatch = error;
      else logger.debug('the settings of topics could not be looked at', { error });
    }
  }

  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = null;
    });
  }, everyMs).unref();

  return {
    maxRecordBytes: (): number => maxRecordBytes,
    /** What was wrong at the last look. */
    mismatch: (): HighwaterError | null => mismatch,
    async stop(): Promise<void> {
      clearInterval(timer);
      stopping.abort();
      await looking;
    },
  };
}
