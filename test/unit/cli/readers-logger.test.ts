import { readersLogger } from '../../../src/cli/log/open-log';
import type { Config } from '../../../src/config/load-config';

it('a warning of the log tells the person at a command why and what to do, without secrets', () => {
  const said: string[] = [];
  const config = { log: { level: 'info', format: 'pretty' }, secrets: ['hunter22'] } as unknown as Config;
  const logging = { stream: process.stderr, color: false };
  const logger = readersLogger(config, { logging, note: (text) => void said.push(text) });
  logger.warn('It is tried again.', { why: 'hunter22 is refused.', remedy: 'Start one.', topic: 't' });
  logger.info('Reading t succeeds again.');
  expect(said).toEqual([
    'highwater: It is tried again. Why: [redacted] is refused. Start one.\n',
    'highwater: Reading t succeeds again.\n',
  ]);
});
