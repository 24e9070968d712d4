import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Counts the checks, and prints a line for each on stdout. */
export interface Results {
  readonly passed: number;
  readonly failed: number;
  ok(what: string): void;
  /** @param details lines below it */
  fail(what: string, details?: readonly string[]): void;
  check(isSo: boolean, what: string, details?: readonly string[]): void;
}

export function createResults(
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Results {
  let passed = 0;
  let failed = 0;
  return {
    get passed() {
      return passed;
    },
    get failed() {
      return failed;
    },
    ok(what) {
      passed++;
      write(`  ok    ${what}\n`);
    },
    fail(what, details = []) {
      failed++;
      write(
        `  FAIL  ${what}\n${details
          .flatMap((text) => text.split('\n'))
          .map((line) => `        ${line}\n`)
          .join('')}`,
      );
    },
    check(isSo, what, details) {
      if (isSo) this.ok(what);
      else this.fail(what, details);
    },
  };
}

/**
 * Makes the checks of a program in a folder of their own, prints how many passed, and sets the exit code.
 * @param unfinished what fails if `work` throws
 */
export async function runChecks(
  unfinished: string,
  work: (results: Results, folder: string) => Promise<void>,
): Promise<void> {
  const results = createResults();
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-outside-'));
  const began = Date.now();
  try {
    await work(results, folder);
  } catch (error) {
    results.fail(unfinished, [(error as Error).message]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  process.stdout.write(`\n${results.passed} passed, ${results.failed} failed in ${seconds} s\n`);
  process.exitCode = results.failed === 0 ? 0 : 1;
}
