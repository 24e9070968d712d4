import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { asyncapi } from './asyncapi';
import type { EventExample } from './event-examples';
import { exampleFile } from './event-examples';
import { eventPages } from './event-pages';

export const root = path.join(__dirname, '..', '..');

/** What `npm run generate` writes: paths in the repository → texts. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([['docs/asyncapi.yaml', formatted('docs/asyncapi.yaml', asyncapi())], ...eventPages()]);
}

/** What `npm run generate -- --record` writes before that. */
export function exampleFiles(examples: readonly EventExample[]): ReadonlyMap<string, string> {
  return new Map(
    examples.map((example) => {
      const file = exampleFile(example.type);
      return [file, formatted(file, JSON.stringify(example, null, 2))];
    }),
  );
}

/** Those of them that are not as they would be written. */
export function staleFiles(files = generatedFiles()): string[] {
  return [...files].filter(([file, text]) => checkedIn(file) !== text).map(([file]) => file);
}

function checkedIn(file: string): string | null {
  const full = path.resolve(root, file);
  return existsSync(full) ? readFileSync(full, 'utf8') : null;
}

/** As `npm run format` would leave it. */
function formatted(file: string, text: string): string {
  const biome = path.join(root, 'node_modules', '.bin', 'biome');
  const args = ['format', `--stdin-file-path=${file}`];
  const options = { cwd: root, input: text, encoding: 'utf8' } as const;
  const { status, stdout, stderr, error } = spawnSync(biome, args, options);
  if (error) throw error;
  if (status !== 0) throw new Error(`biome could not format ${file}: ${stderr}`);
  return stdout;
}
