import { createColors } from 'picocolors';
import type { Alert, AlertKind } from './alert.mts';

const isColored = process.stdout.isTTY === true && !process.env.NO_COLOR;
const { cyan, green, yellow, red, bold, dim } = createColors(isColored);
const paint: Record<AlertKind, (text: string) => string> = {
  new: cyan,
  priced: green,
  postponed: yellow,
  withdrawn: red,
};
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** `10:11:46  PRICED     CWUO   Fenilvex Networks Inc.        NASDAQ  14.00 USD (range 13.00–17.00) · 12.3M shares · …` */
export function alertLine(alert: Alert): string {
  const { kind, time, ticker, name, exchange } = alert;
  return [
    dim(new Date(time).toLocaleTimeString('en-GB')),
    paint[kind](kind.toUpperCase().padEnd(9)),
    bold(cell(ticker ?? '–', 6)),
    cell(name, 30),
    cell(exchange ?? '–', 7),
    details(alert),
  ].join('  ');
}

function details({ kind, previousStatus, price, priceMin, priceMax, currency, shares, underwriters }: Alert) {
  const range = priceMin && priceMax && `${money(priceMin)}–${money(priceMax)}`;
  const parts = [
    kind !== 'new' && kind !== 'priced' && `was ${previousStatus ?? 'unknown'}`,
    price && `${money(price)} ${currency ?? ''}${range ? ` (range ${range})` : ''}`,
    !price && range && `${range} ${currency ?? ''}`,
    shares && `${compact.format(shares)} shares`,
    underwriters.join(', '),
  ];
  return parts.filter(Boolean).join(dim(' · '));
}

/** Two decimals, more where they say something. The text stays what it was: a price is no floating-point number. */
function money(decimal: string): string {
  return decimal.replace(/(\.\d\d)0+$/, '$1');
}

function cell(text: string, width: number): string {
  return (text.length > width ? `${text.slice(0, width - 1)}…` : text).padEnd(width);
}
