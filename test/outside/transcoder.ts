import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  compiledFile,
  compilerPackages,
  compileTranscoder,
  installCompiler,
} from '../../tools/transcoder/compile';
import { root } from '../support/build';
import { cacheFolder } from './cache-folder';
import type { Step } from './run';

/** Nobody can read the compiled module, so the test compiles its sources and compares the bytes. */
export const compiledTranscoder: Step = {
  name: 'the compiled transcoder is what AssemblyScript makes of its sources',
  async run() {
    const folder = await cacheFolder('assemblyscript', compilerPackages, async (empty) =>
      installCompiler(empty),
    );
    const checkedIn = readFileSync(path.join(root, 'src', 'transcoder', 'compiled.ts'), 'utf8');
    if (compiledFile(compileTranscoder(folder)) !== checkedIn)
      throw new Error('src/transcoder/compiled.ts is another: run `npm run generate:transcoder`');
  },
};
