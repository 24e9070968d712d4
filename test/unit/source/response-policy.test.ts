import { AnswerShape } from '../../../src/json/answer-shape';
import { answerLimits } from '../../../src/json/limits';
import { usualAuth } from '../../../src/source/api-access';
import { interpretResponse, type PolicyContext, type RawResponse } from '../../../src/source/response-policy';
import { bodyOf } from '../../support/body';
import { namedRows } from '../../support/named-rows';

const nowMs = Date.parse('2026-03-01T00:00:00Z');

const keep = (text: string) => text;
const echoedToken = { remove: keep, isIn: () => false };
const limits = answerLimits(64 * 2 ** 20);
/** Nothing stands beside the list. A reader of rows is asked once a shape is known. */
const shape = new AnswerShape();
shape.note({});

function interpret(
  body: string | Buffer,
  status = 200,
  headers: RawResponse['headers'] = {},
  context: Partial<PolicyContext> = {},
) {
  return interpretResponse(
    {
      status,
      headers: { 'content-type': 'application/json', ...headers },
      body: bodyOf(body, body.length > 10_000 ? undefined : 10),
    },
    {
      responseKey: 'ipos',
      shape: new AnswerShape(),
      idField: 'id',
      updatedField: 'updated',
      updatedFormat: 'seconds',
      omit: [],
      paging: { style: 'page' },
      auth: usualAuth,
      url: 'https://api.example.com/ipos',
      request: 'GET https://api.example.com/ipos',
      redact: keep,
      echoedToken,
      mayBeUnmodified: false,
      limits,
      signal: new AbortController().signal,
      nowMs,
      ...context,
    },
  );
}

it.each([
  ['extensions":{"code":"UNAUTHENTICATED"}', 'SOURCE_UNAUTHORIZED'],
  ['extensions":{"code":"AUTHENTICATION_ERROR"}', 'SOURCE_UNAUTHORIZED'],
  ['extensions":{"code":"FORBIDDEN"}', 'SOURCE_FORBIDDEN'],
  ['extensions":{"code":"ACCESS_DENIED"}', 'SOURCE_FORBIDDEN'],
  ['extensions":{"code":"THROTTLED"}', 'SOURCE_RATE_LIMITED'],
  ['extensions":{"code":"RATELIMITED"}', 'SOURCE_RATE_LIMITED'],
  ['type":"RATE_LIMITED"', 'SOURCE_RATE_LIMITED'],
  ['extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}', 'SOURCE_REQUEST_REFUSED'],
  ['extensions":{"code":"INTERNAL_SERVER_ERROR"}', 'SOURCE_REPORTED_ERROR'],
  ['path":["ipos",0,"price"]', 'SOURCE_REPORTED_ERROR'],
])('errors of GraphQL are no page, whatever rows are beside them: %s', async (member, code) => {
  const body = `{"data":{"ipos":[{"id":"a"}]},"errors":[{"message":"m","${member}}]}`;
  const context = { responseKey: 'data.ipos' };
  expect(await interpret(body, 200, {}, context)).toMatchObject({
    kind: 'failure',
    code,
    what: expect.stringContaining(' m'),
  });
  if (code !== 'SOURCE_REPORTED_ERROR')
    expect(await interpret(body, 400, {}, context)).toMatchObject({ code });
});

describe('an answer is a page', () => {
  it.each([
    ['a keyed array', '{"ipos":[{"id":"a"},2]}', [{ id: 'a' }, 2]],
    ['a keyed array beside other members', '{"ok":true,"errors":[],"ipos":[1]}', [1]],
    ['a keyed array beside a warning', '{"error":"slow","status":"error","ipos":[1]}', [1]],
    ['an empty array beside what is no error', '{"error":null,"code":200,"message":"ok","ipos":[]}', []],
    ['a bare array', '[1,{"id":"a"}]', [1, { id: 'a' }]],
    ['null under the key', '{"ipos":null}', []],
    ['null beside what is no error', '{"code":200,"message":"OK","ipos":null}', []],
    ['an empty object', '{}', []],
    [
      'a long member beside it',
      `{"of":"${'x'.repeat(99_999)}","ipos":[1],"sum":{"a":[${'1,'.repeat(99_999)}2]}}`,
      [1],
    ],
    ['the later of two', '{"ipos":[1],"ipos":[2]}', [2]],
    ['a byte order mark before it', '\uFEFF{"ipos":[]}', []],
  ])('when it is %s', async (_, body, rows) => {
    expect(await interpret(body)).toMatchObject({ kind: 'page', rows, next: null });
  });

  it.each([
    '{"code":"no_data_found","id":"not_found"}',
    '{"ok":false,"errors":[{"code":"no_data_found","id":"not_found","value":""}]}',
  ])('when it is the 404 that means empty: %s', async (body) => {
    expect(await interpret(body, 404)).toEqual({ kind: 'page', rows: [], next: null });
    expect(await interpret(body, 500)).toMatchObject({ kind: 'failure' });
  });
});

describe('the rows of an answer', () => {
  const large = ' '.repeat(2 ** 20);
  const shapes: [key: string, body: string, rows: unknown[] | string][] = [
    ['data.orders', '{"data":{"orders":[1]},"meta":{}}', [1]],
    ['data.orders', '{"data.orders":[2],"data":{"orders":[1]}}', [2]],
    ['data.list.orders', '{"data":{"count":1,"list":{"orders":[{"id":"a"}]}}}', [{ id: 'a' }]],
    ['data.orders', '{"data":{"orders":null}}', []],
    ['data.orders', '{}', []],
    ['data.orders', '{"data":{},"time":"now"}', []],
    ['data.orders', '{"data":{},"error":"try later"}', 'try later'],
    ['data.list.orders', '{"data":{}}', []],
    ['', '[1,2]', [1, 2]],
    ['', '{"":[1]}', 'an object, not an array; its keys are ""'],
    ['', '{}', 'an object, not an array; it has none'],
    ['data.orders', '{"data":{"items":[],"count":0}}', 'the keys of "data" are "items", "count"'],
    ['data.orders', '{"result":[]}', 'without "data.orders"; its keys are "result"'],
    ['data.orders', '{"data":[]}', 'its keys are "data"'],
    ['data.orders', '{"data":null,"message":"try later"}', 'try later'],
    ['data.orders', '{"data":{"orders":{}}}', 'an object under "data.orders"'],
    ['constructor', '{"a":1}', 'without "constructor"; its keys are "a"'],
    ['data.toString', '{"data":{"a":1}}', 'the keys of "data" are "a"'],
    ['__proto__.x', '{"a":1}', 'without "__proto__.x"; its keys are "a"'],
  ];

  it.each(shapes)('at "%s" of %s, be it small or large', async (responseKey, body, expected) => {
    for (const more of ['', large]) {
      const read = await interpret(`${body}${more}`, 200, {}, { responseKey });
      if (typeof expected !== 'string')
        expect(read).toMatchObject({ kind: 'page', rows: expected, next: null });
      else expect(read).toMatchObject({ kind: 'failure', what: expect.stringContaining(expected) });
    }
  });
});

describe('an object in the place of the list', () => {
  const large = ' '.repeat(2 ** 20);

  it.each(['', large])(
    'is its only row if it has the id and the time of one, be it small or large',
    async (more) => {
      const only = await interpret(
        `{"count":1,"ipos":{"id":"a","updated":1700000000,"x":1}}${more}`,
        200,
        {},
        { omit: ['x'] },
      );
      expect(only).toMatchObject({
        kind: 'page',
        rows: [{ id: 'a', updated: 1_700_000_000 }],
        omitted: new Set(['x']),
      });
      const named = {
        responseKey: 'data.Item',
        idField: ['k.a', 'b'],
        updatedField: 'at',
        updatedFormat: 'iso8601',
      } as const;
      const item = '{"k":{"a":1},"b":"c","at":"2026-01-31T00:00:00Z"}';
      const found = await interpret(`{"data":{"Item":${item}}}${more}`, 200, {}, named);
      expect(found).toMatchObject({ kind: 'page', rows: [JSON.parse(item)] });
    },
  );

  const row = '{"id":"a","updated":1700000000}';
  it.each<[string, string, Partial<PolicyContext>]>([
    ['has no time', '{"ipos":{"id":"e1","message":"not found"}}', {}],
    ['has a time that is none', '{"ipos":{"id":"e1","updated":"soon"}}', {}],
    ['holds a list of rows', `{"ipos":{"id":"f","updated":1700000000,"entry":[${row}]}}`, {}],
    ['has no id', '{"ipos":{"updated":1700000000}}', {}],
    ['is of a feed without times', `{"ipos":${row}}`, { updatedField: null }],
    ['is beside a message', `{"message":"try later","ipos":${row}}`, {}],
    ['is beside an error', `{"code":429,"ipos":${row}}`, {}],
    ['is beside a refusal', `{"success":false,"ipos":${row}}`, {}],
  ])('is no row if it %s', async (_, body, context) => {
    for (const more of ['', large])
      expect(await interpret(`${body}${more}`, 200, {}, context)).toMatchObject({ kind: 'failure' });
  });
});

describe('an answer with status 200 is a failure', () => {
  it.each(
    namedRows({
      'ok:false': [
        '{"ok":false,"errors":[{"code":"c1","id":"i1","value":"v1"}]}',
        'SOURCE_REPORTED_ERROR',
        'c1, i1, v1',
      ],
      'errors beside null data': [
        '{"data":null,"errors":[{"message":"m"}],"ok":false}',
        'SOURCE_REPORTED_ERROR',
        ': m',
      ],
      'ok:false beside rows': ['{"ok":false,"ipos":[1]}', 'SOURCE_REPORTED_ERROR', '{"ok":false'],
      'errors beside rows': ['{"ipos":[1],"errors":["half of it"]}', 'SOURCE_REPORTED_ERROR', 'half of it'],
      'an error beside no rows': [
        '{"success":false,"error":{"code":104,"info":"Your limit has been reached."},"ipos":[]}',
        'SOURCE_REPORTED_ERROR',
        ': Your limit has been reached',
      ],
      'reasons of a search server': [
        '{"error":{"root_cause":[{"type":"x","reason":"window too large"}],"reason":"all shards failed"},"status":400}',
        'SOURCE_REPORTED_ERROR',
        ': window too large, all shards failed',
      ],
      'a status beside no rows': [
        '{"status":"error","ipos":[]}',
        'SOURCE_REPORTED_ERROR',
        '{"status":"error"',
      ],
      'a code beside no rows': ['{"code":429,"message":"m","ipos":[]}', 'SOURCE_REPORTED_ERROR', ': m'],
      'a bare string': ['"Invalid token"', 'SOURCE_REPORTED_ERROR', ': Invalid token'],
      'a message': ['{"message":"Invalid page size"}', 'SOURCE_REPORTED_ERROR', 'Invalid page size'],
      'a text': ['{"text":"over capacity"}', 'SOURCE_REPORTED_ERROR', 'over capacity'],
      'null under the key with a message': [
        '{"ipos":null,"message":"try later"}',
        'SOURCE_REPORTED_ERROR',
        'try later',
      ],
      'another key': [
        '{"insights":[],"total":0}',
        'SOURCE_WRONG_SHAPE',
        'without "ipos"; its keys are "insights", "total"',
      ],
      'a sentence under a key of its own': [
        '{"Note":"Our standard API call frequency is 5 calls per minute."}',
        'SOURCE_WRONG_SHAPE',
        'without "ipos"; its keys are "Note"; it says: Our standard API call frequency is 5 calls per minute',
      ],
      'a sentence and a word': [
        '{"Response":"False","Error Message":"Limit reached"}',
        'SOURCE_WRONG_SHAPE',
        'its keys are "Response", "Error Message"; it says: Limit reached',
      ],
      'an object under the key': ['{"ipos":{"a":1}}', 'SOURCE_WRONG_SHAPE', 'an object under "ipos"'],
      'a bare null': ['null', 'SOURCE_WRONG_SHAPE', 'null, not an object'],
      'a bare number': ['12', 'SOURCE_WRONG_SHAPE', '12, not an object'],
      'an error with a long code': [
        '{"code":653247040368672769}',
        'SOURCE_REPORTED_ERROR',
        '653247040368672769',
      ],
      'HTML in no known charset': [Buffer.from('<p>Größe</p>', 'latin1'), 'SOURCE_NOT_JSON', '<p>Gr'],
      HTML: ['<html>Sign in</html>', 'SOURCE_NOT_JSON', 'application/json: <html>Sign in</html>'],
      XML: ['<?xml version="1.0"?><ipos/>', 'SOURCE_NOT_JSON', '<?xml'],
      'a truncated body': ['{"ipos":[{"id":"a"', 'SOURCE_BODY_TRUNCATED', '(18 bytes)'],
      'a damaged body': ['{"ipos":[{"id":"a"},{"id":}]}', 'SOURCE_BODY_DAMAGED', 'is damaged (29 bytes)'],
      'JSON with something behind it': ['{"ipos":[]}}', 'SOURCE_BODY_DAMAGED', 'is damaged (12 bytes)'],
      'lists that lie within each other and do not end': [
        '['.repeat(100_000),
        'SOURCE_BODY_TRUNCATED',
        '100000 bytes',
      ],
      'objects that lie within each other': [
        `${'{"a":'.repeat(9_999)}{}${'}'.repeat(9_999)}`,
        'SOURCE_WRONG_SHAPE',
        '"a"',
      ],
      'errors that lie within each other': [
        `{"errors":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
        'SOURCE_REPORTED_ERROR',
        '[[',
      ],
      'more rows than are taken': [
        `{"ipos":[${'1,'.repeat(262_144)}1]}`,
        'SOURCE_TOO_MANY_ROWS',
        'more than 262144 rows',
      ],
      'more lists and objects than are taken': [
        `{"ipos":[${`[${'[],'.repeat(49_000)}[]],`.repeat(50)}1]}`,
        'SOURCE_BODY_TOO_LARGE',
        'more than 2097152 lists and objects',
      ],
      'members without end': [`{${'"a":1,'.repeat(200_000)}"b":1}`, 'SOURCE_WRONG_SHAPE', 'beside "ipos"'],
      'a text that is too long for a message': [`"${'x'.repeat(1_100_000)}"`, 'SOURCE_NOT_JSON', 'xxx…'],
      'an empty body': ['', 'SOURCE_BODY_EMPTY', 'an empty body'],
      'a blank body': [' \r\n', 'SOURCE_BODY_EMPTY', 'an empty body'],
      'an inherited name only': ['{"constructor":1}', 'SOURCE_WRONG_SHAPE', '"constructor"'],
    }),
  )('when it is %s', async (_, body, code, what) => {
    expect(await interpret(body)).toMatchObject({
      kind: 'failure',
      code,
      what: expect.stringContaining(what),
    });
  });

  it('names the status and the first keys only', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, index]));
    expect(await interpret(JSON.stringify(many))).toMatchObject({
      what: expect.stringMatching(/200.*"k9" and 20 more$/),
    });
  });

  it.each([
    '{"Note":"5 calls per minute","Limit":5}',
    '{"a":"b","c":"d"}',
    '{"a":"1 2","b":"","c":"","d":"","e":"","f":""}',
  ])('which quotes only a short object of texts, not %s', async (body) => {
    expect(await interpret(body)).toMatchObject({
      what: expect.stringMatching(/its keys are ("\w+"(, )?)+$/),
    });
  });

  it('which quotes no text of a feed with omit, since it may be a record', async () => {
    const body = '{"id":"a","name":"Jane Doe"}';
    const found = await interpret(body, 200, {}, { omit: ['name'] });
    expect(found).toMatchObject({ what: expect.stringMatching(/"name"; it says: \(a text that is not/) });
  });

  it.each([
    ['{"message":"Slow down."}', 200],
    ['"Slow down."', 200],
    ['{"Note":"Slow down..."}', 200],
    ['Slow down.', 503],
  ])('whose quotation %s brings no full stop of its own', async (body, status) => {
    expect(await interpret(body, status)).toMatchObject({ what: expect.stringMatching(/: Slow down$/) });
  });
});

describe('a status', () => {
  it.each([
    [100, 'SOURCE_UNEXPECTED_STATUS'],
    [201, 'SOURCE_UNEXPECTED_STATUS'],
    [205, 'SOURCE_BODY_EMPTY'],
    [206, 'SOURCE_UNEXPECTED_STATUS'],
    [300, 'SOURCE_REDIRECTED'],
    [301, 'SOURCE_REDIRECTED'],
    [304, 'SOURCE_UNEXPECTED_STATUS'],
    [308, 'SOURCE_REDIRECTED'],
    [400, 'SOURCE_REQUEST_REFUSED'],
    [401, 'SOURCE_UNAUTHORIZED'],
    [402, 'SOURCE_FORBIDDEN'],
    [403, 'SOURCE_FORBIDDEN'],
    [404, 'SOURCE_NOT_FOUND'],
    [408, 'SOURCE_UNAVAILABLE'],
    [420, 'SOURCE_RATE_LIMITED'],
    [422, 'SOURCE_REQUEST_REFUSED'],
    [424, 'SOURCE_UNAVAILABLE'],
    [425, 'SOURCE_UNAVAILABLE'],
    [429, 'SOURCE_RATE_LIMITED'],
    [430, 'SOURCE_RATE_LIMITED'],
    [499, 'SOURCE_UNAVAILABLE'],
    [500, 'SOURCE_UNAVAILABLE'],
    [502, 'SOURCE_UNAVAILABLE'],
    [503, 'SOURCE_UNAVAILABLE'],
  ])('%d means %s, even with a page in its body', async (status, code) => {
    expect(await interpret('{"ipos":[]}', status)).toMatchObject({ kind: 'failure', code });
  });

  it('204 is an empty page', async () => {
    expect(await interpret('', 204)).toEqual({ kind: 'page', rows: [], next: null });
  });

  it('304 is an empty page if the feed has a filter, and else tells nothing about the rows', async () => {
    const since = await interpret('', 304, {}, { mayBeUnmodified: true });
    expect(since).toEqual({ kind: 'page', rows: [], next: null, isVague: true });
    expect(await interpret('', 304)).toMatchObject({ code: 'SOURCE_UNEXPECTED_STATUS' });
  });

  it('203 may hold a page: a proxy touched it', async () => {
    expect(await interpret('{"ipos":[1]}', 203)).toEqual({ kind: 'page', rows: [1], next: null });
  });

  it.each([
    '{"errors":[]}',
    '{"errors":[{"code":"no_data_found"},{"code":"not_allowed"}]}',
    '{"errors":[null]}',
    '[{"code":"no_data_found"}]',
    'null',
    'no_data_found',
  ])('404 with %s is not an empty page', async (body) => {
    expect(await interpret(body, 404)).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
  });

  it.each([
    [undefined, 'nowhere (no Location)'],
    ['http://', 'something that is not an address'],
    ['/sign-in?token=abc', 'https://api.example.com/sign-in'],
    ['/ipos?again=1', 'https://api.example.com/ipos, the address that was asked'],
    ['http://other.example/a?b=c#d', 'http://other.example/a'],
  ])('a redirect to %s names the place without its query', async (location, place) => {
    const { what } = (await interpret('', 302, { location })) as { what: string };
    expect(what).toBe(`GET https://api.example.com/ipos answered 302 with a redirect to ${place}`);
  });

  it.each([
    ['', 'application/json', 'an empty body'],
    [' \n', 'application/json', 'an empty body'],
    ['busy', undefined, 'no content type: busy'],
    ['busy', 'text/plain', 'text/plain: busy'],
  ])('the body %j of type %s is described', async (body, type, said) => {
    expect(await interpret(body, 503, { 'content-type': type })).toMatchObject({
      what: `GET https://api.example.com/ipos answered 503 with ${said}`,
    });
  });

  it('404 of a gateway is a wrong address, with its message', async () => {
    expect(await interpret('{"message":"no Route matched with those values"}', 404)).toMatchObject({
      code: 'SOURCE_NOT_FOUND',
      what: 'GET https://api.example.com/ipos answered 404 with no Route matched with those values',
    });
  });

  it('carries the pause that the API asks for', async () => {
    expect(await interpret('', 429, { 'retry-after': '7' })).toMatchObject({
      retryAfterMs: 7_000,
      what: expect.stringContaining(' an empty body (Retry-After: 7 s)'),
    });
    const inTwoMinutes = { 'retry-after': new Date(nowMs + 120_000).toUTCString() };
    expect(await interpret('', 429, inTwoMinutes)).toMatchObject({ retryAfterMs: 120_000 });
    expect(await interpret('', 503, { 'retry-after': '0' })).toMatchObject({ retryAfterMs: 0 });
    expect(await interpret('', 429)).not.toHaveProperty('retryAfterMs');
  });
});

it.each<[string, string, RawResponse['headers'], number | undefined]>([
  ['Retry-After', '', { 'retry-after': '7' }, 7_000],
  ['nothing that remains', '', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9' }, 9_000],
  ['a field of IETF', '', { ratelimit: '"default";r=0;t=5' }, 5_000],
  ['a message that says so', '{"message":"You have exceeded a secondary rate limit."}', {}, undefined],
  ['a code of its quota', '[{"message":"No.","errorCode":"REQUEST_LIMIT_EXCEEDED"}]', {}, undefined],
  ['its quota in words', '{"error":{"message":"Quota exceeded for quota metric \'Reads\'"}}', {}, undefined],
  [
    'a reason that says so',
    '{"error":{"errors":[{"reason":"x","message":"userRateLimitExceeded"}]}}',
    {},
    undefined,
  ],
])('403 with %s is a rate limit, and no refused token', async (_, body, headers, ms) => {
  const found = await interpret(body, 403, headers);
  expect(found).toMatchObject({ code: 'SOURCE_RATE_LIMITED' });
  expect((found as { retryAfterMs?: number }).retryAfterMs).toBe(ms);
});

it.each([
  '{"error":{"message":"Access denied: the key was revoked."},"rate_limit":{"limit":100,"remaining":99}}',
  '{"error":{"message":"Daily Limit for Unauthenticated Use Exceeded.","errors":[{"reason":"dailyLimitExceededUnreg"}]}}',
  '{"message":"No.","documentation_url":"https://example.com/rate-limit"}',
])('403 that only mentions a limit is a refusal: %s', async (body) => {
  expect(await interpret(body, 403)).toMatchObject({ code: 'SOURCE_FORBIDDEN' });
});

it('403 with requests that remain is a refusal', async () => {
  const headers = { 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '9' };
  expect(await interpret('{"message":"not in your plan"}', 403, headers)).toMatchObject({
    code: 'SOURCE_FORBIDDEN',
    what: expect.stringMatching(/ not in your plan$/),
  });
});

describe('the charset of an answer', () => {
  const text = '{"ipos":[{"id":"Größe"}]}';
  const rows = [{ id: 'Größe' }];
  const latin1 = Buffer.from(text, 'latin1');
  const type = (charset: string) => ({ 'content-type': `application/json;charset=${charset}` });

  it.each([
    ['iso-8859-1', latin1],
    ['Windows-1252', latin1],
    ['"utf-8"', Buffer.from(text)],
    ['utf8', Buffer.from(text)],
    ['unicode-1-1-utf-8', Buffer.from(text)],
    ['utf-16', Buffer.from(text, 'utf16le')],
    ['utf-16be', Buffer.from(text, 'utf16le').swap16()],
    // A mark counts more than what is declared.
    ['iso-8859-1', Buffer.from(`\ufeff${text}`)],
    ['iso-8859-1', Buffer.from(`\ufeff${text}`, 'utf16le')],
  ])('is the declared one, or that of its mark: %s', async (charset, body) => {
    expect(await interpret(body, 200, type(charset))).toEqual({ kind: 'page', rows, next: null });
    expect(
      await interpret(
        Buffer.concat([body, Buffer.alloc(2 ** 20, body.includes(0) ? '' : ' ')]).subarray(0, body.length),
        200,
        type(charset),
      ),
    ).toMatchObject({ rows });
  });

  it.each([
    ['application/json', latin1, 'bytes that are not UTF-8, at byte 18, after {"ipos":[{"id":"Gr comes'],
    ['application/json; charset=utf-8', latin1, 'bytes that are not UTF-8'],
    [
      'application/json; charset=utf-8',
      Buffer.concat([latin1, Buffer.alloc(2 ** 20, ' ')]),
      'not UTF-8, at byte 18',
    ],
    ['application/json; charset=x-none', latin1, 'text in the charset "x-none", which is not known'],
    ['application/json; charset=utf-32', latin1, 'text in the charset "utf-32", which is not known'],
    ['application/json; charset=utf-16le', Buffer.from([0x5b, 0, 0, 0xd8]), 'bytes that are not utf-16le'],
    ['application/json; charset=Shift_JIS', Buffer.from([0x5b, 0x81]), 'bytes that are not Shift_JIS'],
  ])('%s, with other bytes, is refused by name', async (contentType, body, what) => {
    for (const readRows of [undefined, () => null]) {
      expect(await interpret(body, 200, { 'content-type': contentType }, { readRows })).toMatchObject({
        kind: 'failure',
        code: 'SOURCE_CHARSET',
        what: expect.stringContaining(what),
      });
    }
  });

  it('of an error is read as well as possible, because its status counts', async () => {
    const body = Buffer.from('{"message":"Schlüssel"}', 'latin1');
    const told = (contentType: string) => interpret(body, 401, { 'content-type': contentType });
    expect(await told('application/json; charset=iso-8859-1')).toMatchObject({
      code: 'SOURCE_UNAUTHORIZED',
      what: expect.stringContaining('Schlüssel'),
    });
    for (const unclear of ['application/json', 'application/json; charset=x-none'])
      expect(await told(unclear)).toMatchObject({ what: expect.stringContaining('Schl\ufffdssel') });
  });

  it.each(['windows-1252', 'cp1252', 'iso-8859-1', 'latin1', 'us-ascii'])(
    '%s is windows-1252, as on the web: bytes 0x80 to 0x9F are its letters',
    async (charset) => {
      const bytes = Buffer.from('{"ipos":[{"id":"\x80\x85\x8a\x93\x9f \x81 é"}]}', 'latin1');
      expect(await interpret(bytes, 200, type(charset))).toMatchObject({
        rows: [{ id: '€…Š“Ÿ \x81 é' }],
      });
    },
  );

  it('the bytes 0x80 to 0x9F of another charset are its own', async () => {
    const bytes = Buffer.from('{"ipos":[{"id":"\x80\xe9"}]}', 'latin1');
    expect(await interpret(bytes, 200, type('windows-1251'))).toMatchObject({ rows: [{ id: 'Ђй' }] });
  });

  it('a reader of rows gets UTF-8', async () => {
    let read = '';
    const readRows: PolicyContext['readRows'] = (body) => {
      read = body.kept().toString();
      return [];
    };
    await interpret(latin1, 200, type('iso-8859-1'), { readRows, shape });
    expect(read).toBe(text);
  });
});

describe('the message of a damaged answer', () => {
  const long = `{"ipos":[{"id":"${'x'.repeat(5_000)}"},{"id":"b","note":oops here},${'{"id":"c"},'.repeat(9)}1]}`;

  it('shows the text around the damage, of small and of large answers', async () => {
    for (const more of ['', ' '.repeat(2 ** 20)]) {
      const { what } = (await interpret(long + more)) as { what: string };
      expect(what).toMatch(/at byte \d+, after …x+"\},\{"id":"b","note": comes oops here\},\{"id":"c"\}/);
      expect(what).toContain(`at byte ${long.indexOf('oops')},`);
    }
  });

  it('shows no text of another answer, which is read at the same time', async () => {
    const other = `{"ipos":[${'{"id":"other"},'.repeat(500)}1]}`;
    const [damaged] = await Promise.all([
      interpret(long),
      ...Array.from({ length: 5 }, () => interpret(other)),
    ]);
    expect((damaged as { what: string }).what).toMatch(/"note": comes oops here/);
  });

  it('shows the end of an answer that breaks off', async () => {
    const { what } = (await interpret(long.slice(0, 5_040))) as { what: string };
    expect(what).toMatch(
      /breaks off \(5040 bytes\), application\/json: at byte 5040, after …x+"\},.* nothing comes$/,
    );
  });

  it('shows no secret, not even one that lies on both sides', async () => {
    const redact = (text: string) => text.replaceAll('sec" ret', '***');
    const { what } = (await interpret('{"ipos":[{"a":"sec" ret"}]}', 200, {}, { redact })) as {
      what: string;
    };
    expect(what).not.toContain('sec');
    expect(what).toMatch(/at byte \d+$/);
  });
});

it('the answer of a large page is what it is of a small one', async () => {
  const text = `{"ok":true,"ipos":[${'{"id":"a"},'.repeat(200_000)}{"id":"b"}],"errors":[]}`;
  const { rows } = (await interpret(text)) as { rows: readonly unknown[] };
  expect(rows).toHaveLength(200_001);
  expect([rows[0], rows.at(-1)]).toEqual([{ id: 'a' }, { id: 'b' }]);
  expect(await interpret(text.replace('[]}', '[1]}'))).toMatchObject({ code: 'SOURCE_REPORTED_ERROR' });
  expect(await interpret(text.replace('"ipos"', '"others"'))).toMatchObject({ code: 'SOURCE_WRONG_SHAPE' });
  expect(await interpret(text.slice(0, -1))).toMatchObject({ code: 'SOURCE_BODY_TRUNCATED' });
  expect(await interpret(`${text}]`)).toMatchObject({ code: 'SOURCE_BODY_DAMAGED' });
});

describe('a reader of rows', () => {
  const rows = [{ id: 'read' }];
  const asked: unknown[] = [];
  const readRows: PolicyContext['readRows'] = (body, mayRead, mostRows) => {
    asked.push([body.length, mayRead(Buffer.from('x')), mostRows]);
    return body.length > 5 ? rows : null;
  };
  afterEach(() => void asked.splice(0));

  it('is asked first, about an answer that may hold a page, and whether the token is in it', async () => {
    const small = { ...limits, rows: 3 };
    expect(await interpret('[1,2,3]', 200, {}, { readRows, shape, limits: small })).toEqual({
      kind: 'page',
      rows,
      next: null,
    });
    const echoed = { ...echoedToken, isIn: () => true };
    await interpret('[1,2,3]', 203, {}, { readRows, shape, echoedToken: echoed });
    expect(asked).toEqual([
      [7, true, 3],
      [7, false, limits.rows],
    ]);
    expect(await interpret('[1,2,3]', 500, {}, { readRows })).toMatchObject({ kind: 'failure' });
    expect(asked).toHaveLength(2);
  });

  it('leaves an answer that it cannot read to the parser', async () => {
    expect(await interpret('[1]', 200, {}, { readRows, shape })).toEqual({
      kind: 'page',
      rows: [1],
      next: null,
    });
    expect(asked).toHaveLength(1);
  });
});

it('the token is removed before an answer is read, be it small or large', async () => {
  const remove = (text: string) => text.replaceAll('TOKEN', '');
  const context = { echoedToken: { ...echoedToken, remove } };
  for (const more of ['', ' '.repeat(2 ** 20)])
    expect(await interpret(`{"ipos":["aTOKENb"]}${more}`, 200, {}, context)).toEqual({
      kind: 'page',
      rows: ['ab'],
      next: null,
    });
});

it.each([2 ** 20 - 9, 2 ** 20, 2 ** 20 + 1])(
  'an answer of %d bytes has as many rows as are taken, and not one more',
  async (bytes) => {
    const two = { limits: { ...limits, rows: 2 } };
    const answer = (rows: string) => rows.padEnd(bytes);
    expect(await interpret(answer('[1,2]'), 200, {}, two)).toEqual({
      kind: 'page',
      rows: [1, 2],
      next: null,
    });
    expect(await interpret(answer('{"ipos":[1,2,3]}'), 200, {}, two)).toMatchObject({
      code: 'SOURCE_TOO_MANY_ROWS',
    });
  },
);

it('ten keys are all named', async () => {
  const ten = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`k${index}`, index]));
  expect(await interpret(JSON.stringify(ten))).toMatchObject({ what: expect.stringMatching(/"k9"$/) });
});

it('reading a large answer ends when the signal aborts', async () => {
  const controller = new AbortController();
  const rows = Array(200_000).fill(`{"id":"${'x'.repeat(100)}"}`);
  const reading = interpret(`[${rows.join()}]`, 200, {}, { signal: controller.signal });
  controller.abort(new Error('stop'));
  await expect(reading).rejects.toThrow('stop');
});

it('an error answer of any depth has its status', async () => {
  expect(await interpret(`{"errors":${'['.repeat(30_000)}1${']'.repeat(30_000)}}`, 500)).toMatchObject({
    code: 'SOURCE_UNAVAILABLE',
  });
});

describe('the excerpt of a body', () => {
  it('is short and without control characters', async () => {
    const { what } = (await interpret(`<b>\u001b[31m\r\n\u202e${'x'.repeat(500)}`)) as { what: string };
    expect(what).toContain('<b> [31m x');
    expect(what).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(what.length).toBeLessThan(250);
  });

  it('has secrets removed before it is cut', async () => {
    const redact = (all: string) => all.replaceAll('SECRETTOKEN', '***');
    const result = await interpret(`${'x'.repeat(110)}SECRETTOKEN`, 500, {}, { redact });
    expect(result).toMatchObject({ what: expect.not.stringContaining('SEC') });
  });
});

describe('of a feed with omit', () => {
  const omit = ['phone', 'message'];
  const whatOf = async (body: string, status: number, own: Partial<PolicyContext>) =>
    ((await interpret(body, status, {}, own)) as { readonly what?: string }).what;

  it.each<[string, string, number?]>([
    ['is damaged beside a value', '{"ipos":[{"id":"a","phone":"PERSONAL"!}]}'],
    ['breaks off within it', '{"ipos":[{"id":"a","phone":"PERSONAL'],
    ['has it as a word', '{"ipos":[PERSONAL]}'],
    ['has bytes that are not UTF-8 beside it', '{"ipos":[{"phone":"PERSONAL","name":"\xff"}]}'],
    ['is no JSON', 'phone: PERSONAL'],
    ['comes with status 206', '{"ipos":[{"id":"a","phone":"PERSONAL"}]}', 206],
    ['reports an error beside it', '{"success":false,"ipos":[{"id":"a","phone":"PERSONAL"}]}'],
    ['reports an error without a list', '{"success":false,"ipos":"PERSONAL","message":"PERSONAL"}'],
    ['is a list of rows with status 500', '[{"id":"a","message":"PERSONAL"}]', 500],
  ])('an answer that %s is not quoted', async (_, body, status = 200) => {
    const bytes = Buffer.from(body, 'latin1') as unknown as string;
    expect(await whatOf(bytes, status, {})).toContain('PERSONAL');
    const what = await whatOf(bytes, status, { omit });
    expect(what).toMatch(/^GET /);
    expect(what).not.toContain('PERSONAL');
  });

  it('a message that is not beside rows is shown', async () => {
    expect(await whatOf('{"message":"No such key"}', 401, { omit })).toContain('No such key');
    expect(await whatOf('{"error":"slow down"}', 200, { omit })).toContain('slow down');
  });

  it('rows lack the members, and a row without members lacks its text', async () => {
    const read = await interpret(
      '{"ipos":[{"id":"a","phone":1,"lines":[{"message":2}]},"PERSONAL",[{"phone":3}],7,null]}',
      200,
      {},
      {
        omit: ['phone', 'lines.message', 'nowhere'],
      },
    );
    expect(read).toMatchObject({ kind: 'page', omitted: new Set(['phone', 'lines.message']) });
    const { rows } = read as { readonly rows: readonly unknown[] };
    expect(rows[0]).toEqual({ id: 'a', lines: [{}] });
    expect(rows.slice(1)).toMatchObject(
      [10, 13, 1, 4].map((bytes) => ({
        raw: '',
        whole: { bytes },
        reason: expect.stringContaining('omit') as string,
      })),
    );
  });
});
