import { inspect } from 'node:util';
import { findSecrets, markedSecret } from '../../support/marked-secrets';

const [token, password] = [markedSecret('token'), markedSecret('password')];
const found = (content: string | Buffer) =>
  findSecrets([token, password], [{ name: 'here', content }]).map(({ secret }) => secret);
const { value } = token;
const bytes = Buffer.from(value);

const written: Readonly<Record<string, string | Buffer>> = {
  plain: `before ${value} after`,
  'as bytes of a file': Buffer.concat([Buffer.from([0, 255, 200]), bytes, Buffer.from([0])]),
  'in small letters': value.toLowerCase(),
  'percent-encoded': `/x?token=${encodeURIComponent(value)}`,
  'percent-encoded with small letters': `/x?token=${encodeURIComponent(value).toLowerCase()}`,
  'percent-encoded twice': `/login?to=${encodeURIComponent(`/x?token=${encodeURIComponent(value)}`)}`,
  'percent-encoded throughout': Array.from(bytes, (byte) => `%${byte.toString(16)}`).join(''),
  'of a form': new URLSearchParams({ token: value }).toString(),
  'as the user of an address': Object.assign(new URL('http://host'), { password: value }).href,
  'of JSON': JSON.stringify({ value }),
  'of JSON with slashes escaped': JSON.stringify({ value }).replaceAll('/', '\\/'),
  'of JSON in JSON': JSON.stringify(JSON.stringify({ value })),
  'as Node prints it': inspect({ value }),
  'of HTML': value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;'),
  'broken into lines': value.replace(/.{4}/g, '$&\r\n '),
  'base64 broken into lines': Buffer.from(`me:${value}`).toString('base64').replace(/.{5}/g, '$&\n'),
  'base64 broken into lines in JSON': JSON.stringify(bytes.toString('base64').replace(/.{5}/g, '$&\r\n')),
  base64: bytes.toString('base64'),
  'base64 behind a user': Buffer.from(`me:${value}`).toString('base64'),
  'base64 behind another user': Buffer.from(`you:${value}:x`).toString('base64'),
  'base64 behind a third': Buffer.from(`user:${value}`).toString('base64'),
  'base64 for addresses': Buffer.from(`me:${value}`).toString('base64url'),
  'base64 in an address': encodeURIComponent(Buffer.from(`me:${value}`).toString('base64')),
  'base64 of an address': Buffer.from(`/x?token=${encodeURIComponent(value)}&a`).toString('base64'),
  'base64 in JSON with slashes escaped': bytes.toString('base64').replaceAll('/', '\\/'),
  'cut at its end': `token=${value.slice(0, -4)}`,
  'cut at its beginning': value.slice(6),
  'cut and in base64': Buffer.from(`x${value}`).toString('base64').slice(0, 18),
};

it.each(Object.entries(written))('finds a secret %s, and no other', (_, content) => {
  expect(found(content)).toEqual(['token']);
});

it('finds nothing where there is nothing, and each of several secrets', () => {
  expect(found(`token=[redacted] ${JSON.stringify({ password: '…' })} QUJDREVG`)).toStrictEqual([]);
  expect(found(`${password.value} ${value}`)).toEqual(['token', 'password']);
});
