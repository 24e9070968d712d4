import type { Logger as Winston } from 'winston';
import { createRedactor } from '../secrets/redaction';
import { plainValue } from './plain-value';
import { prettyLine } from './pretty-line';
import { wantsColor } from './wants-color';

/** `logger.info('asking again', { feed, attempt })`: a message and its facts. */
export interface Logger {
  error(message: string, facts?: LogFacts): void;
  warn(message: string, facts?: LogFacts): void;
  info(message: string, facts?: LogFacts): void;
  debug(message: string, facts?: LogFacts): void;
}

/** Shown beside the message. An error is the member `error`. */
export type LogFacts = Readonly<Record<string, unknown>>;

export interface LoggerOptions {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  /** `json`: one object a line. */
  readonly format: 'pretty' | 'json';
  /** Replaced by `[redacted]` wherever they occur, in any encoding. */
  readonly secrets: readonly string[];
  /** Default: stderr, because stdout is for the output of a command. */
  readonly stream?: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** Default: on a terminal, unless NO_COLOR is set. */
  readonly color?: boolean;
}

const reserved = new Set(['level', 'message', 'time']);
const levels = { error: 0, warn: 1, info: 2, debug: 3 };

export function createLogger(options: LoggerOptions): Logger {
  const { level } = options;
  let winston: Winston | null = null;
  const write =
    (at: LoggerOptions['level']) =>
    (message: string, facts: LogFacts = {}) => {
      if (levels[at] > levels[level]) return;
      winston ??= openWinston(options);
      // All facts go into one member, because winston would use a `message` or `stack` among them as its own.
      winston.log({ level: at, message, facts });
    };
  return { error: write('error'), warn: write('warn'), info: write('info'), debug: write('debug') };
}

/** Loaded with the first line: winston takes a quarter of the start of a command, and most commands that only read log nothing. */
function openWinston(options: LoggerOptions): Winston {
  const { createLogger: createWinston, format, transports }: typeof import('winston') = require('winston');
  const { level, secrets, stream = process.stderr } = options;
  const redact = createRedactor(secrets);
  const color = options.color ?? wantsColor(stream);
  const line = format.printf((info) => {
    const {
      level: at,
      message,
      facts,
    } = info as unknown as { level: string; message: string; facts: LogFacts };
    const time = new Date().toISOString();
    const clean = Object.entries(plainValue(facts, redact) as LogFacts);
    if (options.format === 'pretty')
      return prettyLine({ time, level: at, message: redact(message), facts: clean, color });
    const named = clean.map(([key, value]) => [reserved.has(key) ? `${key}_` : key, value]);
    return JSON.stringify({ time, level: at, message: redact(message), ...Object.fromEntries(named) });
  });
  return createWinston({
    level,
    levels,
    format: line,
    transports: [new transports.Stream({ stream, eol: '\n' })],
  });
}
