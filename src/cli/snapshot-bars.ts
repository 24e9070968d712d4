import { clearScreenDown, moveCursor } from 'node:readline';
import type { PageReport } from '../pipeline/poll';
import { painter } from './format/spans';

const BAR_CELLS = 28;

interface Bar {
  readonly feed: string;
  readonly total: number;
  rows: number;
  seconds: number | null;
}

export interface SnapshotBars {
  /** Shows what became of a page. @returns true when with it the last feed's snapshot is complete */
  page(report: PageReport): boolean;
}

/**
 * Progress of the first snapshot of several feeds: bars that move on a terminal, a line per finished feed elsewhere.
 * @param totals records that each feed is going to show
 */
export function snapshotBars(
  totals: Readonly<Record<string, number>>,
  stream: NodeJS.WriteStream,
  color: boolean,
): SnapshotBars {
  const began = performance.now();
  const paint = painter(color);
  const bars: Bar[] = Object.entries(totals).map(([feed, total]) => ({
    feed,
    total,
    rows: 0,
    seconds: null,
  }));
  let drawn = false;

  function line({ feed, total, rows, seconds }: Bar): string {
    const share = seconds !== null ? 1 : Math.min(1, total === 0 ? 0 : rows / total);
    const full = Math.round(share * BAR_CELLS);
    const bar = paint('█'.repeat(full), 'cyan') + paint('░'.repeat(BAR_CELLS - full), 'dim');
    const count = rows.toLocaleString('en').padStart(6);
    const state =
      seconds === null ? `of ${total.toLocaleString('en')}` : `records in ${seconds.toFixed(1)} s`;
    return `  ${feed.padEnd(9)} ${stream.isTTY ? `${bar} ` : ''}${count} ${state}\n`;
  }
  function draw(): void {
    if (drawn) {
      moveCursor(stream, 0, -bars.length);
      clearScreenDown(stream);
    }
    drawn = true;
    stream.write(bars.map(line).join(''));
  }
  if (stream.isTTY) draw();

  return {
    page({ feed, progress, state }) {
      const bar = bars.find((one) => one.feed === feed.name);
      if (bar === undefined || bar.seconds !== null) return false;
      bar.rows = state.offset.record_count;
      if (progress.complete) bar.seconds = (performance.now() - began) / 1000;
      if (stream.isTTY) draw();
      else if (bar.seconds !== null) stream.write(line(bar));
      return bar.seconds !== null && bars.every(({ seconds }) => seconds !== null);
    },
  };
}
