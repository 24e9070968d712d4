import type { Endpoint } from '../endpoints';
import { type Answer, answer, noRoute } from './answer';
import type { Fault } from './faults';

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
