import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkFlink } from './flink';
import { createResults } from './results';

/** `npm run test:flink`. */
async function main(): Promise<void> {
  const results = createResults();
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-flink-'));
  const began = Date.now();
  try {
    await checkFlink(folder, `flink-${randomBytes(4).toString('hex')}.`, results);
  } catch (error) {
    results.fail('Flink was not looked at to the end', [(error as Error).message]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  process.stdout.write(`\n${results.passed} passed, ${results.failed} failed in ${seconds} s\n`);
  process.exitCode = results.failed === 0 ? 0 : 1;
}

void main();
