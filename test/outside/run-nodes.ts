import { randomBytes } from 'node:crypto';
import { checkNodes } from './nodes';
import { runChecks } from './results';

/** OpenSSL has other names for some refusals from one version to the next, and reports have other contents. */
const suites = ['test/unit', 'test/contract', 'test/security', 'test/kafka/security'];

/** `npm run test:nodes`. */
void runChecks('Not every version of Node was looked at', (results) =>
  checkNodes(`nodes-${randomBytes(4).toString('hex')}.`, suites, results),
);
