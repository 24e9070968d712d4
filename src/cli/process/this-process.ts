import { fstatSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import type { Logger } from '../../logging/logger';
import type { Output } from '../terminal/terminal';

export interface Interruption {
  /** Aborted by the first signal: finish the work in hand. */
  readonly signal: AbortSignal;
  /** Exit code of a process that the first signal ends: 130 for SIGINT. */
  code(): number;
  /** Registers what must be done however the process ends, also when the second signal ends it at once; it cannot wait. */
  beforeExit(cleanUp: () => void): void;
}

const signals = ['SIGINT', 'SIGTERM'] as const;

// Ctrl-C reaches the whole process group, and npm (as `npx highwater`) passes its own copy on: one key, two signals.
const sameKeyMs = 100;

/**
 * Listens to this process until it ends.
 * @param report writes an uncaught error, or a rejection that nothing handles, and returns the exit code
 */
export function processInterruption(report: (error: unknown) => number): Interruption {
  const first = new AbortController();
  let firstName: NodeJS.Signals | null = null;
  let firstAt = 0;

  function onSignal(name: NodeJS.Signals): void {
    if (firstName === null) {
      firstName = name;
      firstAt = performance.now();
      first.abort();
    } else if (name !== firstName || performance.now() - firstAt >= sameKeyMs) {
      endBySignal(codeOf(name));
      process.exit();
    }
  }
  for (const name of signals) process.on(name, onSignal);
  // SIGHUP says that the terminal has closed. Node.js resets the signals that `nohup` had set to be ignored, and does not tell
  // which they were; but `nohup` leaves a program no terminal.
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  process.on('SIGHUP', hasTerminal ? onSignal : () => undefined);
  process.on('uncaughtException', (error) => process.exit(report(error)));

  return {
    signal: first.signal,
    code: () => codeOf(firstName ?? 'SIGTERM'),
    beforeExit: (cleanUp) => void process.once('exit', cleanUp),
  };
}

/** stdout. If it is a file whose disk gets full, Node.js writes a part of a text and says nothing. */
export function standardOutput(): Output {
  if (!isFile(process.stdout.fd)) return process.stdout;
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      try {
        for (let at = 0; at < chunk.length; ) at += writeSync(process.stdout.fd, chunk, at);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}

function codeOf(name: NodeJS.Signals): number {
  return 128 + constants.signals[name];
}

/**
 * Has the signal itself end this process once it exits: after a mere exit code of 130 a shell would go on with its loop or script.
 * The first process of a container cannot be ended like this, and exits with the code.
 * @param code as `Interruption.code` returns it
 */
export function endBySignal(code: number): void {
  process.exitCode = code;
  process.once('exit', () => {
    for (const name of [...signals, 'SIGHUP'] as const) {
      if (codeOf(name) !== code) continue;
      process.removeAllListeners(name);
      process.kill(process.pid, name);
    }
  });
}

/**
 * Keeps the environment, where the secrets are, out of the reports that Node.js writes when it was started to
 * (`--report-on-signal`, `--report-on-fatalerror`). A Node.js without an option for that writes no report of a fatal error, and the
 * report of a signal while the environment is empty.
 */
export function keepEnvironmentOutOfReports(): void {
  const report = process.report as NodeJS.ProcessReport & { excludeEnv?: boolean };
  if (report === undefined) return;
  if ('excludeEnv' in report) {
    report.excludeEnv = true;
    return;
  }
  report.reportOnFatalError = false;
  if (!report.reportOnSignal) return;
  report.reportOnSignal = false;
  process.on(report.signal, () => {
    const environment = { ...process.env };
    for (const name of Object.keys(environment)) delete process.env[name];
    try {
      report.writeReport();
    } finally {
      Object.assign(process.env, environment);
    }
  });
}

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
