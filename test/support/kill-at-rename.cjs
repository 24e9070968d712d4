// Loaded before a program (NODE_OPTIONS=--require): kills it before the rename of that number (KILL_AT_RENAME, from 1).
const fs = require('node:fs');

const { renameSync } = fs;
let left = Number(process.env.KILL_AT_RENAME);

fs.renameSync = (...given) => {
  if (--left === 0) process.kill(process.pid, 'SIGKILL');
  renameSync(...given);
};
