import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compiledFile, compileTranscoder, installCompiler } from './compile';

/** `npm run generate:transcoder`: compiles src/transcoder/assembly into src/transcoder/compiled.ts. */
function main(): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-assemblyscript-'));
  try {
    installCompiler(folder);
    const file = path.join(__dirname, '..', '..', 'src', 'transcoder', 'compiled.ts');
    writeFileSync(file, compiledFile(compileTranscoder(folder)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main();
