import { createPrivateKey } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config';
import { HighwaterError } from '../../src/errors';
import type { Certificate } from '../../tools/servers/listeners';
import { authority, encrypted } from '../support/certificates';
import { namedRows } from '../support/named-rows';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
let ca: string;
let client: Certificate;
let other: Certificate;
beforeAll(async () => {
  const ours = await authority('ours');
  ca = ours.cert;
  [client, other] = [await ours.sign({ name: 'client' }), await ours.sign({ name: 'other' })];
});

/** Mistakes of the files, by the settings that name them. */
function mistakes(files: Readonly<Record<string, string>>, password?: string): string {
  const cwd = folder();
  mkdirSync(cwd, { recursive: true });
  const env: Record<string, string> = {
    HIGHWATER_API_URL: 'https://api.example.com',
    HIGHWATER_API_TOKEN: 'T0KEN',
    KAFKA_BROKERS: 'broker:9093',
    SCHEMA_REGISTRY_URL: 'http://registry:8081',
    ...(password !== undefined && { KAFKA_SSL_KEY_PASSWORD: password }),
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(path.join(cwd, `${name}.pem`), text);
    env[`KAFKA_SSL_${name.toUpperCase()}_FILE`] = `${name}.pem`;
  }
  try {
    loadConfig({ flags: {}, env, cwd, definitions: [] });
    return '';
  } catch (error) {
    if (!(error instanceof HighwaterError)) throw error;
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', kind: { exit: 2 } });
    return error.message;
  }
}

it.each(['PRIVATE', 'EC PRIVATE'])('certificates and %s keys are taken', (kind) => {
  const { cert, key } = client;
  const text = kind === 'PRIVATE' ? key : createPrivateKey(key).export({ type: 'sec1', format: 'pem' });
  expect(mistakes({ ca, cert, key: String(text) })).toBe('');
});

it('an encrypted key is opened by its password, in either form', () => {
  const { cert, key } = client;
  expect(mistakes({ cert, key: encrypted(key, 'pass-0815') }, 'pass-0815')).toBe('');
  const legacy = createPrivateKey(key).export({
    type: 'sec1',
    format: 'pem',
    cipher: 'aes-128-cbc',
    passphrase: 'pass-0815',
  });
  expect(mistakes({ cert, key: String(legacy) }, 'pass-0815')).toBe('');
  expect(mistakes({ cert, key: String(legacy) }, 'pass-4711')).toMatch(
    /^ {2}kafkaSslKeyPassword \(KAFKA_SSL_KEY_PASSWORD\): does not open the key in KAFKA_SSL_KEY_FILE$/m,
  );
});

it('several authorities may be in one file, with words in between', async () => {
  const { cert } = await authority('another');
  expect(mistakes({ ca: `ours\n${ca}\nanother\n${cert}` })).toBe('');
});

describe('what a file or a password lacks is named by its setting, and no secret is shown', () => {
  it.each(
    namedRows<[() => readonly [Readonly<Record<string, string>>, string?], string]>({
      'no PEM': [
        () => [{ ca: 'DER or a page of HTML' }],
        'kafkaSslCaFile (KAFKA_SSL_CA_FILE): the file "ca.pem" holds no certificate in PEM (-----BEGIN CERTIFICATE-----)',
      ],
      'a certificate that was cut off': [
        () => [{ ca: ca.replace(/(BEGIN CERTIFICATE-----\s+.{40})[\s\S]*?(-----END)/, '$1\n$2') }],
        'kafkaSslCaFile (KAFKA_SSL_CA_FILE): the file "ca.pem" holds a certificate that cannot be read, number 1 (',
      ],
      'a key in place of a certificate': [
        () => [{ cert: client.key, key: client.key }],
        'kafkaSslCertFile (KAFKA_SSL_CERT_FILE): the file "cert.pem" holds no certificate in PEM',
      ],
      'a certificate in place of a key': [
        () => [{ cert: client.cert, key: client.cert }],
        'kafkaSslKeyFile (KAFKA_SSL_KEY_FILE): the file "key.pem" holds no private key in PEM',
      ],
      'a damaged key': [
        () => [{ cert: client.cert, key: client.key.replace(/^M.{20}/m, 'AAAA') }],
        'kafkaSslKeyFile (KAFKA_SSL_KEY_FILE): the file "key.pem" holds a private key that cannot be read (',
      ],
      'the key of another certificate': [
        () => [{ cert: client.cert, key: other.key }],
        'kafkaSslKeyFile (KAFKA_SSL_KEY_FILE): the file "key.pem" is not the key of the certificate in KAFKA_SSL_CERT_FILE',
      ],
      'a wrong password': [
        () => [{ cert: client.cert, key: encrypted(client.key, 'pass-0815') }, 'pass-4711'],
        'kafkaSslKeyPassword (KAFKA_SSL_KEY_PASSWORD): does not open the key in KAFKA_SSL_KEY_FILE',
      ],
      'no password': [
        () => [{ cert: client.cert, key: encrypted(client.key, 'pass-0815') }],
        'kafkaSslKeyPassword: is not set, expected KAFKA_SSL_KEY_PASSWORD, since the key in KAFKA_SSL_KEY_FILE is encrypted',
      ],
    }),
  )('%s', (_, files, expected) => {
    const [given, password] = files();
    const said = mistakes(given, password);
    expect(said).toContain(expected);
    expect(said.split('\n')).toHaveLength(2);
    expect(said).not.toMatch(/pass-|MI[A-Z]/);
  });
});
