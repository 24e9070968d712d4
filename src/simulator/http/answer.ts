import type { Behaviour } from '../behaviour';
import type { Endpoint } from '../endpoints';
import { joinRecords, type RecordBytes } from '../store/view';

/** An HTTP answer before it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export const json = 'application/json; charset=utf-8';

export function answer(status: number, body: string | Buffer, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { 'content-type': json, ...headers },
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
}

export const badRequest = (message: string): Answer => answer(400, JSON.stringify({ message }));

export const unauthorized = (): Answer =>
  answer(
    401,
    JSON.stringify({
      ok: false,
      errors: [{ code: 'auth_failed', id: 'auth_failed', value: 'Invalid or missing token' }],
    }),
  );

/** The gateway's answer to an unknown path. */
export const noRoute = (): Answer => answer(404, '{"message":"no Route matched with those values"}');

/** A page of records in the shape that the behaviour asks for. */
export function pageOf(endpoint: Endpoint, behaviour: Behaviour, rows: readonly RecordBytes[]): Answer {
  const key = endpoint.responseKey;
  const [begin, end] = behaviour.bodyAs === 'bare' ? ['[', ']'] : [`{"${key}":[`, ']}'];
  const page = rows.length === 0 ? emptyPage(key, behaviour) : answer(200, joinRecords(begin!, rows, end!));
  return behaviour.charset === 'utf-8' ? page : inLatin1(page);
}

function inLatin1(page: Answer): Answer {
  const text = page.body.toString();
  const escaped = text.replace(/[^\0-\xff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const headers = { 'content-type': 'application/json; charset=iso-8859-1' };
  return { ...page, headers, body: Buffer.from(escaped, 'latin1') };
}

function emptyPage(key: string, behaviour: Behaviour): Answer {
  switch (behaviour.emptyAs) {
    case 'not-found':
      return answer(404, '{"code":"no_data_found","id":"not_found"}');
    case 'null':
      return answer(200, `{"${key}":null}`);
    case 'object':
      return answer(200, '{}');
    case 'bare':
      return answer(200, '[]');
    case 'array':
      return answer(200, behaviour.bodyAs === 'bare' ? '[]' : `{"${key}":[]}`);
  }
}
