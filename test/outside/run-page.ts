import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkPage } from './page';
import { createResults } from './results';

/** `npm run test:page`: only the dashboard's page. */
async function main(): Promise<void> {
  const results = createResults();
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-page-'));
  try {
    await checkPage(folder, results);
  } catch (error) {
    results.fail('the page was looked at', [(error as Error).message]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`\n${results.passed} passed, ${results.failed} failed\n`);
  process.exitCode = results.failed === 0 ? 0 : 1;
}

void main();
