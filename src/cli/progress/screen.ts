import { Writable } from 'node:stream';
import { harmless } from '../../format/short-text';
import type { CommandContext } from '../process/command-context';
import { liveRegion } from '../terminal/live-region';
import { canRedraw, widthOf } from '../terminal/terminal';
import { cellsOf, column, type Span, span } from '../terminal/text';

/** How long work goes, at one moment. */
export interface Progress {
  /** The feed. */
  readonly label: string;
  /** The task: `snapshot`. */
  readonly work: string;
  /** 0 to 1, for a bar; null where the end is not known: then something turns, and nothing is made up. */
  readonly share: number | null;
  /** With units, the most important first: what there is no room for is cut. */
  readonly facts: readonly string[];
  /** It stands still. */
  readonly trouble?: string;
}

export type ProgressScreen = ReturnType<typeof progressScreen>;

const FRAME_MS = 100;
/** Work that ends sooner needs no screen. */
const SHOW_AFTER_MS = 400;
export const LINE_EVERY_MS = 5_000;

interface Work {
  readonly sinceMs: number;
  /** When the last line was written. */
  lineMs: number;
  progress: (nowMs: number, sinceMs: number) => Progress;
}

/**
 * Lines of progress at the end of a terminal, below the lines of the log. Elsewhere a line every few seconds. On stderr, because
 * stdout is for the command's output.
 * @param isWanted false if programs read the lines
 */
export function progressScreen(
  { stderr, env, logging, beforeExit }: Pick<CommandContext, 'stderr' | 'env' | 'logging' | 'beforeExit'>,
  isWanted: boolean,
) {
  const { color } = logging;
  const region = isWanted && canRedraw(stderr, env) ? liveRegion(stderr, color, beforeExit) : null;
  const works = new Map<string, Work>();
  let timer: NodeJS.Timeout | undefined;
  let tick = 0;
  let drawnAt = 0;

  /** Whole lines, above the progress. */
  const write = (text: string): void => (region === null ? void stderr.write(text) : region.above(text));
  const stream = new Writable({
    decodeStrings: false,
    write(text: string | Buffer, _encoding, done) {
      write(String(text));
      done();
    },
  });

  function draw(): void {
    drawnAt = Date.now();
    tick += 1;
    const shown = [...works.values()].filter(({ sinceMs }) => drawnAt - sinceMs >= SHOW_AFTER_MS);
    const all = shown.map(({ progress, sinceMs }) => progress(drawnAt, sinceMs));
    if (all.length === 0) region?.end('clear');
    else region?.show(progressLines(all, widthOf(stderr), tick));
  }
  function stop(): void {
    clearInterval(timer);
    timer = undefined;
    region?.end('clear');
  }

  return {
    /** For `createLogger`: its lines stay above the progress. */
    logging: region === null ? logging : { stream, color },
    write,
    /**
     * Shows the progress of a task, or updates it.
     * @param progress is called with each frame; `sinceMs` is the time of the first call for this task
     * @param line describes the progress if lines cannot be overwritten; called now and then
     */
    set(key: string, progress: Work['progress'], line?: () => void): void {
      const now = Date.now();
      const work = works.get(key) ?? { sinceMs: now, lineMs: now, progress };
      work.progress = progress;
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
    /** That work is over. @returns how long it was shown, ms */
    remove(key: string): number {
      const ms = Date.now() - (works.get(key)?.sinceMs ?? Date.now());
      works.delete(key);
      if (works.size === 0) stop();
      return ms;
    },
    /** Takes the progress away and gives the terminal back. */
    end(): void {
      works.clear();
      stop();
    },
  };
}

const turning = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * Works of the same time, a line each, their figures under each other.
 * @param tick counts the frames
 */
export function progressLines(all: readonly Progress[], width: number, tick: number): Span[][] {
  const widest = (wordOf: (one: Progress) => string): number =>
    Math.min(24, Math.max(...all.map((one) => cellsOf(wordOf(one)))));
  const labelCells = widest(({ label }) => label);
  const workCells = widest(({ work }) => work);
  const padded = (fact: string, i: number): string =>
    harmless(fact).padStart(widest(({ facts }) => facts[i] ?? ''));
  return all.map(({ label, work, share, facts, trouble }) => [
    span(`${column(harmless(label), labelCells)}  `, 'bold'),
    span(`${column(work, workCells)}  `),
    ...(share === null ? [span(`${turning[tick % turning.length]!}  `, 'cyan')] : bar(share, width)),
    span(facts.map(padded).join('  ')),
    ...(trouble === undefined ? [] : [span(`  ${harmless(trouble)}`, 'yellow')]),
  ]);
}

/** The share that is done, the rest, and a gap. A narrow terminal needs its cells for the figures. */
function bar(share: number, width: number): Span[] {
  if (width < 56) return [];
  const cells = width >= 110 ? 28 : width >= 76 ? 16 : 8;
  const full = Math.round(Math.min(1, Math.max(0, share)) * cells);
  return [span('█'.repeat(full), 'cyan'), span('░'.repeat(cells - full), 'dim'), span('  ')];
}
