import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { asyncapi } from './asyncapi';
import { configReference } from './config-reference';
import { consumerTypes } from './consumer-types';
import { errorsPage } from './errors-page';
import type { EventExample } from './event-examples';
import { exampleFile } from './event-examples';
import { eventPages } from './event-pages';
import { metricsPage } from './metrics-page';

export const root = path.join(__dirname, '..', '..');

/** What `npm run build` makes before it compiles: paths in the repository → texts. An image is built without `docs`. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const types = ['src/consumer/schemas.ts', consumerTypes()] as const;
  if (!existsSync(path.join(root, 'docs'))) return new Map([types]);
  return new Map([
    types,
    ['docs/configuration.md', configReference()],
    ['docs/errors.md', errorsPage()],
    ['docs/metrics.md', metricsPage()],
    ['docs/asyncapi.yaml', asyncapi()],
    ...eventPages(),
  ]);
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
