import { Writable } from 'node:stream';
import { harmless } from '../../format/short-text';
import type { CommandContext } from '../process/command-context';
import { canRedraw, heightOf, type Output, widthOf } from '../terminal/terminal';
import { cellsIn, cellsOf, column, painted, type Span, span } from '../terminal/text';

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
  /** For the newest line, which nothing may follow for long: the work may have come to a pause. */
  timer?: NodeJS.Timeout | undefined;
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
    if (all.length === 0) region?.end();
    else region?.show(progressLines(all, widthOf(stderr), tick));
  }
  function stop(): void {
    clearInterval(timer);
    timer = undefined;
    region?.end();
  }

  return {
    /** For `createLogger`: its lines stay above the progress. */
    logging: region === null ? logging : { stream, color },
    write,
    /**
     * Shows the progress of a task, or updates it.
     * @param progress is called with each frame; `sinceMs` is the time of the first call for this task
     * @param line describes the progress if lines cannot be overwritten; called now and then, and in time for the newest progress
     */
    set(key: string, progress: Work['progress'], line: () => void = () => undefined): void {
      const now = Date.now();
      const work: Work = works.get(key) ?? { sinceMs: now, lineMs: now, progress };
      work.progress = progress;
      works.set(key, work);
      if (region !== null) {
        timer ??= setInterval(draw, FRAME_MS).unref();
        // Work that leaves no time for timers still shows how it goes.
        if (now - drawnAt >= FRAME_MS) draw();
        return;
      }
      clearTimeout(work.timer);
      const say = (): void => {
        work.lineMs = Date.now();
        line();
      };
      // Work that leaves no time for timers still has its lines.
      const restMs = work.lineMs + LINE_EVERY_MS - now;
      if (restMs <= 0) say();
      else work.timer = setTimeout(say, restMs).unref();
    },
    /** That work is over. @returns how long it was shown, ms */
    remove(key: string): number {
      const ms = Date.now() - (works.get(key)?.sinceMs ?? Date.now());
      clearTimeout(works.get(key)?.timer);
      works.delete(key);
      if (works.size === 0) stop();
      return ms;
    },
    /** Takes the progress away and gives the terminal back. */
    end(): void {
      for (const { timer: late } of works.values()) clearTimeout(late);
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

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/**
 * Lines at the end of a terminal that are drawn over again.
 * Not `log-update`: it erases before it writes (flicker), needs three writes for a line above, leaves rests when the terminal
 * becomes narrower, and for the cursor it patches `process.emit` and writes to stderr whatever the stream.
 * @param stream a terminal that can be redrawn (`canRedraw`)
 */
function liveRegion(stream: Output, color: boolean, beforeExit: CommandContext['beforeExit']) {
  let shown: readonly (readonly Span[])[] = [];
  /** Cells of the lines as they stand there. */
  let drawn: readonly number[] = [];
  let isOpen = false;
  // However the process ends, its terminal has a cursor afterwards.
  beforeExit(() => {
    if (isOpen) stream.write(SHOW_CURSOR);
  });

  // Each frame is one write, so that nothing else comes in between.
  function toFirstLine(): string {
    const width = widthOf(stream);
    // A terminal that has become narrower since has folded them.
    const rows = drawn.reduce((sum, cells) => sum + Math.max(1, Math.ceil(cells / width)), 0);
    return rows === 0 ? '\r' : `\u001b[${rows}A\r`;
  }
  function frame(): string {
    // The last column stays free: some terminals fold there already.
    const width = widthOf(stream) - 1;
    const lines = shown.slice(0, Math.max(1, heightOf(stream) - 1));
    drawn = lines.map((line) => Math.min(width, cellsIn(line)));
    return lines.map((line) => `${painted(line, width, color)}${CLEAR_LINE_END}\n`).join('') + CLEAR_BELOW;
  }
  function open(): string {
    if (isOpen) return '';
    isOpen = true;
    return HIDE_CURSOR;
  }

  return {
    /** Replaces the shown lines. Lines that do not fit the terminal are cut. */
    show(lines: readonly (readonly Span[])[]): void {
      shown = lines;
      if (lines.length === 0 && drawn.length === 0) return;
      stream.write(open() + toFirstLine() + frame());
    },
    /** Writes permanent lines above the shown lines. */
    above(text: string): void {
      if (!isOpen) stream.write(text);
      else stream.write(`${toFirstLine()}${CLEAR_BELOW}${text}${frame()}`);
    },
    /** Gives the terminal back, without the lines. May be called again. */
    end(): void {
      if (!isOpen) return;
      isOpen = false;
      stream.write(toFirstLine() + CLEAR_BELOW + SHOW_CURSOR);
      [shown, drawn] = [[], []];
    },
  };
}
