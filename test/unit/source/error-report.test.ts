import { partialBy, reportedCode, reportsError, saysFailure } from '../../../src/source/error-report';

const isError = (answer: string, key = 'data') => {
  const value = JSON.parse(answer) as Record<string, unknown>;
  return saysFailure(value) || reportsError(value, key);
};

it.each([
  '{"success":false,"error":{"code":104,"info":"Your monthly usage limit has been reached."},"data":[]}',
  '{"status":"error","message":"over capacity","data":[]}',
  '{"status":"ERROR","data":[]}',
  '{"status":"fail","data":null}',
  '{"stat":"fail","code":100,"data":[]}',
  '{"result":"error","data":[]}',
  '{"error":"invalid key","data":[]}',
  '{"error":true,"data":[]}',
  '{"error":{"message":"x"},"data":null}',
  '{"Error":"x","data":[]}',
  '{"errors":["x"],"data":[]}',
  '{"errors":{"since":["is not a date"]},"data":[]}',
  '{"errors":"x","data":[]}',
  '{"error_code":17,"data":[]}',
  '{"errorCode":"E17","data":[]}',
  '{"error_message":"x","data":[]}',
  '{"errno":-3,"data":[]}',
  '{"code":429,"message":"Too many requests","data":[]}',
  '{"code":"503","data":[]}',
  '{"code":-1003,"msg":"Way too many requests","data":[]}',
  '{"code":40301,"message":"not allowed","data":[]}',
  '{"code":"RATE_LIMITED","message":"x","data":[]}',
  '{"statusCode":500,"data":[]}',
  '{"status":500,"data":[]}',
  '{"status":{"error_code":1001,"error_message":"This API Key is invalid."},"data":[]}',
  '{"meta":{"code":400},"data":[]}',
  '{"meta":{"success":false},"data":[]}',
  '{"Success":"false","data":[]}',
  '{"isSuccess":0,"data":[]}',
  '{"fault":{"faultstring":"x"},"data":[]}',
])('%s is an error', (answer) => {
  expect(isError(answer)).toBe(true);
});

it.each([
  '{"data":[]}',
  '{"error":null,"errors":[],"data":[]}',
  '{"error":"","data":[]}',
  '{"error":false,"data":[]}',
  '{"error":{},"data":[]}',
  '{"error":{"code":0,"message":"OK"},"data":[]}',
  '{"error":"No error.","data":[]}',
  '{"error":[null],"data":[]}',
  '{"success":true,"ok":true,"data":[]}',
  '{"success":null,"data":[]}',
  '{"message":"ok","data":[]}',
  '{"message":"No records found","data":[]}',
  '{"status":"ok","data":[]}',
  '{"status":"success","code":"200","data":[]}',
  '{"status":200,"data":[]}',
  '{"status":"open","data":[]}',
  '{"status":"failed","data":[]}',
  '{"code":50000,"data":[]}',
  '{"status":"no_data","data":[]}',
  '{"code":0,"data":[]}',
  '{"code":200,"message":"success","data":[]}',
  '{"code":1,"msg":"success","data":[]}',
  '{"code":20000,"data":[]}',
  '{"status":{"error_code":0,"error_message":null,"credit_count":1},"data":[]}',
  '{"meta":{"total":0,"limit":500,"offset":0},"data":[]}',
  '{"meta":{"page":404},"total":0,"count":0,"limit":429,"data":[]}',
  '{"warnings":["slow"],"warning":"slow","data":[]}',
  '{"type":"list","object":"list","result":"ok","data":[]}',
])('%s is no error', (answer) => {
  expect(isError(answer)).toBe(false);
});

it('the rows themselves are no report, whatever they are called', () => {
  expect(isError('{"error":[],"status":"ok"}', 'error')).toBe(false);
  expect(isError('{"status":{"items":[]}}', 'status.items')).toBe(false);
  expect(isError('{"meta":{"errors":[]}}', 'meta.errors')).toBe(false);
});

it('a report beside the rows is found on the way to them', () => {
  expect(isError('{"data":{"error":"x","items":[]}}', 'data.items')).toBe(true);
  expect(isError('{"data":{"success":false,"items":[]}}', 'data.items')).toBe(true);
  expect(isError('{"data":{"page":{"error":null,"items":[]}}}', 'data.page.items')).toBe(false);
});

it('beside rows, a verdict and a list of errors count, and all else may be a warning', () => {
  const rows = (more: string) => JSON.parse(`{${more},"data":[1]}`) as Record<string, unknown>;
  expect(saysFailure(rows('"success":false'))).toBe(true);
  expect(saysFailure(rows('"errors":["half of it"]'))).toBe(true);
  expect(saysFailure(rows('"error":"slow"'))).toBe(false);
  expect(saysFailure(rows('"status":"error"'))).toBe(false);
  expect(saysFailure(rows('"succeeded":0'))).toBe(false);
});

it.each<[string, string | null, string?]>([
  ['{"incomplete_results":true,"items":[]}', 'incomplete_results'],
  ['{"incompleteSearch":true}', 'incompleteSearch'],
  ['{"timed_out":true,"_shards":{"failed":1}}', 'timed_out'],
  ['{"timed_out":false,"_shards":{"total":3,"failed":1}}', '_shards.failed'],
  ['{"incomplete_results":false,"timed_out":false,"_shards":{"failed":0}}', null],
  ['{"partial":"yes","incomplete":1,"items":[{"partial":true}]}', null],
  ['{"partial":"true","items":[]}', 'partial'],
  ['{"partial":"false","items":[]}', null],
  ['{"meta":{"partial":true},"items":[]}', 'meta.partial'],
  ['{"other":{"partial":true},"items":[]}', null],
  ['{"responseHeader":{"partialResults":true},"items":[]}', 'responseHeader.partialResults'],
  ['{"data":{"timed_out":true,"hits":[{"timed_out":true}]}}', 'data.timed_out', 'data.hits'],
  ['{"raw":{"_shards":{"failed":1},"hits":{"hits":[]}}}', 'raw._shards.failed', 'raw.hits.hits'],
  ['{"items":[],"unreachable":["projects/p/locations/europe-west9"]}', 'unreachable'],
  ['{"items":[],"unreachable":[]}', null],
  ['{"hosts":["db1"],"unreachable":["db7"]}', null, 'hosts'],
  ['{"status":"timeout","runs":[]}', null, 'runs'],
  ['{"items":[],"missingZones":["europe-west9-a"]}', 'missingZones'],
  ['{"items":[],"failedLocations":["europe-west9-a"]}', 'failedLocations'],
  ['{"items":[],"warning":{"code":"UNREACHABLE"}}', 'warning'],
  ['{"items":[],"warning":{"code":"NO_RESULTS_ON_PAGE"}}', null],
  ['{"items":[],"meta":{"status":"timeout"}}', 'meta.status'],
  ['{"items":[],"meta":{"status":"done"}}', null],
])('%s lacks rows by %p', (text, member, key = 'items') => {
  expect(partialBy(JSON.parse(text), key, false)).toBe(member);
});

it('an answer that is cut lacks rows if no page follows it', () => {
  expect(partialBy({ truncated: true, tree: [] }, 'tree', true)).toBe('truncated');
  expect(partialBy({ truncated: true, tree: [] }, 'tree', false)).toBeNull();
});

it.each<[unknown, boolean]>([
  [{ ok: false, error: 'token_expired' }, true],
  [{ error: { code: 498, message: 'Invalid token.' } }, true],
  [{ status: '401', message: 'Unauthorized' }, true],
  [{ errors: [{ code: 'AccessTokenExpired' }] }, true],
  [{ error: 'Unauthorized' }, true],
  ['expired_token', true],
  [{ error: 'invalid_page_token' }, false],
  [{ error: 'token_expired_soon' }, false],
  [{ error: { code: 4010, message: 'invalid token' } }, false],
  [{ message: 'Unauthorized' }, false],
  [{ error: { error: { code: 401 } } }, false],
  [null, false],
])('an exact code of the report says that the token is over: %j', (answer, isOver) => {
  expect(reportedCode(answer, {})).toBe(isOver ? 'SOURCE_UNAUTHORIZED' : null);
  // A cursor may be a token that is over, too.
  expect(reportedCode(answer, { hasCursor: true })).toBeNull();
});
