// npm prepares a clone twice: after `npm ci`, and again, in silence, when npx first meets the folder. The second time all is built.
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const isBuilt = require('./is-built.cjs');

if (!isBuilt()) {
  const root = path.join(__dirname, '..');
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: root, stdio: 'inherit', shell: true });
  process.exitCode = status ?? 1;
}
