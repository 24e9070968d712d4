import type { FeedStatus } from '../feed-status';
import { cellsOf, harmless } from './cells';
import { painted, type Span, type Style, span } from './spans';

export interface StatusTableOptions {
  readonly nowMs: number;
  /** Cells of the terminal. */
  readonly width: number;
  readonly color: boolean;
}

const heads = ['FEED', 'STATE', 'LAST SCAN', 'RECORDS', 'MARK', 'OWNER'] as const;

/** A line a feed, what needs attention first within it, and below it what is wrong. */
export function statusTable(all: readonly FeedStatus[], { nowMs, width, color }: StatusTableOptions): string {
  const rows = all.map((status) => cells(status, nowMs));
  const widths = heads.map((head, i) => Math.max(cellsOf(head), ...rows.map((row) => cellsOf(row[i]!.text))));
  const line = (row: readonly Span[]): string =>
    painted(
      row.map(({ text, style }, i) =>
        span(i === row.length - 1 ? text : text + ' '.repeat(widths[i]! - cellsOf(text) + 2), style),
      ),
      width,
      color,
    ).trimEnd();
  const lines = [line(heads.map((head) => span(head, 'dim')))];
  for (const [i, status] of all.entries()) {
    lines.push(line(rows[i]!));
    if (status.last_error !== null)
      lines.push(painted([span(`  ${harmless(status.last_error)}`, 'red')], width, color));
  }
  return `${lines.join('\n')}\n`;
}

function cells(status: FeedStatus, nowMs: number): Span[] {
  const { feed, owner, high_water_mark: mark, last_complete_scan_ms: scanned, records } = status;
  const [state, style] = stateOf(status);
  return [
    span(feed, 'bold'),
    span(state, style),
    span(scanned === null ? 'never' : `${ago(nowMs - scanned)} ago`, status.behind ? 'yellow' : 'plain'),
    span(records.toLocaleString('en-US')),
    span(mark === null || mark === 0 ? '-' : new Date(mark * 1_000).toISOString().replace('.000Z', 'Z')),
    span(owner === null ? 'nobody' : harmless(owner), owner === null ? 'yellow' : 'plain'),
  ];
}

function stateOf({
  behind,
  owner,
  paused,
  parked,
  snapshot,
  backfill,
  last_error,
}: FeedStatus): [string, Style] {
  if (parked !== null) return ['parked', 'red'];
  if (paused) return ['paused', 'yellow'];
  if (owner === null) return ['no publisher', 'red'];
  if (last_error !== null) return ['failing', 'red'];
  if (snapshot !== 'complete') return ['first snapshot', 'cyan'];
  if (behind) return ['behind', 'yellow'];
  return backfill === null ? ['up to date', 'green'] : ['backfill runs', 'cyan'];
}

/** `12 s`, `3 min`, `5 h`, `2 d` */
function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
