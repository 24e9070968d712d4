import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const sources = path.join(__dirname, '..', '..', 'src', 'transcoder', 'assembly');

/** They pin the compiler: another version may make other bytes. */
export const compilerPackages = ['package.json', 'package-lock.json'].map((file) =>
  path.join(__dirname, file),
);

/** No runtime, for nothing is allocated; no import of `abort`, for nothing is thrown. */
const OPTIONS = ['-O3', '--runtime', 'stub', '--enable', 'simd', '--noAssert', '--use', 'abort='];

/** What the compiled module was made of: tells without the compiler that it is to be made again. */
export function sourcesDigest(): string {
  const digest = createHash('sha256').update(OPTIONS.join(' '));
  const files = readdirSync(sources).sort();
  for (const file of [...compilerPackages, ...files.map((name) => path.join(sources, name))]) {
    digest.update(path.basename(file)).update(readFileSync(file));
  }
  return digest.digest('hex');
}

/** Puts the compiler into an empty folder: a hundred megabytes that nothing else needs. */
export function installCompiler(folder: string): void {
  for (const file of compilerPackages) copyFileSync(file, path.join(folder, path.basename(file)));
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const options = { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' } as const;
  const { status, stdout, stderr, error } = spawnSync('npm', args, options);
  if (error) throw error;
  if (status !== 0) throw new Error(`AssemblyScript could not be installed:\n${stdout}${stderr}`);
}

/**
 * Compiles the sources.
 * @param compiler a folder with the compiler
 */
export function compileTranscoder(compiler: string): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-transcoder-'));
  try {
    const output = path.join(folder, 'transcoder.wasm');
    const asc = path.join(compiler, 'node_modules', 'assemblyscript', 'bin', 'asc.js');
    const args = [asc, 'index.ts', ...OPTIONS, '--outFile', output];
    const { status, stderr, error } = spawnSync(process.execPath, args, { cwd: sources, encoding: 'utf8' });
    if (error) throw error;
    if (status !== 0) throw new Error(`src/transcoder/assembly does not compile:\n${stderr}`);
    return readFileSync(output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The text of src/transcoder/compiled.ts. */
export function compiledFile(module: Buffer): string {
  const lines = module.toString('base64').match(/.{1,96}/g) ?? [];
  return `// Made by \`npm run generate:transcoder\` from src/transcoder/assembly: change that, not this.

/** WebAssembly as base64, and the digest of what it was made of (\`tools/transcoder/compile.ts\`). */
export const COMPILED = {
  sources: '${sourcesDigest()}',
  code: [
${lines.map((line) => `    '${line}',`).join('\n')}
  ].join(''),
};
`;
}
