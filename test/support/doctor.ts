import { type CommandRun, jsonLines, outcome } from './cli';

/** One check as `doctor --json` prints it. */
export interface DoctorLine {
  readonly check: string;
  readonly feed: string | null;
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly found: string;
  readonly code: string | null;
  readonly do: string | null;
}

export interface DoctorReport {
  readonly code: number | null;
  readonly lines: readonly DoctorLine[];
  /** The first result of a check, for a feed if one is given. */
  of(check: string, feed?: string): DoctorLine;
  /** All that was printed. */
  readonly said: string;
}

/** Runs `doctor --json` to its end. */
export async function askDoctor<Options>(
  cli: (args: readonly string[], options?: Options) => CommandRun,
  args: readonly string[] = [],
  options?: Options,
): Promise<DoctorReport> {
  const { code, out, said } = await outcome(cli(['doctor', '--json', ...args], options));
  const lines = jsonLines<DoctorLine>(out);
  return {
    code,
    lines,
    said,
    of: (check, feed) =>
      lines.find((line) => line.check === check && (feed === undefined || line.feed === feed))!,
  };
}
