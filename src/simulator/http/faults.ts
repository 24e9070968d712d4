import { z } from 'zod';
import { type Endpoint, type FeedName, feedNames } from '../endpoints';
import type { Random } from '../random';
import { type Answer, answer, noRoute } from './answer';

const retryAfter = z.strictObject({
  as: z.enum(['seconds', 'date', 'absent']).default('seconds'),
  seconds: z.number().min(0).default(1),
});

/** Faults of one answer. */
const faultSchema = z.discriminatedUnion('kind', [
  /** Any status, in one of the error shapes that have been seen (the usual one of that status unless given). */
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(200).max(599),
    shape: z.enum(['errors', 'message', 'string', 'text', 'html', 'empty']).optional(),
    retryAfter: retryAfter.optional(),
  }),
  /** The JSON ends in the middle; the HTTP answer itself is whole. */
  z.strictObject({ kind: z.literal('truncated') }),
  /** The connection is reset before the answer, or in the middle of its body. */
  z.strictObject({ kind: z.literal('reset'), when: z.enum(['before', 'middle']).default('before') }),
  /** The answer comes later. */
  z.strictObject({ kind: z.literal('delay'), ms: z.number().min(0) }),
  /** No answer ever, or half of it and then nothing. */
  z.strictObject({ kind: z.literal('hang'), when: z.enum(['before', 'middle']).default('before') }),
  /** The records under another top-level key. */
  z.strictObject({ kind: z.literal('wrong-key'), key: z.string().default('results') }),
  /** `{"data":null,"errors":[…],"ok":false}` with 200, or an error beside an empty list of records. */
  z.strictObject({
    kind: z.literal('not-ok'),
    status: z.int().default(200),
    beside: z.enum(['null', 'list']).default('null'),
  }),
  z.strictObject({
    kind: z.literal('redirect'),
    location: z.string().default('http://other-host.invalid/'),
    status: z.int().default(302),
    /** Appends path and query, token and all, as a careless server does. */
    withQuery: z.boolean().default(true),
  }),
  /** The right records, and a member that makes the body so many megabytes long. */
  z.strictObject({ kind: z.literal('large'), megabytes: z.number().positive() }),
  /** The gateway does not know the path. */
  z.strictObject({ kind: z.literal('no-route') }),
  /** A replica that is so many writes behind answers. */
  z.strictObject({ kind: z.literal('stale'), writes: z.int().min(1) }),
  /** Valid, but only the first so many rows of the page; 0 is an empty page. */
  z.strictObject({ kind: z.literal('short'), rows: z.int().min(0).default(0) }),
]);
export type Fault = z.infer<typeof faultSchema>;

/** When a fault happens: to the next `times` requests, or to each with a probability. */
const faultRuleSchema = z
  .strictObject({
    fault: faultSchema,
    /** Leaves other feeds alone. */
    feed: z.enum(feedNames).optional(),
    /** So many matching requests pass first. */
    skip: z.int().min(0).default(0),
    /** How many matching requests meet it; 1 unless there is a probability. */
    times: z.int().min(1).optional(),
    /** Each matching request meets it with this probability, drawn from the seed; without end unless `times` is given. */
    probability: z.number().min(0).max(1).optional(),
    /** Only requests that ask for more records than this. */
    pageSizeAbove: z.int().min(0).optional(),
  })
  .transform((rule) => ({
    ...rule,
    times: rule.times ?? (rule.probability === undefined ? 1 : Number.POSITIVE_INFINITY),
  }));
export type FaultRule = z.input<typeof faultRuleSchema>;

export function createFaultBook(random: Random) {
  let rules: z.output<typeof faultRuleSchema>[] = [];
  return {
    /** @throws ZodError that names the mistakes of the rule */
    add(rule: FaultRule): void {
      rules.push(faultRuleSchema.parse(rule));
    },
    clear(): void {
      rules = [];
    },
    /** The faults of this request: any delays, and at most one other fault. */
    draw(feed: FeedName, pageSize: number): Fault[] {
      const met: Fault[] = [];
      let struck = false;
      for (const rule of rules) {
        if (rule.feed !== undefined && rule.feed !== feed) continue;
        if (rule.pageSizeAbove !== undefined && pageSize <= rule.pageSizeAbove) continue;
        // One disruption a request: a script that comes after waits for the next one.
        if (struck && rule.fault.kind !== 'delay') continue;
        if (rule.skip > 0) {
          rule.skip--;
          continue;
        }
        if (rule.probability !== undefined && !random.chance(rule.probability)) continue;
        rule.times--;
        met.push(rule.fault);
        if (rule.fault.kind !== 'delay') struck = true;
      }
      rules = rules.filter((rule) => rule.times > 0);
      return met;
    },
  };
}

type StatusFault = Extract<Fault, { kind: 'status' }>;
type Shape = NonNullable<StatusFault['shape']>;

/** The shape in which each status has been seen; others come as `message`. */
const usualShapes: Readonly<Record<number, Shape>> = {
  401: 'errors',
  402: 'text',
  424: 'string',
  499: 'empty',
  500: 'errors',
  502: 'html',
  503: 'html',
};

const messages: Readonly<Record<number, string>> = {
  400: 'Invalid page size',
  401: 'Invalid or missing token',
  402: 'Payment required',
  403: 'You cannot consume this service',
  424: 'A service that this one needs did not answer',
  429: 'API rate limit exceeded',
  500: 'An unexpected error occurred',
};

/** The answer of a fault that needs no records; null when it is about how records are answered. */
export function answerWithoutRecords(
  fault: Fault,
  url: string,
  serverMs: number,
  { responseKey }: Endpoint,
): Answer | null {
  switch (fault.kind) {
    case 'status': {
      const { status, shape = usualShapes[status] ?? 'message', retryAfter } = fault;
      const { headers, ...plain } = shaped(status, shape);
      return { ...plain, headers: { ...headers, ...(retryAfter && retryAfterHeader(retryAfter, serverMs)) } };
    }
    case 'not-ok':
      return answer(
        fault.status,
        fault.beside === 'list'
          ? `{"status":"error","error":{"code":5,"message":"upstream failed"},"${responseKey}":[]}`
          : '{"data":null,"errors":[{"code":"internal","id":"internal","value":"upstream failed"}],"ok":false}',
      );
    case 'redirect': {
      const location = fault.withQuery ? fault.location.replace(/\/$/, '') + url : fault.location;
      return answer(fault.status, '', { location });
    }
    case 'no-route':
      return noRoute();
    default:
      return null;
  }
}

/** `Retry-After` as the vendor may write it. */
export function retryAfterHeader(
  retryAfter: NonNullable<StatusFault['retryAfter']>,
  serverMs: number,
): Record<string, string> {
  if (retryAfter.as === 'absent') return {};
  const value =
    retryAfter.as === 'seconds'
      ? String(Math.ceil(retryAfter.seconds))
      : new Date(serverMs + retryAfter.seconds * 1000).toUTCString();
  return { 'retry-after': value };
}

const bodies: Readonly<Record<Shape, (message: string, status: number) => string>> = {
  errors: (value) => JSON.stringify({ ok: false, errors: [{ code: 'error', id: 'error', value }] }),
  message: (message) => JSON.stringify({ message }),
  string: (message) => JSON.stringify(message),
  text: (text) => JSON.stringify({ text }),
  html: (message, status) =>
    `<html><head><title>${status}</title></head><body><h1>${message}</h1></body></html>`,
  empty: () => '',
};

function shaped(status: number, shape: Shape): Answer {
  const body = bodies[shape](messages[status] ?? 'Something went wrong', status);
  return answer(status, body, shape === 'html' ? { 'content-type': 'text/html' } : {});
}

/** Spoils an answer that has records. */
export function spoil(fault: Fault, whole: Answer, endpoint: Endpoint): Answer {
  switch (fault.kind) {
    case 'truncated':
      return { ...whole, body: whole.body.subarray(0, Math.max(1, Math.floor(whole.body.length * 0.6))) };
    case 'wrong-key':
      return {
        ...whole,
        body: Buffer.from(
          whole.body.toString().replace(`"${endpoint.responseKey}"`, JSON.stringify(fault.key)),
        ),
      };
    case 'large':
      return { ...whole, body: enlarged(whole.body, fault.megabytes * 1024 * 1024) };
    default:
      return whole;
  }
}

/** Spaces between tokens are JSON too: the records stay what they are, at any length. */
function enlarged(body: Buffer, bytes: number): Buffer {
  const missing = Math.max(0, Math.floor(bytes) - body.length);
  return Buffer.concat([body.subarray(0, 1), Buffer.alloc(missing, ' '), body.subarray(1)]);
}
