import type { Readable, Writable } from 'node:stream';
import { HighwaterError } from '../../errors';
import { wantsColor } from '../../logging/wants-color';

export type Input = Readable & { readonly isTTY?: boolean };

type Screen = { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** A terminal, a pipe or a file. */
export type Output = Writable & Screen;

/** Assumed for terminals that do not report their size. */
const USUAL = { columns: 80, rows: 24 };

/** Width in cells; Infinity: unlimited. */
export function widthOf({ isTTY, columns }: Screen): number {
  if (isTTY !== true) return Number.POSITIVE_INFINITY;
  return columns === undefined || columns < 1 ? USUAL.columns : columns;
}

export function heightOf({ rows }: Screen): number {
  return rows === undefined || rows < 1 ? USUAL.rows : rows;
}

/** Whether printed lines can be overwritten: on an interactive terminal that can move its cursor. */
export function canRedraw({ isTTY }: Screen, { TERM, CI }: NodeJS.ProcessEnv): boolean {
  return isTTY === true && TERM !== 'dumb' && (CI ?? '') === '';
}

/** @returns exit code of a command that ends by this error */
export function writeError(
  error: unknown,
  { stderr, env }: { readonly stderr: Output; readonly env: NodeJS.ProcessEnv },
  secrets: readonly string[] = [],
): number {
  // Loaded when there is an error: its libraries would slow the start of every command.
  const { renderError }: typeof import('../process/render-error') = require('../process/render-error');
  stderr.write(renderError(error, { color: wantsColor(stderr, env), secrets, width: widthOf(stderr) }));
  return error instanceof HighwaterError ? error.kind.exit : 1;
}
