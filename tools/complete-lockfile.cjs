// Adds to package-lock.json what npm leaves out and `npm ci` then misses: packages for other platforms that a dependency
// names as optional, but that the registry in use does not have. With os and cpu they are never installed elsewhere.
// usage: npm run lockfile, after each change of dependencies
const { readFileSync, writeFileSync } = require('node:fs');

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const systems = [
  'darwin',
  'linux',
  'win32',
  'android',
  'freebsd',
  'openbsd',
  'netbsd',
  'sunos',
  'aix',
  'openharmony',
];
const processors = [
  'arm64',
  'x64',
  'ia32',
  'arm',
  's390x',
  'ppc64',
  'riscv64',
  'loong64',
  'mips64el',
  'wasm32',
];

for (const [at, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (lock.packages[`${at}/node_modules/${name}`] ?? lock.packages[`node_modules/${name}`]) continue;
    lock.packages[`node_modules/${name}`] = {
      version: range.replace(/^[^\d]*/, ''),
      cpu: [processors.find((cpu) => name.includes(cpu)) ?? 'none'],
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
      os: [systems.find((os) => name.includes(os)) ?? 'none'],
    };
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
