import { Writable } from 'node:stream';
import type { LoggerOptions } from '../../logging/logger';
import type { CommandContext } from '../process/command-context';
import { liveRegion } from '../terminal/live-region';
import { canRedraw, widthOf } from '../terminal/terminal';
import { progressLines } from './progress-line';
import type { ProgressText } from './progress-text';

/** Lines of progress at the end of a terminal, below the lines of the log. Elsewhere a line every few seconds. */
export interface ProgressScreen {
  /** For `createLogger`: its lines stay above the progress. */
  readonly logging: Pick<LoggerOptions, 'stream' | 'color'>;
  /**
   * Shows the progress of a task, or updates it.
   * @param text describes the progress, called with each frame; `sinceMs` is the time of the first call for this task
   * @param line describes the progress if lines cannot be overwritten; called now and then
   */
  set(key: string, text: (nowMs: number, sinceMs: number) => ProgressText, line?: () => void): void;
  /** That work is over. @returns how long it was shown, ms */
  remove(key: string): number;
  /** Whole lines, above the progress. */
  write(text: string): void;
  /** Takes the progress away and gives the terminal back. */
  end(): void;
}

const FRAME_MS = 100;
/** Work that ends sooner needs no screen. */
const SHOW_AFTER_MS = 400;
export const LINE_EVERY_MS = 5_000;

interface Work {
  readonly sinceMs: number;
  /** When the last line was written. */
  lineMs: number;
  text(nowMs: number, sinceMs: number): ProgressText;
}

/** On stderr, because stdout is for the command's output. @param isWanted false if programs read the lines */
export function progressScreen(
  { stderr, env, logging, beforeExit }: Pick<CommandContext, 'stderr' | 'env' | 'logging' | 'beforeExit'>,
  isWanted: boolean,
): ProgressScreen {
  const { color } = logging;
  const region = isWanted && canRedraw(stderr, env) ? liveRegion(stderr, color, beforeExit) : null;
  const works = new Map<string, Work>();
  let timer: NodeJS.Timeout | null = null;
  let tick = 0;
  let drawnAt = 0;

  const write = (text: string): void => {
    if (region === null) stderr.write(text);
    else region.above(text);
  };
  const stream = new Writable({
    decodeStrings: false,
    write(text: string | Buffer, _encoding, done) {
      write(String(text));
      done();
    },
  });

  function draw(): void {
    const now = Date.now();
    drawnAt = now;
    tick += 1;
    const texts = [...works.values()]
      .filter(({ sinceMs }) => now - sinceMs >= SHOW_AFTER_MS)
      .map(({ text, sinceMs }) => text(now, sinceMs));
    if (texts.length === 0) region?.end('clear');
    else region?.show(progressLines(texts, widthOf(stderr), tick));
  }
  function stop(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
    region?.end('clear');
  }

  return {
    logging: region === null ? logging : { stream, color },
    write,
    set(key, text, line) {
      const now = Date.now();
      const work = works.get(key) ?? { sinceMs: now, lineMs: now, text };
      work.text = text;
      works.set(key, work);
      if (region !== null) {
        timer ??= setInterval(draw, FRAME_MS).unref();
        // Work that leaves no time for timers still shows how it goes.
        if (now - drawnAt >= FRAME_MS) draw();
      } else if (now - work.lineMs >= LINE_EVERY_MS) {
        work.lineMs = now;
        line?.();
      }
    },
    remove(key) {
      const ms = Date.now() - (works.get(key)?.sinceMs ?? Date.now());
      works.delete(key);
      if (works.size === 0) stop();
      return ms;
    },
    end() {
      works.clear();
      stop();
    },
  };
}
