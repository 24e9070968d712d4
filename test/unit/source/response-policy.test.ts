import { interpretResponse, type RawResponse } from '../../../src/source/response-policy';
import { bodyOf } from '../../support/body';

const nowMs = Date.parse('2026-03-01T00:00:00Z');

const keep = (text: string) => text;
const echoedToken = { remove: keep, isIn: () => false };

function interpret(body: string | Buffer, status = 200, headers: RawResponse['headers'] = {}) {
  return interpretResponse(
    { status, headers: { 'content-type': 'application/json', ...headers }, body: bodyOf(body, 10) },
    {
      responseKey: 'ipos',
      request: 'GET https://api.example.com/ipos',
      redact: keep,
      echoedToken,
      nowMs,
    },
  );
}

describe('an answer is a page', () => {
  it.each([
    ['a keyed array', '{"ipos":[{"id":"a"},2]}', [{ id: 'a' }, 2]],
    ['a keyed array beside other members', '{"ok":true,"errors":[],"ipos":[1]}', [1]],
    ['a bare array', '[1,{"id":"a"}]', [1, { id: 'a' }]],
    ['null under the key', '{"ipos":null}', []],
    ['an empty object', '{}', []],
    ['a byte order mark before it', '\uFEFF{"ipos":[]}', []],
  ])('when it is %s', (_, body, rows) => {
    expect(interpret(body)).toEqual({ kind: 'page', rows });
  });

  it.each([
    '{"code":"no_data_found","id":"not_found"}',
    '{"ok":false,"errors":[{"code":"no_data_found","id":"not_found","value":""}]}',
  ])('when it is the 404 that means empty: %s', (body) => {
    expect(interpret(body, 404)).toEqual({ kind: 'page', rows: [] });
    expect(interpret(body, 500)).toMatchObject({ kind: 'failure' });
  });
});

describe('an answer with status 200 is a failure', () => {
  it.each([
    [
      'ok:false',
      '{"ok":false,"errors":[{"code":"c1","id":"i1","value":"v1"}]}',
      'SOURCE_REPORTED_ERROR',
      'c1, i1, v1',
    ],
    [
      'errors beside null data',
      '{"data":null,"errors":[{"message":"m"}],"ok":false}',
      'SOURCE_REPORTED_ERROR',
      ': m',
    ],
    ['ok:false beside rows', '{"ok":false,"ipos":[1]}', 'SOURCE_REPORTED_ERROR', '{"ok":false'],
    ['errors beside rows', '{"ipos":[1],"errors":["half of it"]}', 'SOURCE_REPORTED_ERROR', 'half of it'],
    ['a bare string', '"Invalid token"', 'SOURCE_REPORTED_ERROR', ': Invalid token'],
    ['a message', '{"message":"Invalid page size"}', 'SOURCE_REPORTED_ERROR', 'Invalid page size'],
    ['a text', '{"text":"over capacity"}', 'SOURCE_REPORTED_ERROR', 'over capacity'],
    [
      'null under the key with a message',
      '{"ipos":null,"message":"try later"}',
      'SOURCE_REPORTED_ERROR',
      'try later',
    ],
    [
      'another key',
      '{"insights":[],"total":0}',
      'SOURCE_WRONG_SHAPE',
      'without "ipos"; its keys are "insights", "total"',
    ],
    ['an object under the key', '{"ipos":{"a":1}}', 'SOURCE_WRONG_SHAPE', 'a object under "ipos"'],
    ['a bare null', 'null', 'SOURCE_WRONG_SHAPE', 'null, not an object'],
    ['a bare number', '12', 'SOURCE_WRONG_SHAPE', '12, not an object'],
    ['HTML', '<html>Sign in</html>', 'SOURCE_NOT_JSON', 'application/json: <html>Sign in</html>'],
    ['XML', '<?xml version="1.0"?><ipos/>', 'SOURCE_NOT_JSON', '<?xml'],
    ['a truncated body', '{"ipos":[{"id":"a"', 'SOURCE_BODY_TRUNCATED', '(18 bytes)'],
    ['an empty body', '', 'SOURCE_BODY_EMPTY', 'an empty body'],
    ['a blank body', ' \r\n', 'SOURCE_BODY_EMPTY', 'an empty body'],
    ['an inherited name only', '{"constructor":1}', 'SOURCE_WRONG_SHAPE', '"constructor"'],
  ])('when it is %s', (_, body, code, what) => {
    expect(interpret(body)).toMatchObject({ kind: 'failure', code, what: expect.stringContaining(what) });
  });

  it('names the status and the first keys only', () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, index]));
    expect(interpret(JSON.stringify(many))).toMatchObject({
      what: expect.stringMatching(/200.*"k9" and 20 more$/),
    });
  });
});

describe('a status', () => {
  it.each([
    [204, 'SOURCE_BODY_EMPTY'],
    [206, 'SOURCE_UNEXPECTED_STATUS'],
    [301, 'SOURCE_REDIRECTED'],
    [304, 'SOURCE_UNEXPECTED_STATUS'],
    [308, 'SOURCE_REDIRECTED'],
    [400, 'SOURCE_REQUEST_REFUSED'],
    [401, 'SOURCE_UNAUTHORIZED'],
    [402, 'SOURCE_FORBIDDEN'],
    [403, 'SOURCE_FORBIDDEN'],
    [404, 'SOURCE_NOT_FOUND'],
    [408, 'SOURCE_UNAVAILABLE'],
    [422, 'SOURCE_REQUEST_REFUSED'],
    [424, 'SOURCE_UNAVAILABLE'],
    [429, 'SOURCE_RATE_LIMITED'],
    [499, 'SOURCE_UNAVAILABLE'],
    [500, 'SOURCE_UNAVAILABLE'],
    [502, 'SOURCE_UNAVAILABLE'],
    [503, 'SOURCE_UNAVAILABLE'],
  ])('%d means %s, even with a page in its body', (status, code) => {
    expect(interpret('{"ipos":[]}', status)).toMatchObject({ kind: 'failure', code });
  });

  it('404 of a gateway is a wrong address, with its message', () => {
    expect(interpret('{"message":"no Route matched with those values"}', 404)).toMatchObject({
      code: 'SOURCE_NOT_FOUND',
      what: 'GET https://api.example.com/ipos answered 404 with no Route matched with those values',
    });
  });

  it('carries the pause that the API asks for', () => {
    expect(interpret('', 429, { 'retry-after': '7' })).toMatchObject({ retryAfterMs: 7_000 });
    expect(interpret('', 503, { 'retry-after': '0' })).toMatchObject({ retryAfterMs: 0 });
    expect(interpret('', 429)).not.toHaveProperty('retryAfterMs');
  });
});

describe('the excerpt of a body', () => {
  it('is short and without control characters', () => {
    const { what } = interpret(`<b>\u001b[31m\r\n\u202e${'x'.repeat(500)}`) as { what: string };
    expect(what).toContain('<b> [31m x');
    expect(what).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(what.length).toBeLessThan(250);
  });

  it('has secrets removed before it is cut', () => {
    const text = `${'x'.repeat(110)}SECRETTOKEN`;
    const result = interpretResponse(
      { status: 500, headers: {}, body: bodyOf(text) },
      {
        responseKey: 'ipos',
        request: 'GET /',
        redact: (all) => all.replaceAll('SECRETTOKEN', '***'),
        echoedToken,
        nowMs,
      },
    );
    expect(result).toMatchObject({ what: expect.not.stringContaining('SEC') });
  });
});
