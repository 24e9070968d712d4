import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { asyncapiFile } from './asyncapi-file';
import { benchmark } from './bench';
import { composeFile } from './compose-file';
import { exportsInDuckDb } from './duckdb';
import { exactlyOncePostgres } from './exactly-once-postgres';
import { dockerfileStyle } from './hadolint';
import { httpExamples } from './http-examples';
import { kubernetesManifests } from './kubernetes';
import { checkNodes } from './nodes';
import { checkOtherLanguages } from './other-languages';
import { packageElsewhere } from './package-elsewhere';
import { checkPage } from './page';
import { alertRules, scrapeConfig } from './promtool';
import { createResults } from './results';
import { systemdInstallation, systemdUnit } from './systemd';
import { compiledTranscoder } from './transcoder';

/** One thing to look at. */
export interface Step {
  /** The statement that holds if it passes. */
  readonly name: string;
  /** @throws Error when it is not so */
  run(): Promise<void>;
}

/** `npm run test:outside`: other programs on the project's output. */
async function main(): Promise<void> {
  const results = createResults();
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-outside-'));
  const began = Date.now();
  const prefix = () => `outside-${randomBytes(4).toString('hex')}.`;
  const nodes: Step = {
    name: 'the program was run on other versions of Node',
    // The line of the image.
    run: () => checkNodes(prefix(), ['test/unit', 'test/contract'], results, [24]),
  };
  const readers: Step = {
    name: 'every topic was read by programs in other languages',
    run: () => checkOtherLanguages(folder, prefix(), results),
  };
  const page: Step = {
    name: 'the dashboard was looked at in a browser',
    run: () => checkPage(folder, results),
  };
  try {
    for (const { name, run } of [
      composeFile,
      dockerfileStyle,
      kubernetesManifests,
      systemdUnit,
      scrapeConfig,
      asyncapiFile,
      alertRules,
      compiledTranscoder,
      packageElsewhere,
      systemdInstallation,
      exactlyOncePostgres,
      benchmark,
      exportsInDuckDb,
      httpExamples,
      page,
      nodes,
      readers,
    ]) {
      await run().then(
        () => results.ok(name),
        (error: Error) => results.fail(`not so: ${name}`, [error.message]),
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  process.stdout.write(`\n${results.passed} passed, ${results.failed} failed in ${seconds} s\n`);
  process.exitCode = results.failed === 0 ? 0 : 1;
}

void main();
