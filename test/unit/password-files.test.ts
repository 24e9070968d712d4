import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const base = {
  HIGHWATER_API_URL: 'https://api.example.com',
  HIGHWATER_API_TOKEN: 'T0KEN',
  KAFKA_BROKERS: 'broker:9092',
  KAFKA_SASL_USERNAME: 'highwater',
  SCHEMA_REGISTRY_URL: 'http://registry:8081',
  SCHEMA_REGISTRY_USERNAME: 'highwater',
};

function load(env: Readonly<Record<string, string>>) {
  return loadConfig({ flags: {}, env: { ...base, ...env }, cwd: folder() });
}

function file(name: string, content: string): string {
  const written = path.join(folder(), name);
  writeFileSync(written, content);
  return written;
}

describe('passwords in files', () => {
  it('are those of the brokers and of the registry, without the line break at the end, and are kept out of what is said', () => {
    const config = load({
      KAFKA_SASL_PASSWORD_FILE: file('sasl', ' with blanks \n'),
      SCHEMA_REGISTRY_PASSWORD_FILE: file('registry', 'secret\r\n'),
    });
    expect(config.kafka!.sasl).toMatchObject({ username: 'highwater', password: ' with blanks ' });
    expect(config.schemaRegistry!.auth).toEqual({ username: 'highwater', password: 'secret' });
    expect(config.secrets).toEqual(expect.arrayContaining([' with blanks ', 'secret']));
  });

  it('give way to what is set nearer to the command line', () => {
    writeFileSync(
      path.join(folder(), 'highwater.yaml'),
      `kafkaSaslPasswordFile: ${file('sasl', 'of the file')}\nschemaRegistryPassword: of the settings\n`,
    );
    const config = load({
      KAFKA_SASL_PASSWORD: 'of the environment',
      SCHEMA_REGISTRY_PASSWORD_FILE: file('registry', 'of another file'),
    });
    expect(config.kafka!.sasl!.password).toBe('of the environment');
    expect(config.schemaRegistry!.auth!.password).toBe('of another file');
  });

  it.each([
    ['missing', { KAFKA_SASL_PASSWORD_FILE: './none' }, 'the file "./none" cannot be read (ENOENT)'],
    [
      'set twice',
      { KAFKA_SASL_PASSWORD_FILE: './none', KAFKA_SASL_PASSWORD: 'secret' },
      'is set twice, expected a password or a file of one',
    ],
  ])('are one mistake and no more when %s', (_, env, problem) => {
    const wrong = () => load({ ...env, SCHEMA_REGISTRY_PASSWORD: 'secret' } as Record<string, string>);
    expect(wrong).toThrow(problem);
    expect(wrong).toThrow('One setting is wrong');
    expect(wrong).not.toThrow(/: secret/);
  });

  it('is a mistake when empty', () => {
    const wrong = () =>
      load({ KAFKA_SASL_PASSWORD_FILE: file('sasl', '\n'), SCHEMA_REGISTRY_PASSWORD: 'secret' });
    expect(wrong).toThrow('is empty');
  });
});
