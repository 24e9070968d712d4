import { HighwaterError } from '../../errors';
import { durationText } from '../../format/durations';
import { harmless } from '../../format/short-text';
import { painted, type Span, span, wrapped } from '../terminal/text';

/** Result of one check of the installation. */
export interface Check {
  /** The subject of the check: `token`, `topics`. */
  readonly check: string;
  /** Where a feed has a check of its own. */
  readonly feed: string | null;
  /** `warning`: it works, and somebody should know. `skipped`: not set, or of no use before something else is fixed. */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly found: string;
  /** The error that a publisher would have. */
  readonly code: string | null;
  /** The remedy. */
  readonly remedy: string | null;
}

export type Checks = AsyncGenerator<Check> | Generator<Check>;

export type Subject = string | { readonly check: string; readonly feed: string };

const checkOf =
  (state: Check['state']) =>
  (subject: Subject, found: string, remedy: string | null = null, code: string | null = null): Check => {
    const named = typeof subject === 'string' ? { check: subject, feed: null } : subject;
    return { ...named, state, found, code, remedy };
  };

export const ok = checkOf('ok');
export const warning = checkOf('warning');
export const failed = checkOf('failed');
export const skipped = checkOf('skipped');

/** Operators' commands need these, but publishing does not, so problems are only warnings. */
export function forCommands(check: Check): Check {
  if (check.state !== 'failed') return check;
  const found = `${check.found}; publishing works without, but commands of operators do not reach a publisher`;
  return { ...check, state: 'warning', found };
}

/** @throws the error when it is a fault of the program */
export function failedBy(subject: Subject, error: unknown): Check {
  if (!(error instanceof HighwaterError)) throw error;
  return failed(subject, error.message, error.remedy, error.code);
}

/** For `catch`: the error as a value. @throws the error when it is a fault of the program */
export function known(error: unknown): HighwaterError {
  if (error instanceof HighwaterError) return error;
  throw error;
}

/** The result of the check, or the error that ended it. @throws an error that is a fault of the program */
export async function checked(subject: Subject, check: () => Promise<Check> | Check): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    return failedBy(subject, error);
  }
}

/** Clocks agree within these: an answer's whole seconds and its way explain the difference. */
export const clockToleranceMs = 5_000;

/** A warning if the clock of this machine is far from a server's. @param aheadMs null: it does not tell */
export function okByClock(subject: Subject, found: string, aheadMs: number | null, whose: string): Check {
  if (aheadMs === null || Math.abs(aheadMs) <= clockToleranceMs) return ok(subject, found);
  const apart = `${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
  return warning(
    subject,
    `${found}; the clock of this machine is ${apart} ${whose}`,
    'Set the clocks by NTP. Brokers refuse records that are more than message.timestamp.after.max.ms (1 h by default) ahead of their own clock.',
  );
}

const marks: Readonly<Record<Check['state'], Span>> = {
  ok: span('✓ ', 'green'),
  warning: span('! ', 'yellow'),
  failed: span('✗ ', 'red'),
  skipped: span('- ', 'dim'),
};

/** Room for `schemas insights`. */
const NAME_CELLS = 18;
const HEAD_CELLS = 2 + NAME_CELLS + 1;
/** If less width than this is left beside the names, findings are printed below them. */
const LEAST_CELLS = 36;

const groups: readonly (readonly [title: string, checks: readonly string[]])[] = [
  ['Settings', ['settings']],
  ['API', ['api', 'token', 'clock', 'feed']],
  ['Schemas', ['registry', 'schemas', 'command-schema']],
  ['Feeds', ['status']],
  ['Deliveries', ['delivery']],
];

/** The heading of a check. Checks without a heading of their own concern the log. */
export function checkGroup({ check }: Pick<Check, 'check'>): string {
  return groups.find(([, checks]) => checks.includes(check))?.[0] ?? 'Log';
}

/** One check with its remedy, if it has one, wrapped at the width of the terminal. */
export function checkLine(
  { check, feed, state, found, remedy }: Check,
  { width, color }: { readonly width: number; readonly color: boolean },
): string {
  const name = harmless(feed === null ? check : `${check} ${feed}`);
  const what = harmless((state === 'skipped' ? `skipped: ${found}` : found).replace(/\s*\n\s*/g, ' '));
  const style = state === 'ok' ? 'plain' : marks[state].style;
  const isBeside = width - HEAD_CELLS >= LEAST_CELLS;
  const indent = isBeside ? HEAD_CELLS : 4;
  const said = wrapped(what, width - indent).map((line) => [span(' '.repeat(indent)), span(line, style)]);
  const head = [
    marks[state],
    span(isBeside ? `${name.padEnd(NAME_CELLS)} ` : name, isBeside ? 'plain' : 'bold'),
  ];
  const lines: Span[][] = isBeside ? [[...head, said[0]![1]!], ...said.slice(1)] : [head, ...said];
  const advice = (remedy ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => wrapped(harmless(line), width - indent - 4))
    .map((line, i) => [span(`${' '.repeat(indent)}${i === 0 ? 'do: ' : '    '}`, 'dim'), span(line)]);
  return [...lines, ...advice].map((line) => `${painted(line, width, color).trimEnd()}\n`).join('');
}
