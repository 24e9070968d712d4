import { randomBytes } from 'node:crypto';
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
import { runChecks } from './results';
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
void runChecks('the steps were looked at to the end', async (results, folder) => {
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
});
