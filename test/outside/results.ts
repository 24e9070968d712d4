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
