import { feedDefinitions } from '../../../src/feeds';
import type { FaultRule } from '../../../src/simulator/http/faults';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import { everyPrintedForm, failureOf, never, source, stopAll } from './client-fixture';

const ipos = feedDefinitions.find(({ name }) => name === 'ipos')!;
const all = { updatedSince: 0, pageOffset: 0, pageSize: 1_000 };
const oneTry = { retry: { attempts: 1 } };
let api: Simulator;

beforeAll(async () => {
  api = await startSimulator({ records: { ipos: 20, insights: 20, analysts: 20 } });
});
afterAll(() => api.stop());
afterEach(async () => {
  api.clearFaults();
  api.clearRequests();
  api.limitRate(null);
  await stopAll();
});

const faults: [FaultRule['fault'], string][] = [
  [{ kind: 'html' }, 'SOURCE_NOT_JSON'],
  [{ kind: 'xml' }, 'SOURCE_NOT_JSON'],
  [{ kind: 'empty-body' }, 'SOURCE_BODY_EMPTY'],
  [{ kind: 'truncated' }, 'SOURCE_BODY_TRUNCATED'],
  [{ kind: 'reset' }, 'SOURCE_UNREACHABLE'],
  [{ kind: 'reset', when: 'middle' }, 'SOURCE_BODY_TRUNCATED'],
  [{ kind: 'hang' }, 'SOURCE_TIMEOUT'],
  [{ kind: 'hang', when: 'middle' }, 'SOURCE_TIMEOUT'],
  [{ kind: 'wrong-key' }, 'SOURCE_WRONG_SHAPE'],
  [{ kind: 'not-ok' }, 'SOURCE_REPORTED_ERROR'],
  [{ kind: 'string' }, 'SOURCE_REPORTED_ERROR'],
  [{ kind: 'text' }, 'SOURCE_REPORTED_ERROR'],
  [{ kind: 'redirect' }, 'SOURCE_REDIRECTED'],
  [{ kind: 'large', megabytes: 2 }, 'SOURCE_BODY_TOO_LARGE'],
  [{ kind: 'no-route' }, 'SOURCE_NOT_FOUND'],
  [{ kind: 'status', status: 400 }, 'SOURCE_REQUEST_REFUSED'],
  [{ kind: 'status', status: 403 }, 'SOURCE_FORBIDDEN'],
  [{ kind: 'status', status: 500, shape: 'html' }, 'SOURCE_UNAVAILABLE'],
  [{ kind: 'status', status: 503, retryAfter: { as: 'date', seconds: 0 } }, 'SOURCE_UNAVAILABLE'],
];

it.each(faults)('%j is %s, once, and then the page comes', async (fault, code) => {
  // Short only if an answer hangs: the others must have time on a slow machine.
  const limits = { ...oneTry, ...(fault.kind === 'hang' && { idleTimeoutMs: 2_000 }) };
  const client = source(api.url, { token: api.token, limits });
  api.fault({ fault });
  const error = await failureOf(client.fetchPage(ipos, all, never));
  expect(error.code).toBe(code);
  expect(everyPrintedForm(error)).not.toContain(api.token);
  expect((await client.fetchPage(ipos, all, never)).rows).toHaveLength(20);
});
