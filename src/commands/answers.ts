import { pause } from '../async/wait';
import type { Logger } from '../logging/logger';
import type { Redact } from '../secrets/redaction';
import type { Said } from './command';
import { type CommandRecord, type CommandWriterDeps, writeCommandRecord } from './command-record';

export interface AnswerQueueDeps extends CommandWriterDeps {
  readonly logger: Logger;
  /** Removes secrets from texts. */
  readonly redact: Redact;
  /** Name of this process for people, and its id. */
  readonly instance: string;
  readonly ownerId: string;
  /** Own clock, ms. */
  readonly now: () => number;
  /** The process ends, so retries come soon. */
  isClosing(): boolean;
}

/** An owner's answers to commands, written in its order. */
export interface AnswerQueue {
  /** Resolves when it is written or given up; of that the log tells. */
  say(asked: CommandRecord, said: Said): Promise<void>;
  /** All that was said by now is written or given up. */
  drained(): Promise<void>;
}

/** How often a write is tried: an asker waits less long for `accepted` than for an outcome, and progress is repeated anyway. */
const tries: Partial<Record<Said['kind'], number>> = { accepted: 3, progress: 1 };
const answerTries = 5;
const [soonMs, retryMs] = [100, 2_000];

/** @param signal after it, nothing more is tried */
export function answerQueue(deps: AnswerQueueDeps, signal: AbortSignal): AnswerQueue {
  const { logger, redact, instance, ownerId, now } = deps;
  let queue: Promise<void> = Promise.resolve();

  async function write(asked: CommandRecord, said: Said): Promise<void> {
    const most = tries[said.kind] ?? answerTries;
    for (let attempt = 1; ; attempt++) {
      const record = { ...asked, ...said, owner: instance, owner_id: ownerId, ts_ms: now() };
      try {
        await writeCommandRecord(redacted(record, redact), deps, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const facts = { feed: asked.feed, command: asked.command, said: said.kind, error };
        const isUrgent = deps.isClosing() || said.kind === 'accepted';
        if (attempt < most) await pause(isUrgent ? soonMs : retryMs, signal);
        else {
          if (said.kind === 'progress') logger.debug('progress of a command could not be told', facts);
          else logger.warn('the asker of a command could not be answered', facts);
          return;
        }
      }
    }
  }

  return {
    say(asked, said) {
      queue = queue.then(() => write(asked, said));
      return queue;
    },
    drained: () => queue,
  };
}

/** Figures are numbers and names of ours; texts may quote a server. */
function redacted(record: CommandRecord, redact: Redact): CommandRecord {
  const { summary, error } = record;
  return {
    ...record,
    summary: summary === null ? null : redact(summary),
    error: error && {
      ...error,
      message: redact(error.message),
      now: redact(error.now),
      remedy: redact(error.remedy),
    },
  };
}
