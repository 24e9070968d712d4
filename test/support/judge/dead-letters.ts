import { createHash } from 'node:crypto';
import { where } from './change-log';
import { canonical } from './expected-image';
import { type ApiVersion, isUsable } from './history';
import type { JudgedLog } from './log';
import type { Findings } from './verdict';

/**
 * I8: what could be no record is kept whole, once for each content, and nothing else is.
 * @param shown what the API shows at the end that has no usable id or `updated`
 * @returns how many there are
 */
export function checkDeadLetters(
  log: JudgedLog,
  feed: string,
  history: readonly ApiVersion[],
  shown: readonly Readonly<Record<string, unknown>>[],
  found: Findings,
): number {
  const rows = log.rows(`${feed}.dead-letters`);
  const unusable = new Set(
    history.flatMap(({ record }) => (record === null || isUsable(feed, record) ? [] : [canonical(record)])),
  );
  const kept = new Set<string>();
  const texts = new Set<string>();
  rows.forEach((row, i) => {
    if (row.value === null) return; // retried
    const value = log.decode(row.value).value as Record<string, string | number>;
    const raw = String(value.raw);
    const sha256 = createHash('sha256').update(raw).digest('hex');
    const content = canonical(JSON.parse(raw));
    const text = JSON.stringify(JSON.parse(raw), membersInOrder);
    if (row.key !== sha256 || value.sha256 !== sha256)
      found.add('I8', 'wrong', `${where(row)}: its hash is ${sha256}`);
    if (
      value.bytes !== Buffer.byteLength(raw) ||
      value.feed !== feed ||
      value.reason === '' ||
      value.ts_ms !== row.timestamp
    )
      found.add(
        'I8',
        'wrong',
        `${where(row)}: bytes ${value.bytes}, feed ${value.feed}, reason ${value.reason}`,
      );
    if (!unusable.has(content))
      found.add('I8', 'wrong', `${where(row)}: no such row was unusable: ${raw.slice(0, 200)}`);
    // Where only the latest is kept, a letter written again takes the place of the first and leaves a hole.
    const hole = log.keeps === 'latest' && row.offset !== i;
    if (texts.has(text) || hole) found.add('I8', 'twice', `${where(row)} stands at place ${i}`);
    texts.add(text);
    kept.add(content);
  });
  for (const record of shown) {
    if (!kept.has(canonical(record)))
      found.add('I8', 'lost', `no dead letter for ${canonical(record).slice(0, 200)}`);
  }
  return rows.length;
}

/** The order of an object's members does not count as content. */
function membersInOrder(_name: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
