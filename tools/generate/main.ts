import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { exampleFiles, generatedFiles, root, staleFiles } from './generated-files';
import { recordExamples } from './record-examples';
import { newSchemaVersions } from './schema-versions';

interface Flags {
  readonly newSchemaVersion?: string;
  readonly record?: true;
}

/** `npm run generate`: writes what derives from the feeds and their schemas. */
new Command('npm run generate --')
  .description('Writes docs/asyncapi.yaml and docs/events.')
  .option(
    '--new-schema-version <what>',
    'First keeps every schema that has changed as a version; say what changed',
  )
  .option('--record', 'First records new examples, from a run on the simulated API')
  .action(async ({ newSchemaVersion: what, record }: Flags) => {
    if (what !== undefined) write(newSchemaVersions(what));
    if (record) write(exampleFiles(await recordExamples()));
    write(generatedFiles());
  })
  .parseAsync();

function write(files: ReadonlyMap<string, string>): void {
  for (const file of staleFiles(files)) {
    const full = path.resolve(root, file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, files.get(file)!);
    process.stdout.write(`${path.relative(root, full)}\n`);
  }
}
