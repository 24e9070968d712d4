import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();

it('passwords of brokers and registry come from files, without the line break at the end, and are kept out of what is said', () => {
  const passwords = { KAFKA_SASL: ' with blanks \n', SCHEMA_REGISTRY: 'secret\r\n' };
  const env: Record<string, string> = {
    KAFKA_BROKERS: 'broker:9092',
    SCHEMA_REGISTRY_URL: 'http://registry:8081',
  };
  for (const [server, content] of Object.entries(passwords)) {
    const file = path.join(folder(), server);
    writeFileSync(file, content);
    Object.assign(env, { [`${server}_USERNAME`]: 'highwater', [`${server}_PASSWORD_FILE`]: file });
  }
  const config = loadConfig({ flags: {}, env, cwd: folder() }, 'feeds');
  expect(config.kafka!.sasl).toMatchObject({ username: 'highwater', password: ' with blanks ' });
  expect(config.schemaRegistry!.auth).toEqual({ username: 'highwater', password: 'secret' });
  expect(config.secrets).toEqual(expect.arrayContaining([' with blanks ', 'secret']));
});
