import { createColors } from 'picocolors';
import type { Alert, AlertKind } from './alert.mts';

const isColored = process.stdout.isTTY === true && !process.env.NO_COLOR;
const { green, red, cyan, yellow, bold, dim } = createColors(isColored);
const looks: Record<AlertKind, readonly [sign: string, paint: (text: string) => string]> = {
  upgrade: ['▲', green],
  downgrade: ['▼', red],
  initiation: ['★', cyan],
  'target up': ['↑', green],
  'target down': ['↓', red],
  correction: ['↻', yellow],
};

/** `10:11:37  ▲ UPGRADE      LGZ    Dortis Capital Markets        Underweight → Neutral           193.00 → 227.50 (+34.50)` */
export function alertLine({ kind, change, move }: Alert): string {
  const { ts_ms, symbol, firm, previous_rating, rating, previous_pt, pt } = change;
  const [sign, paint] = looks[kind];
  const moved = move === null || move.eq(0) ? '' : ` (${move.gt(0) ? '+' : ''}${move.toFixed(2)})`;
  return [
    dim(new Date(ts_ms).toLocaleTimeString('en-GB')),
    paint(`${sign} ${kind.toUpperCase().padEnd(11)}`),
    bold(symbol.padEnd(6)),
    cell(firm ?? '–', 28),
    cell(arrow(previous_rating, rating), 28),
    arrow(money(previous_pt), money(pt)) + moved,
  ].join('  ');
}

function arrow(before: string | null, after: string | null): string {
  return before === null || before === after ? (after ?? '–') : `${before} → ${after ?? '–'}`;
}

/** Two decimals, more where they say something. */
function money(decimal: string | null): string | null {
  return decimal?.replace(/\.(\d)$/, '.$10').replace(/(\.\d\d)0+$/, '$1') ?? null;
}

function cell(text: string, width: number): string {
  return (text.length > width ? `${text.slice(0, width - 1)}…` : text).padEnd(width);
}
