import { writeSync } from 'node:fs';
import type { Logger } from '../../logging/logger';

let logger: Pick<Logger, 'warn' | 'debug'> | null = null;
/** Warnings that came before there was a logger. */
const waiting: Error[] = [];

/**
 * Keeps Node.js from printing warnings of the process, such as MaxListenersExceededWarning, as plain text: a reader of a JSON log cannot
 * read that. Without a logger they are printed when the process ends.
 */
export function takeProcessWarnings(): void {
  // Somebody has switched them off.
  if (process.listenerCount('warning') === 0) return;
  process.removeAllListeners('warning');
  process.on('warning', tell);
  process.once('exit', () => {
    for (const warning of waiting) writeSync(process.stderr.fd, `${textOf(warning)}\n`);
  });
}

/** From now on, and also for earlier ones. */
export function logProcessWarnings(given: Pick<Logger, 'warn' | 'debug'>): void {
  logger = given;
  for (const warning of waiting.splice(0)) tell(warning);
}

function tell(warning: Error): void {
  if (logger === null) {
    waiting.push(warning);
    return;
  }
  logger.warn(textOf(warning));
  logger.debug('where the warning came from', { error: warning });
}

const textOf = ({ name, message }: Error): string => `Node.js warns: ${name}: ${message}`;
