// Loaded before a program (NODE_OPTIONS=--require): tells the file of TIMER_WATCH_FILE, a line of JSON each, of every timer
// that is set to a time in the past, and once a second how many were set in it and how long the process computed, in ms.
const { appendFileSync } = require('node:fs');

// And it takes away `process.exit`, so that a program that leaves a connection or a timer behind does not end.
process.exit = () => undefined;

const file = process.env.TIMER_WATCH_FILE;
const { setTimeout: set, setInterval: repeat } = globalThis;
const shown = 20;
let count = 0;
let past = 0;

const tell = (line) => appendFileSync(file, `${JSON.stringify(line)}\n`);

globalThis.setTimeout = Object.assign((...given) => {
  count++;
  if (given[1] < 0 && past++ < shown) tell({ past: given[1], stack: new Error('set here').stack });
  return set(...given);
}, set);

let usage = process.cpuUsage();
repeat(() => {
  const { user, system } = process.cpuUsage(usage);
  usage = process.cpuUsage();
  tell({ timers: count, cpuMs: (user + system) / 1_000 });
  count = 0;
}, 1_000).unref();
