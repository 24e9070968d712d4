import type { ChangeView } from '../../dashboard/view';
import type { Row } from './model';

export type Op = ChangeView['op'];

/** Selects the changes that are shown. Empty: everything. */
export interface Filter {
  /** Words that all have to be there: of symbol, title, key, fields and values. */
  readonly text: string;
  readonly feed: string;
  /** Type of a transition; `*`: any. */
  readonly type: string;
  /** At least one. */
  readonly ops: readonly Op[];
}

export const allOps: readonly Op[] = ['c', 'u', 'd', 'r'];
export const noFilter: Filter = { text: '', feed: '', type: '', ops: allOps };

export const isFiltering = ({ text, feed, type, ops }: Filter): boolean =>
  text.trim() !== '' || feed !== '' || type !== '' || ops.length < allOps.length;

export function filtered(rows: readonly Row[], filter: Filter): readonly Row[] {
  if (!isFiltering(filter)) return rows;
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ change }) => {
    if (filter.feed !== '' && change.feed !== filter.feed) return false;
    if (!filter.ops.includes(change.op)) return false;
    if (filter.type === '*' && change.transitions.length === 0) return false;
    if (
      filter.type !== '' &&
      filter.type !== '*' &&
      !change.transitions.some(({ type }) => type === filter.type)
    )
      return false;
    return words.length === 0 || words.every((word) => searched(change).includes(word));
  });
}

const texts = new WeakMap<ChangeView, string>();

function searched(change: ChangeView): string {
  const known = texts.get(change);
  if (known !== undefined) return known;
  const { symbol, title, key, feed, fields, transitions } = change;
  const parts = [symbol, title, key, feed];
  for (const { field, before, after } of fields) parts.push(field, before, after);
  for (const { type, before, after } of transitions) parts.push(type, before, after);
  const text = parts
    .filter((part) => part !== null)
    .join('\n')
    .toLowerCase();
  texts.set(change, text);
  return text;
}

/** With an op more or less; the last one is not taken away, but turned into all others. */
export function toggled(ops: readonly Op[], op: Op): readonly Op[] {
  const next = allOps.filter((one) => (one === op ? !ops.includes(op) : ops.includes(one)));
  return next.length === 0 ? allOps.filter((one) => one !== op) : next;
}
