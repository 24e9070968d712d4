import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { generatedFiles, root, staleFiles } from './generated-files';

/** `npm run generate`: writes what derives from the feeds and their schemas. */
const files = generatedFiles();
for (const file of staleFiles(files)) {
  const full = path.join(root, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, files.get(file)!);
  process.stdout.write(`${file}\n`);
}
