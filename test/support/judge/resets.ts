import { type ChangeEvent, where } from './change-log';
import type { Live, LivedLife } from './lives';
import type { JudgedLog, LogRow } from './log';
import type { Findings } from './verdict';

/** A reset removes images and publishes nothing, so these tombstones belong to no event. */
export function isOfReset({ value, headers }: LogRow): boolean {
  return value === null && headers.event_id === undefined;
}

/** I5 over resets: each has removed exactly the images of the incarnation that it ended. */
export function checkResets(
  log: JudgedLog,
  feed: string,
  lives: readonly LivedLife[],
  current: Live,
  found: Findings,
): void {
  const rows = log.rows(`${feed}.current`);
  const byKey = new Map<string, LogRow[]>();
  for (const row of rows) {
    const known = byKey.get(row.key);
    if (known === undefined) byKey.set(row.key, [row]);
    else known.push(row);
  }
  for (const row of rows.filter(isOfReset)) {
    const ended = lives.filter(({ live }) => live !== current && live.has(row.key));
    if (!ended.some(({ incarnation }) => incarnation !== row.headers.incarnation))
      found.add('I5', 'torn', `${where(row)} is removed by a reset, and no earlier incarnation had it`);
  }
  if (log.keeps === 'latest') return;
  for (const { live } of lives) {
    if (live === current) continue;
    for (const event of live.values()) {
      const own = byKey.get(event.id) ?? [];
      const next = own[own.findIndex((row) => isImageOf(row, event)) + 1];
      if (next === undefined || !isOfReset(next) || next.headers.incarnation === event.incarnation)
        found.add('I5', 'torn', `${where(event.row)}: a reset came after it and has not removed its image`);
    }
  }
  checkTogether(rows.filter(isOfReset), rows, found);
}

function isImageOf({ headers }: LogRow, { envelope }: ChangeEvent): boolean {
  return headers.event_id === envelope.event_id;
}

/** One reset is one transaction: its tombstones have no gap between them, and a gap on both sides. */
function checkTogether(tombstones: readonly LogRow[], rows: readonly LogRow[], found: Findings): void {
  const byPlace = new Map(rows.map((row) => [`${row.partition}@${row.offset}`, row]));
  const inOrder = [...tombstones].sort((a, b) => a.partition - b.partition || a.offset - b.offset);
  inOrder.forEach((row, i) => {
    const before = inOrder[i - 1];
    const neighbour = byPlace.get(`${row.partition}@${row.offset - 1}`);
    const isSame =
      before?.partition === row.partition && before.headers.incarnation === row.headers.incarnation;
    if (isSame !== (neighbour !== undefined && neighbour === before))
      found.add('I5', 'torn', `${where(row)} is not of one transaction with what its reset removes`);
    else if (!isSame && neighbour !== undefined)
      found.add('I5', 'torn', `${where(row)} shares a transaction with ${where(neighbour)}`);
    const behind = byPlace.get(`${row.partition}@${row.offset + 1}`);
    if (behind !== undefined && !isOfReset(behind))
      found.add('I5', 'torn', `${where(behind)} shares a transaction with ${where(row)}`);
  });
}
