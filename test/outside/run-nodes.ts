import { randomBytes } from 'node:crypto';
import { checkNodes } from './nodes';
import { createResults } from './results';

/** `npm run test:nodes`. */
async function main(): Promise<void> {
  const results = createResults();
  const began = Date.now();
  const prefix = `nodes-${randomBytes(4).toString('hex')}.`;
  try {
    // OpenSSL has other names for some refusals from one version to the next, and reports have other contents.
    const suites = ['test/unit', 'test/contract', 'test/security', 'test/kafka/security'];
    await checkNodes(prefix, suites, results);
  } catch (error) {
    results.fail('Not every version of Node was looked at', [(error as Error).message]);
  }
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  process.stdout.write(`\n${results.passed} passed, ${results.failed} failed in ${seconds} s\n`);
  process.exitCode = results.failed === 0 ? 0 : 1;
}

void main();
