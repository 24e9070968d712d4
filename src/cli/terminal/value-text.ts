import { shorterDecimal } from '../../format/vendor-text';
import { recordJson } from '../../json/json-text';
import { clip, harmless } from './cells';

const rounded = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A value in a few letters, for a person who watches; `--json` has it whole. */
export function valueText(value: unknown, width = 28): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number') return Math.abs(value) >= 100_000 ? rounded.format(value) : String(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value === '' ? '–' : clip(harmless(shorterDecimal(value)), width);
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : clip(harmless(value.map(itemText).join(', ')), width);
  return clip(harmless(recordJson(value)), width);
}

function itemText(item: unknown): string {
  return typeof item === 'object' && item !== null ? recordJson(item) : String(item ?? '–');
}

/** The last part of a dotted name, as the vendor spells it: `ratings_accuracy._1m_stdev` → `1m_stdev`. */
export function fieldText(path: string): string {
  return harmless(path.slice(path.lastIndexOf('.') + 1).replace(/^_(?=\d)/, ''));
}
