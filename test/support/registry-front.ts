import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson, startHttpServer } from './http-server';
import { everySpelling } from './marked-secrets';

/** The registry behind a login. Its refusals repeat the password, each time in another spelling. */
export interface RegistryFront {
  readonly url: string;
  /** The only password that it takes. */
  password: string;
  /** It is broken, and answers nothing but the password. */
  repeats: boolean;
  /** What it answers to a question for the schema of an id, instead of the registry. */
  schemaOfId: { readonly status: number; readonly body: unknown } | null;
  stop(): Promise<void>;
}

/** @param behind address of the registry */
export async function startRegistryFront(behind: string, password: string): Promise<RegistryFront> {
  const front = { password, repeats: false, schemaOfId: null as RegistryFront['schemaOfId'] };
  let spoken = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, login = ''] = (request.headers.authorization ?? '').split(' ');
    const given = Buffer.from(login, 'base64')
      .toString()
      .replace(/^[^:]*:/, '');
    if (front.repeats || given !== front.password) {
      const spellings = [login, ...everySpelling(given)];
      const said = { message: spellings[spoken++ % spellings.length], error_code: 50_001 };
      return sendJson(response, said, front.repeats ? 500 : 401);
    }
    if (front.schemaOfId !== null && request.url!.startsWith('/schemas/ids/')) {
      const { status, body } = front.schemaOfId;
      return sendJson(response, body, status);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = 'GET', url = '' } = request;
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
    const answered = await fetch(`${behind}${url}`, { method, headers, ...body });
    sendJson(response, await answered.text(), answered.status);
  }

  const { url, stop } = await startHttpServer((request, response) => void answer(request, response));
  return Object.assign(front, { url, stop });
}
