import { Writable } from 'node:stream';
import { HighwaterError } from '../../src/errors';
import { createLogger, type LoggerOptions } from '../../src/logging/logger';
import { wantsColor } from '../../src/logging/wants-color';
import { createRedactor } from '../../src/secrets/redaction';

function logger(options: Partial<LoggerOptions> = {}) {
  let text = '';
  const stream = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  const created = createLogger({ level: 'debug', format: 'json', secrets: [], stream, ...options });
  return { ...created, text: () => text, line: () => JSON.parse(text) as Record<string, unknown> };
}

describe('redaction', () => {
  const secret = 'p?ss/w+rd &"é~';
  const redact = createRedactor([secret, 'plain-key']);

  it.each([
    ['plain', secret],
    ['percent-encoded', encodeURIComponent(secret)],
    ['in a query', new URLSearchParams({ x: secret }).toString().slice(2)],
    ['encoded with small letters', encodeURIComponent(secret).toLowerCase()],
    ['encoded in part', encodeURI(secret)],
    ['in JSON', JSON.stringify(secret).slice(1, -1)],
    ['in ASCII JSON', JSON.stringify(secret).slice(1, -1).replace('é', '\\u00e9').replace('/', '\\/')],
    ['in HTML', secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
    ['percent-encoded twice', encodeURIComponent(encodeURIComponent(secret))],
    ['in JSON inside JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ['percent-encoded, then base64', Buffer.from(`a=${encodeURIComponent(secret)}&b`).toString('base64')],
    ['base64 in an address', encodeURIComponent(Buffer.from(secret).toString('base64'))],
    ['base64', Buffer.from(secret).toString('base64')],
    ['base64url', Buffer.from(secret).toString('base64url')],
    ['base64 behind a user', Buffer.from(`me:${secret}`).toString('base64')],
    ['base64 behind another user', Buffer.from(`you:${secret}:x`).toString('base64')],
    ['base64 behind a third', Buffer.from(`she:${secret}`).toString('base64url')],
  ])('finds a secret %s', (_, written) => {
    const clean = redact(`before ${written} after`);
    expect(clean).toMatch(/^before .*\[redacted\].* after$/);
    expect(clean).not.toContain(written);
    for (const part of ['p?ss', 'ss/w', 'ss%2', 'w+rd', 'w%2Brd', 'P3NzL']) expect(clean).not.toContain(part);
  });

  it('takes away the value of any token parameter, cut or not', () => {
    expect(redact('GET /x?a=1&token=abc&b=2')).toBe('GET /x?a=1&token=[redacted]&b=2');
    expect(redact('url=%252Fx%253Ftoken%253Dabc')).toBe('url=%252Fx%253Ftoken%253D[redacted]');
    expect(redact('url=%2Fx%3Ftoken%3Dabc')).toBe('url=%2Fx%3Ftoken%3D[redacted]');
    expect(redact('"/x?token=plain-key"')).toBe('"/x?token=[redacted]"');
  });

  it('leaves everything else alone', () => {
    const text = 'analysts: 12 rows, tokens=3, {"a":[1,"b"]}';
    expect(redact(text)).toBe(text);
    expect(createRedactor([])(text)).toBe(text);
    expect(createRedactor([''])(text)).toBe(text);
  });

  it('takes the longer of two secrets that begin alike', () => {
    expect(createRedactor(['abc', 'abcdef'])('abcdef abc')).toBe('[redacted] [redacted]');
  });
});

describe('the logger', () => {
  it('writes what its level asks for', () => {
    const at = logger({ level: 'warn' });
    at.error('a');
    at.warn('b');
    at.info('c');
    at.debug('d');
    expect(
      at
        .text()
        .split('\n')
        .map((line) => line.match(/"message":"(.)"/)?.[1]),
    ).toEqual(['a', 'b', undefined]);
  });

  it('writes JSON: one object a line, facts beside the message', () => {
    const at = logger();
    at.info('read page', {
      feed: 'ipos',
      rows: 3,
      message: 'mine',
      at: new Date(0),
      long: 12n,
      text: 'a\nb',
    });
    expect(at.line()).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'info',
      message: 'read page',
      feed: 'ipos',
      rows: 3,
      message_: 'mine',
      at: '1970-01-01T00:00:00.000Z',
      long: '12',
      text: 'a\nb',
    });
    expect(at.text().match(/\n/g)).toHaveLength(1);
  });

  it('survives whatever is thrown at it', () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const deep = Array.from({ length: 30 }).reduce<object>((inner) => ({ inner }), {});
    const at = logger();
    at.info('odd', {
      loop,
      deep,
      bytes: Buffer.from('S'),
      nan: Number.NaN,
      none: undefined,
      nothing: null,
      map: new Map([['k', new Set([1])]]),
      when: new Date(Number.NaN),
    });
    expect(at.line()).toMatchObject({
      loop: { self: '[circular]' },
      bytes: '[1 bytes]',
      nan: 'NaN',
      nothing: null,
      map: [['k', [1]]],
      when: 'no date',
    });
  });

  it('writes errors with code and causes; a stack only where it helps', () => {
    const at = logger();
    const cause = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    at.error('failed', { error: new HighwaterError('LOG_OWNED', 'by another', { cause }) });
    expect(at.line().error).toEqual({
      code: 'LOG_OWNED',
      message: 'by another',
      now: 'Nothing was started.',
      remedy: expect.any(String),
      cause: {
        name: 'Error',
        message: 'reset',
        code: 'ECONNRESET',
        stack: expect.stringContaining('logger.test.ts'),
      },
    });
  });

  it.each(['json', 'pretty'] as const)('shows no secret anywhere (%s)', (format) => {
    const secret = 'S3CRET+T0KEN';
    const at = logger({ format, secrets: [secret, '20261231'] });
    const error = Object.assign(new Error(`at ${secret}`, { cause: new Error(encodeURIComponent(secret)) }), {
      config: {
        url: new URL(`http://x/?a=${encodeURIComponent(secret)}`),
        headers: [`Basic ${btoa(`a:${secret}`)}`],
      },
    });
    at.error(`message ${secret}`, {
      error,
      [secret]: 1,
      number: 20261231,
      nested: { list: [{ deep: new Map([[secret, secret]]) }] },
      params: new URLSearchParams({ secret }),
      stack: `Error: ${secret}\n at ${secret}`,
    });
    expect(at.text()).not.toMatch(/S3CRET|T0KEN|UzNDUkVU|20261231/);
    expect(at.text().match(/\[redacted\]/g)?.length).toBeGreaterThan(7);
    if (format === 'json') expect(at.line()).toHaveProperty('number', '[redacted]');
  });
});

describe('pretty lines', () => {
  const pretty = (message: string, facts = {}, options = {}) => {
    const at = logger({ format: 'pretty', color: false, ...options });
    at.warn(message, facts);
    return at.text();
  };

  it('are for people: time, level, feed, message, facts', () => {
    expect(
      pretty('asking again', { feed: 'ipos', attempt: 2, what: 'no answer', list: [1], none: undefined }),
    ).toMatch(/^\d\d:\d\d:\d\d WARN {2}ipos: asking again {2}attempt=2 what="no answer" list=\[1\]\n$/);
  });

  it('name an error by its code, and put the stack of a fault below', () => {
    const error = new HighwaterError('LOG_OWNED', 'by another');
    expect(pretty('x', { error })).toMatch(/WARN {2}x {2}error="LOG_OWNED: by another"\n$/);
    expect(pretty('x', { error: new TypeError('bad') })).toMatch(
      /WARN {2}x {2}error=bad\n {4}TypeError: bad\n\s+at .*logger\.test\.ts/,
    );
  });

  it('let nobody begin a line or steer the terminal', () => {
    const hostile = 'a\r\n12:00:00 ERROR forged\u001b[31m\u202e';
    const text = pretty(hostile, { feed: hostile, [hostile]: hostile, list: [hostile] });
    expect(text.slice(0, -1)).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(text.endsWith('\n')).toBe(true);
  });

  it('have colour on a terminal only, and not with NO_COLOR', () => {
    expect(pretty('x', {}, { color: true })).toContain('\u001b[33mWARN');
    const before = process.env.NO_COLOR;
    try {
      delete process.env.NO_COLOR;
      expect([wantsColor({ isTTY: true }), wantsColor({ isTTY: false }), wantsColor({})]).toEqual([
        true,
        false,
        false,
      ]);
      process.env.NO_COLOR = '1';
      expect(wantsColor({ isTTY: true })).toBe(false);
    } finally {
      if (before === undefined) delete process.env.NO_COLOR;
      else process.env.NO_COLOR = before;
    }
  });
});
