import { type Random, recordId } from '../random';

/** The invented companies, firms and analysts that records speak of. No name is a real one on purpose. */
export type Universe = ReturnType<typeof createUniverse>;
export type Analyst = Universe['analysts'][number];

const beginnings =
  'Al Bor Cal Dor El Fen Gal Hel Ister Jov Kel Lum Mar Nor Or Pel Quil Ros Sil Tor Ul Ver Wex Xen Yar Zel'.split(
    ' ',
  );
const middles = 'an av en er ia il in is on or um ur yn'.split(' ');
const ends = 'da dex dyne gen lix mar nix phor ra ris rix tek thos tis tra vant via vex zen'.split(' ');
const trades = [
  'Therapeutics',
  'Robotics',
  'Energy',
  'Foods',
  'Logistics',
  'Software',
  'Materials',
  'Bancorp',
  'Semiconductor',
  'Health',
  'Aerospace',
  'Networks',
  'Mining',
  'Retail',
  'Water',
];
const forms = ['Inc.', 'Corp.', 'Holdings', 'Ltd.', 'Group', 'plc'];
const firmKinds = ['Securities', 'Capital Markets', 'Research', '& Partners', 'Equity Advisors', 'Financial'];
const firstNames =
  'Adela Bram Cosima Dario Edda Faron Ginevra Hale Isaura Jorun Kerr Linnea Maro Nerys Orson Petra Quillan Rhea Soren Tamsin Ulla Varga Wren Xanthe Yorick Zelda'.split(
    ' ',
  );
export const exchanges = ['NASDAQ', 'NYSE', 'AMEX', 'TSX', 'LSE'] as const;

export function inventedName(random: Random): string {
  const middle = random.chance(0.5) ? random.pick(middles) : '';
  return random.pick(beginnings) + middle + random.pick(ends);
}

export function companyName(random: Random): string {
  return `${inventedName(random)} ${random.pick(trades)} ${random.pick(forms)}`;
}

export function ticker(random: Random): string {
  const letters = random.int(3, 5);
  let text = '';
  for (let i = 0; i < letters; i++) text += String.fromCharCode(65 + random.int(0, 25));
  return text;
}

/** @param analysts how many there are; at least a few, since insights need someone to have written them */
export function createUniverse(random: Random, analysts: number, nowSeconds: number) {
  const symbols = new Set<string>();
  while (symbols.size < 400) symbols.add(ticker(random));
  const companies = [...symbols].map((symbol) => ({
    name: companyName(random),
    symbol,
    exchange: random.pick(exchanges),
    cik: String(random.int(100_000, 1_999_999)),
    isin: `US${random.int(100_000_000, 999_999_999)}${random.int(0, 9)}`,
  }));
  const since = nowSeconds - 5 * 365 * 86_400;
  const firms = Array.from({ length: 40 }, () => ({
    id: recordId(random, random.int(since, nowSeconds)),
    name: `${inventedName(random)} ${random.pick(firmKinds)}`,
  }));
  const people = Array.from({ length: Math.max(20, analysts) }, () => ({
    id: recordId(random, random.int(since, nowSeconds)),
    first: random.pick(firstNames),
    last: inventedName(random),
    firm: random.pick(firms),
  }));
  return { companies, firms, analysts: people };
}

const sentences = [
  'Management kept its outlook and sees demand firm through the second half.',
  'Margins widened on a richer mix, although freight stayed a burden.',
  'The order book covers about three quarters of the coming year.',
  'New capacity comes on stream a quarter later than planned.',
  'Pricing held up better than peers, which the valuation does not show yet.',
  'Regulatory questions remain open and could weigh on sentiment.',
  'Free cash flow should turn positive once the current investments are done.',
  'Competition in the core segment has become sharper since spring.',
  'A second supplier lowers the risk of the bottleneck seen last year.',
  'Currency moves take about two points off reported growth.',
];

/** Sentences of roughly the wanted length, never longer than one sentence above it. */
export function prose(random: Random, bytes: number): string {
  let text = '';
  while (text.length < bytes) text += `${text === '' ? '' : ' '}${random.pick(sentences)}`;
  return text;
}

export function decimal(random: Random, min: number, max: number, scale: number): string {
  return (min + random.next() * (max - min)).toFixed(scale);
}

const dates = new Map<number, string>();

/** `2026-03-14`. Remembered per day: formatting dates is the dearest part of a record. */
export function isoDate(seconds: number): string {
  const day = Math.floor(seconds / 86_400);
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * 86_400_000).toISOString().slice(0, 10);
    dates.set(day, date);
  }
  return date;
}
