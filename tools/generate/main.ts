import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { exampleFiles, generatedFiles, root } from './generated-files';
import { newSchemaVersions } from './schema-versions';

interface Flags {
  readonly newSchemaVersion?: string;
  readonly record?: true;
}

/** `npm run generate`, the first part of `npm run build`: writes what derives from the code and is not in git. */
new Command('npm run generate --')
  .description("Writes the consumer's types and the reference pages.")
  .option(
    '--new-schema-version <what>',
    'First keeps every schema that has changed as a version; say what changed',
  )
  .option('--record', 'First records new examples, from a run on the simulated API')
  .action(async ({ newSchemaVersion: what, record }: Flags) => {
    if (what !== undefined) write(newSchemaVersions(what));
    if (record) {
      const { recordExamples }: typeof import('./record-examples') = require('./record-examples');
      write(exampleFiles(await recordExamples()));
    }
    write(generatedFiles());
  })
  .parseAsync();

/** Leaves a file as it is if it is the same, for builds that look at times. */
function write(files: ReadonlyMap<string, string>): void {
  for (const [file, text] of files) {
    const full = path.resolve(root, file);
    if (existsSync(full) && readFileSync(full, 'utf8') === text) continue;
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, text);
    process.stdout.write(`${path.relative(root, full)}\n`);
  }
}
