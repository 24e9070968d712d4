const { existsSync, readdirSync, statSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const page = path.join('admin', 'page');
/** Compiled apart, and checked in: of it, the build has what both sides read. */
const assembly = path.join('transcoder', 'assembly');
const changedAt = (file) => statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? -1;

/** What a file of `src` becomes in `dist`; none: it becomes nothing of its own. */
function outputsOf(file) {
  if (file.startsWith(page + path.sep)) {
    if (/\.tsx?$/.test(file)) return [path.join(page, 'page.js')];
    if (file.endsWith('.css')) return [path.join(page, 'page.css')];
    return file.endsWith('.html') ? [file] : [];
  }
  if (file.startsWith(assembly + path.sep) && path.basename(file) !== 'layout.ts') return [];
  return file.endsWith('.ts') && !file.endsWith('.d.ts') ? [file.replace(/ts$/, 'js')] : [];
}

/** Of what is made before compiling, one of each kind. An image is built without `docs`. */
const made = ['src/consumer/schemas.ts', ...(existsSync(path.join(root, 'docs')) ? ['docs/errors.md'] : [])];

/** Whether nothing in `src` is newer than what it becomes in `dist`, and the generated files are there. */
module.exports = function isBuilt() {
  if (!made.every((file) => existsSync(path.join(root, file)))) return false;
  const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' });
  return sources.every((source) =>
    outputsOf(source).every(
      (output) => changedAt(path.join('dist', output)) >= changedAt(path.join('src', source)),
    ),
  );
};
