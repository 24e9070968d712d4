import { createRedactor } from '../../src/secrets/redaction';
import { everySpelling, findSecrets, markedSecret } from '../support/marked-secrets';

const secrets = [markedSecret('token'), markedSecret('password', ` /+"%&=?\\<~'é!#.,:;()[]{}|^\`@$*_-`)];

describe('redaction', () => {
  it.each(secrets.map((secret) => [secret.name, secret] as const))(
    'finds a %s in every spelling, and leaves the text around it',
    (_, secret) => {
      const redact = createRedactor([secret.value]);
      const missed = everySpelling(secret.value).filter((written) => {
        const clean = redact(`before ${written} after`);
        const found = findSecrets([secret], [{ name: 'here', content: clean }]);
        return found.length > 0 || !/^before .*\[redacted\].* after$/s.test(clean);
      });
      expect(missed).toStrictEqual([]);
    },
  );

  it.each(['a-plain-password', '/token', "'token", '???token'])(
    'gets to the end of a long run of backslashes (%s)',
    (secret) => {
      const text = '\\'.repeat(100_000);
      expect(createRedactor([secret])(text)).toBe(text);
    },
  );

  it.each([300, 4_000, 60_000])('finds a token of %i characters, such as a JWT', (length) => {
    const token = Array.from({ length }, (_, i) => 'ab-cD_9.'[(i * i + (i >> 3)) % 8]).join('');
    const redact = createRedactor([token]);
    const basic = Buffer.from(`user:${token}`).toString('base64');
    const lines = basic.replace(/(.{76})/g, '$1\r\n');
    const written = [
      token,
      `"token":"${token}"`,
      JSON.stringify(`${token}"`),
      basic,
      lines,
      token.slice(0, 200),
    ];
    for (const one of written) {
      const clean = redact(`before ${one} after`);
      expect(clean).toMatch(/^before .*\[redacted\].* after$/s);
      expect(clean.length).toBeLessThan(60);
    }
  });

  it('leaves lines alone that only begin like a secret', () => {
    const text = 'Wq\nvX\\nkZ&apos;7p\\x27\r\n fR';
    expect(createRedactor(secrets.map(({ value }) => value))(text)).toBe(text);
  });
});
