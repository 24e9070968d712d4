import { pause } from '../../async/wait';
import { HighwaterError } from '../../errors';
import { problemLines, statusLines } from '../lines/status-table';
import type { CommandContext } from '../process/command-context';
import { liveRegion } from '../terminal/live-region';
import { painted, type Span, span } from '../terminal/spans';
import { canRedraw } from '../terminal/terminal';
import type { FeedStatus } from './feed-status';

interface WatchOptions {
  readonly everyMs: number;
  readonly json: boolean;
}

/**
 * Shows the status repeatedly until the signal: on a terminal in one place, otherwise as a block or as JSON lines each time.
 * If the log cannot be read, the error is shown and the log is asked again.
 * @returns exit code
 */
export async function watchStatus(
  read: () => Promise<readonly FeedStatus[]>,
  { everyMs, json }: WatchOptions,
  context: CommandContext,
): Promise<number> {
  const { stdout, env, signal, color } = context;
  const region = !json && canRedraw(stdout, env) ? liveRegion(stdout, color, context.beforeExit) : null;
  const every = everyMs % 1_000 === 0 ? `${everyMs / 1_000} s` : `${everyMs} ms`;
  /** A terminal of another size needs other lines. */
  let redraw = (): void => undefined;
  const onResize = (): void => redraw();
  stdout.on('resize', onResize);
  try {
    while (!signal.aborted) {
      const found = await statusOrProblem();
      if (signal.aborted) break;
      const atMs = Date.now();
      if (json) {
        if (found instanceof HighwaterError) context.note(`highwater: ${found.code}: ${found.message}\n`);
        else await context.print(found.map((one) => `${JSON.stringify(one)}\n`).join(''));
      } else if (region !== null) {
        redraw = () => region.show([...linesFor(found, Date.now()), [], footer(atMs)]);
        redraw();
      } else {
        const text = linesFor(found, atMs).map((line) => `${painted(line, context.width(), color)}\n`);
        await context.print(`${new Date(atMs).toISOString()}\n${text.join('')}\n`);
      }
      await pause(everyMs, signal);
    }
    return 0;
  } finally {
    stdout.off('resize', onResize);
    region?.end('keep');
  }

  async function statusOrProblem(): Promise<readonly FeedStatus[] | HighwaterError> {
    try {
      return await read();
    } catch (error) {
      if (error instanceof HighwaterError) return error;
      if (signal.aborted) return [];
      throw error;
    }
  }
  function linesFor(found: readonly FeedStatus[] | HighwaterError, nowMs: number): Span[][] {
    // The last column of a terminal that is drawn over stays free.
    const width = context.width() - (region === null ? 0 : 1);
    if (!(found instanceof HighwaterError)) return statusLines(found, { nowMs, width });
    const { code, message, remedy } = found;
    return problemLines({ mark: '✗', style: 'red', texts: [`${code}: ${message}`], remedy }, width);
  }
  function footer(atMs: number): Span[] {
    const time = new Date(atMs).toLocaleTimeString('en-GB', { hour12: false });
    return [span(`${time}, every ${every}. Ctrl-C ends.`, 'dim')];
  }
}
