import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { pause } from '../../async/wait';
import { HighwaterError } from '../../errors';
import { answerLimits } from '../../json/limits';
import { parseJson } from '../../json/parse-json';
import { echoedToken } from '../../secrets/echoed-token';
import { proxyPasswords } from '../../secrets/proxy-passwords';
import { createRedactor } from '../../secrets/redaction';
import { type ApiAccess, authHeaders, secretsOf, tokenParameter } from '../../source/api-access';
import { inUtf8 } from '../../source/charset';
import { httpGet } from '../../source/http-get';
import { interpretResponse, type RawResponse } from '../../source/response-policy';

/** One answer of an endpoint of which nothing is known yet. */
export interface EndpointAnswer {
  /** Parsed JSON; undefined when the endpoint refused the request or answered with something else. */
  readonly body: unknown;
  readonly linkHeader: string | undefined;
}

export interface Endpoint {
  /** @throws HighwaterError SOURCE_* when there is no answer, or no JSON in it */
  first(): Promise<EndpointAnswer>;
  /** With more query parameters. A refusal is an answer: it says that the endpoint does not take them. */
  ask(query: Readonly<Record<string, string>>): Promise<EndpointAnswer>;
  close(): void;
}

export interface EndpointOptions {
  /** With the fixed query parameters. */
  readonly url: URL;
  readonly access: ApiAccess;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Many APIs allow ten requests a second. */
const PAUSE_MS = 100;
const bodyLimitBytes = 64 * 1024 * 1024;
const limits = { timeoutMs: 30_000, idleTimeoutMs: 15_000, bodyLimitBytes };

export function openEndpoint({ url, access, headers, signal }: EndpointOptions): Endpoint {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  const parameter = tokenParameter(access.auth);
  const redact = createRedactor([...secretsOf(access), ...proxyPasswords(process.env)], parameter);
  const address = `${url.origin}${url.pathname}`;
  const request = `GET ${redact(address)}`;

  async function get(query: Readonly<Record<string, string>>): Promise<RawResponse> {
    const asked = new URL(url);
    for (const [name, value] of Object.entries(query)) asked.searchParams.set(name, value);
    if (parameter !== null) asked.searchParams.set(parameter, access.token);
    const all = { ...headers, ...authHeaders(access) };
    const result = await httpGet({ url: asked.href, headers: all, request, agents, limits, redact, signal });
    if (result.kind === 'response') return result.response;
    throw new HighwaterError(result.code, `${result.what}.`);
  }

  return {
    async first() {
      const response = await get({});
      const answer = answerOf(response);
      if (answer.body !== undefined) return answer;
      const meaning = await interpretResponse(response, {
        responseKey: '',
        idField: 'id',
        updatedField: 'updated',
        paging: { style: 'none' },
        auth: access.auth,
        url: address,
        request,
        redact,
        echoedToken: echoedToken([access.token]),
        limits: answerLimits(bodyLimitBytes),
        signal,
        nowMs: Date.now(),
      });
      if (meaning.kind === 'page') return { body: meaning.rows, linkHeader: undefined };
      throw new HighwaterError(meaning.code, `${meaning.what}.`);
    },
    async ask(query) {
      await pause(PAUSE_MS, signal);
      signal.throwIfAborted();
      return answerOf(await get(query));
    },
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function answerOf({ status, headers, body }: RawResponse): EndpointAnswer {
  const nothing = { body: undefined, linkHeader: undefined };
  if (status !== 200) return nothing;
  const decoded = inUtf8(body, headers['content-type'], true).body;
  if (decoded === null) return nothing;
  try {
    return {
      body: parseJson(new TextDecoder('utf-8', { fatal: true }).decode(decoded.kept())),
      linkHeader: headers.link,
    };
  } catch {
    return nothing;
  }
}
