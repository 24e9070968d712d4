import type { PageReport } from '../../pipeline/poll';
import type { CommandContext } from '../process/command-context';
import { liveRegion } from '../terminal/live-region';
import { canRedraw, widthOf } from '../terminal/terminal';
import { painted, type Span, span } from '../terminal/text';
import { barSpans } from './progress-line';
import { type SnapshotCount, snapshotCounter } from './snapshot-count';

const BAR_CELLS = 28;

export interface SnapshotBars {
  /** Shows what became of a page. @returns true when with it the last feed's snapshot is complete */
  page(report: PageReport): boolean;
  /** Gives the terminal back. */
  end(): void;
}

/**
 * Progress of the first snapshot of several feeds: bars that move on a terminal, a line per finished feed elsewhere.
 * @param totals records that each feed is going to show
 */
export function snapshotBars(
  totals: Readonly<Record<string, number>>,
  { stdout, env, beforeExit }: Pick<CommandContext, 'stdout' | 'env' | 'beforeExit'>,
  color: boolean,
): SnapshotBars {
  const region = canRedraw(stdout, env) ? liveRegion(stdout, color, beforeExit) : null;
  const counter = snapshotCounter();
  const counts = new Map<string, SnapshotCount>();
  const feeds = Object.keys(totals);

  function line(feed: string): Span[] {
    const { records = 0, isDone = false, sinceMs = 0, atMs = 0 } = counts.get(feed) ?? {};
    const total = totals[feed]!;
    const bar = barSpans(isDone ? 1 : total === 0 ? 0 : records / total, BAR_CELLS);
    const state = isDone
      ? `records in ${((atMs - sinceMs) / 1_000).toFixed(1)} s`
      : `of ${total.toLocaleString('en')}`;
    const count = records.toLocaleString('en').padStart(region === null ? 6 : 5);
    return [span(`  ${feed.padEnd(9)} `), ...(region === null ? [] : bar), span(`${count} ${state}`)];
  }
  const draw = (): void => region?.show(feeds.map(line));
  draw();

  return {
    page(report) {
      const feed = report.feed.name;
      const count = counter.page(report);
      if (counts.get(feed)?.isDone === true) return false;
      counts.set(feed, count);
      draw();
      if (region === null && count.isDone) stdout.write(`${painted(line(feed), widthOf(stdout), color)}\n`);
      const isOver = feeds.every((one) => counts.get(one)?.isDone);
      if (isOver) region?.end('keep');
      return isOver;
    },
    end: () => region?.end('keep'),
  };
}
