import { randomBytes } from 'node:crypto';
import { checkFlink } from './flink';
import { runChecks } from './results';

/** `npm run test:flink`. */
void runChecks('Flink was not looked at to the end', (results, folder) =>
  checkFlink(folder, `flink-${randomBytes(4).toString('hex')}.`, results),
);
