import { HighwaterError } from '../errors';
import type { Logger } from './logger';

/** After so long people are told. */
export const TELL_MS = 10_000;

/**
 * Something that is tried again and again. People are told once if it does not succeed for 10 s, and when it succeeds again: at the
 * same level, since who is told only of the beginning waits for the end.
 */
export class Outage {
  private timer: NodeJS.Timeout | null = null;
  private isTold = false;
  private failure: unknown = null;

  /** @param what begins a sentence: `Reading the topic insights` */
  constructor(
    private readonly what: string,
    private readonly logger: Logger,
  ) {}

  /** A first try begins. */
  began(): void {
    this.timer ??= setTimeout(() => this.tell(), TELL_MS).unref();
  }

  failed(failure: unknown): void {
    this.failure = failure;
    this.began();
  }

  over(how = `${this.what} succeeds again.`): void {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.failure = null;
    if (this.isTold) this.logger.warn(how);
    this.isTold = false;
  }

  /** Nobody waits for it any more. */
  end(): void {
    this.isTold = false;
    this.over();
  }

  private tell(): void {
    const { what, failure } = this;
    this.isTold = true;
    const why = failure instanceof Error ? failure.message : 'no answer has come yet';
    const remedy = failure instanceof HighwaterError ? { remedy: failure.remedy } : {};
    this.logger.warn(`${what} has not succeeded for ${TELL_MS / 1_000} s. It is tried again.`, {
      why,
      ...remedy,
    });
  }
}
