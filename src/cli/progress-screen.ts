import { Writable } from 'node:stream';
import { type LoggerOptions, wantsColor } from '../logger';
import { type ProgressText, progressLines } from './format/progress-line';
import { liveRegion } from './live-region';
import { canRedraw, widthOf } from './terminal';

/** Lines of progress at the end of a terminal, under what is logged meanwhile. Elsewhere it shows nothing: what is said is said in lines. */
export interface ProgressScreen {
  /** Whether somebody sees the progress move. */
  readonly isLive: boolean;
  /** For `createLogger`: its lines stay above the progress. */
  readonly logging: Pick<LoggerOptions, 'stream' | 'color'>;
  /** Shows a work, or goes on showing it. @param text how it goes, asked for again with each frame */
  set(key: string, text: (nowMs: number) => ProgressText): void;
  /** That work is over. */
  remove(key: string): void;
  /** Whole lines, above the progress. */
  write(text: string): void;
  /** Takes the progress away and gives the terminal back. */
  end(): void;
}

const FRAME_MS = 100;
/** What is over sooner is not worth a look. */
const SHOW_AFTER_MS = 400;

interface Work {
  readonly sinceMs: number;
  text(nowMs: number): ProgressText;
}

/** On stderr: stdout is for what a command has to say. @param isWanted false where lines are read by programs */
export function progressScreen(isWanted: boolean): ProgressScreen {
  const { stderr } = process;
  const color = wantsColor(stderr);
  const isLive = isWanted && canRedraw(stderr, process.env);
  const region = isLive ? liveRegion(stderr, color) : null;
  const works = new Map<string, Work>();
  let timer: NodeJS.Timeout | null = null;
  let tick = 0;
  let drawnAt = 0;

  const write = (text: string): void => {
    if (region === null) stderr.write(text);
    else region.above(text);
  };
  const stream = Object.assign(
    new Writable({
      decodeStrings: false,
      write(text: string | Buffer, _encoding, done) {
        write(String(text));
        done();
      },
    }),
    { isTTY: stderr.isTTY },
  );

  function draw(): void {
    const now = Date.now();
    drawnAt = now;
    tick += 1;
    const texts = [...works.values()]
      .filter(({ sinceMs }) => now - sinceMs >= SHOW_AFTER_MS)
      .map(({ text }) => text(now));
    if (texts.length === 0) {
      region?.end('clear');
      return;
    }
    region?.show(progressLines(texts, widthOf(stderr), tick));
  }
  function stop(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
    region?.end('clear');
  }

  return {
    isLive,
    logging: region === null ? {} : { stream, color },
    write,
    set(key, text) {
      if (region === null) return;
      works.set(key, { sinceMs: works.get(key)?.sinceMs ?? Date.now(), text });
      timer ??= setInterval(draw, FRAME_MS).unref();
      // Work that leaves no time for timers still shows how it goes.
      if (Date.now() - drawnAt >= FRAME_MS) draw();
    },
    remove(key) {
      works.delete(key);
      if (works.size === 0) stop();
    },
    end() {
      works.clear();
      stop();
    },
  };
}
