/**
 * The two members that every record needs, read from a row before anything else is known about it. The scan steers by
 * them; the decoder rejects rows that lack one.
 */

/** Above this a time stamp is in milliseconds: as seconds it would lie in the year 5138. */
const GREATEST_SECONDS = 1e11;
/** Later ones do not fit into an Avro long as milliseconds (`coerce.ts`): no time stamp means the year 142,000. */
const LAST_SECOND = Math.floor(2 ** 52 / 1000);

/** The record's id as text; null when there is none that could be a key. */
export function rowId(row: unknown): string | null {
  const id = member(row, 'id');
  if (typeof id === 'string') return id === '' ? null : id.toWellFormed();
  return typeof id === 'number' && Number.isSafeInteger(id) ? String(id) : null;
}

/** Unix seconds; null when the row has no usable time stamp. */
export function rowUpdated(row: unknown): number | null {
  const raw = member(row, 'updated');
  const value = typeof raw === 'string' && /^\d+(\.\d+)?$/.test(raw) ? Number(raw) : raw;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null;
  const seconds = Math.floor(value > GREATEST_SECONDS ? value / 1000 : value);
  return seconds <= LAST_SECOND ? seconds : null;
}

function member(row: unknown, name: string): unknown {
  return typeof row === 'object' && row !== null ? (row as Record<string, unknown>)[name] : undefined;
}
