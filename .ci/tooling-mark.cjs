// Tells whether the test tooling is what its own tests last passed on: exit code 0 if so. `write` makes the mark for what is here
// now; `npm run test:tooling` does so when all have passed. The mark is committed, so that CI runs those tests only for a change
// of the tooling that came without them.
const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const mark = path.join(root, 'test', 'tooling', 'passed');
const folders = ['bench', 'test/faults', 'test/support', 'test/tooling', 'tools/servers'];

const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...folders];
const files = execFileSync('git', listed, { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((name) => name !== '' && name !== path.relative(root, mark) && existsSync(path.join(root, name)))
  .sort();
const hash = createHash('sha256');
for (const name of files) hash.update(`${name}\n`).update(readFileSync(path.join(root, name)));
const digest = `${hash.digest('hex')}\n`;

if (process.argv[2] === 'write') {
  writeFileSync(mark, digest);
} else if (readFileSync(mark, 'utf8') === digest) {
  console.log('unchanged since they passed');
} else {
  process.exitCode = 1;
}
