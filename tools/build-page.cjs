// The dashboard's page, bundled into dist/admin/page: what a browser is given, and the licences of what is in it.
const { copyFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { buildSync } = require('esbuild');

const root = path.join(__dirname, '..');
const source = path.join(root, 'src', 'admin', 'page');
const target = path.join(root, 'dist', 'admin', 'page');

mkdirSync(target, { recursive: true });
const { metafile } = buildSync({
  absWorkingDir: root,
  entryPoints: [
    { in: path.join(source, 'main.tsx'), out: 'page' },
    { in: path.join(source, 'page.css'), out: 'page' },
  ],
  tsconfig: path.join(source, 'tsconfig.json'),
  outdir: target,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
copyFileSync(path.join(source, 'index.html'), path.join(target, 'index.html'));

const bundled = Object.keys(metafile.inputs).flatMap(
  (file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [],
);
const licences = [...new Set(bundled)].sort().map((name) => {
  const folder = path.join(root, 'node_modules', name);
  const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return `${name} ${version}\n\n${readFileSync(path.join(folder, 'LICENSE'), 'utf8').trim()}\n`;
});
writeFileSync(path.join(target, 'licences.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`));
