// npm prepares a clone twice: after `npm ci`, and again, in silence, when npx first meets the folder. The second time all is built.
const { spawnSync } = require('node:child_process');
const { readdirSync, statSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const changedAt = (file) => statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs;

const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.d.ts'),
);
const isBuilt = sources.every(
  (file) => changedAt(path.join('dist', file.replace(/ts$/, 'js'))) >= changedAt(path.join('src', file)),
);
if (!isBuilt) {
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: root, stdio: 'inherit', shell: true });
  process.exitCode = status ?? 1;
}
