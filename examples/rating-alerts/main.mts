// Calls on the symbols of a watch list: upgrades, downgrades, initiations, price targets that moved, and corrections of these.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Big } from 'big.js';
import { connect } from 'highwater/consumer';
import { alertOf } from './alert.mts';
import { alertLine } from './terminal.mts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { file: { type: 'string' }, 'more-than': { type: 'string', default: '1.00' } },
});
const listed = values.file === undefined ? '' : readFileSync(values.file, 'utf8').replace(/#.*/g, '');
const symbols = [...positionals, ...listed.split(/[\s,]+/)].filter((symbol) => symbol !== '');
if (symbols.length === 0) {
  console.error('usage: main.mts [SYMBOL…] [--file watch-list.txt] [--more-than 1.00]');
  process.exit(2);
}
const moreThan = new Big(values['more-than']);

const log = connect();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void log.close());
console.error(
  `Watching ${symbols.length} symbols, price targets that move by more than ${moreThan.toFixed(2)}. Ctrl-C ends it.`,
);

// The symbol is a header: a call on any other one is dropped before it is decoded.
await log.consume(
  { group: 'rating-alerts', topics: ['insights.rating-changes'], where: { symbol: symbols } },
  ({ value }) => {
    const alert = alertOf(value, moreThan);
    if (alert !== null) console.log(alertLine(alert));
  },
);
