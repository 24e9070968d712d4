import { environmentSecrets } from '../../src/config/raw-settings';
import { addressPasswords, proxyPasswords } from '../../src/secrets/proxy-passwords';

it.each([
  ['http://me:p%40ss@proxy:3128', ['p%40ss', 'p@ss']],
  ['me:p%40ss@proxy:3128', ['p%40ss', 'p@ss']],
  ['//me:pass@proxy', ['pass']],
  ['http://me:p@ss@proxy', ['p@ss', 'p%40ss']],
  ['http://me:pass@proxy:not-a-port', ['pass']],
  ['http://a-token-of-a-proxy@proxy', ['a-token-of-a-proxy']],
  ['http://me@proxy', []],
  ['http://proxy:3128', []],
  ['', []],
])('in the address %j there are the passwords %j', (address, passwords) => {
  expect(addressPasswords(address)).toEqual(passwords);
});

it('takes the passwords of all proxies, and nothing of other variables', () => {
  const env = {
    HTTPS_PROXY: 'http://a:one@x',
    http_proxy: 'b:two@x',
    ALL_PROXY: undefined,
    OTHER: 'http://c:three@x',
  };
  expect(proxyPasswords(env)).toEqual(['one', 'two']);
});

it('takes all secrets of an environment that are no part of ordinary words, also those that are wrong, and passwords in addresses', () => {
  const found = environmentSecrets({
    HIGHWATER_API_TOKEN: 'a to b',
    HIGHWATER_HTTP_TOKEN: 'cccc',
    KAFKA_SASL_PASSWORD: 'dddd\n',
    KAFKA_SSL_KEY_PASSWORD: 'eee',
    SCHEMA_REGISTRY_PASSWORD: 'ffff',
    HIGHWATER_API_URL: 'http://me:g@api',
    KAFKA_BROKERS: 'me:h@kafka:9092',
    SCHEMA_REGISTRY_URL: 'http://me:i@registry',
    HTTP_PROXY: 'http://me:j@proxy',
    HIGHWATER_DATA_DIR: '/k:l@m',
  });
  expect([...new Set(found)].sort()).toEqual([
    'a to b',
    'cccc',
    'dddd',
    'dddd\n',
    'ffff',
    'g',
    'h',
    'i',
    'j',
  ]);
});
