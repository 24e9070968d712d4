// npx makes the command executable when it first meets a folder, and never again: not after `dist/` was removed, nor in a clone that
// took the place of another.
const { chmodSync } = require('node:fs');
const { bin } = require('../package.json');

for (const file of Object.values(bin)) chmodSync(file, 0o755);
