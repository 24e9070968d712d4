import type { Readable } from 'node:stream';
import axios from 'axios';
import { HighwaterError } from '../errors';
import { unseen } from '../logging/tracing';
import { isCertificateFailure } from '../net/certificate-failures';
import { networkCode, networkReason } from '../net/network-reason';
import { proxyFor } from '../net/proxy';
import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';
import { createAgents } from '../source/http-request';
import { retryAfterMs } from '../source/retry';
import { version } from '../version';
import type { Target } from './delivery';
import type { Message } from './message';

/** An event that a receiver has not taken. */
export class NotDelivered extends HighwaterError {
  /** The event is not sent again. */
  isFinal = false;
}

/** For the beginning of an answer, ms; the second from the moment when the program ends. */
const [ANSWER_MS, LAST_ANSWER_MS] = [15_000, 5_000];
/** For the rest of an answer, ms. Its status has said everything; its end keeps the connection for the next request. */
const REST_MS = 1_000;
/** The shortest pause that a receiver can ask for, ms. */
const LEAST_PAUSE_MS = 1_000;
const MOST_BYTES = 65_536;

/** These say that a receiver does not take this event, whatever it does with others. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Sends requests to one receiver, and keeps its connections. */
export function sender(
  { kind, url, shown }: Target,
  redact: Redact,
): { send(message: Message, ending: AbortSignal): Promise<void>; close(): void } {
  const agents = createAgents({});
  const { http: httpAgent, https: httpsAgent } = agents.now();

  /**
   * A request is not broken off at once when the program ends: the receiver may have taken it already.
   * @throws NotDelivered DELIVERY_FAILED, DELIVERY_REFUSED
   */
  async function send({ headers, body }: Message, ending: AbortSignal): Promise<void> {
    const began = performance.now();
    const late = new AbortController();
    const timers = [setTimeout(() => late.abort(), ANSWER_MS)];
    const hurry = () => timers.push(setTimeout(() => late.abort(), LAST_ANSWER_MS));
    ending.addEventListener('abort', hurry, { once: true });
    const proxy = proxyFor(url.value);
    const request = () =>
      axios.post<Readable>(url.value, body, {
        httpAgent,
        httpsAgent,
        ...(proxy && { proxy }),
        headers: { ...headers, 'User-Agent': `highwater/${version}` },
        responseType: 'stream',
        maxRedirects: 0,
        maxBodyLength: Number.POSITIVE_INFINITY,
        transformRequest: (text) => text,
        validateStatus: () => true,
        signal: late.signal,
      });
    const answer = await unseen(request)
      .catch((error: unknown) => {
        const seconds = Math.round((performance.now() - began) / 1_000);
        throw notDelivered(
          'DELIVERY_FAILED',
          late.signal.aborted ? `gave no answer for ${seconds} s` : why(error),
        );
      })
      .finally(() => {
        for (const timer of timers) clearTimeout(timer);
        ending.removeEventListener('abort', hurry);
      });
    const text = await beginningOf(answer.data);
    if (answer.status >= 200 && answer.status < 300) return;
    const said = text === '' ? '' : `: ${excerpt(text, redact)}`;
    const isRedirect = answer.status >= 300 && answer.status < 400;
    const what = `answered ${answer.status}${isRedirect ? ', and redirects are not followed' : said}`;
    const failure = notDelivered(REFUSALS.has(answer.status) ? 'DELIVERY_REFUSED' : 'DELIVERY_FAILED', what);
    const { 'retry-after': after, date } = answer.headers as Readonly<Record<string, string | undefined>>;
    const asked = retryAfterMs(after, date, Date.now());
    failure.retryAfterMs = asked === null ? undefined : Math.max(asked, LEAST_PAUSE_MS);
    throw failure;
  }

  function notDelivered(code: 'DELIVERY_FAILED' | 'DELIVERY_REFUSED', what: string): NotDelivered {
    return new NotDelivered(code, `${kind} ${shown} ${what}`);
  }

  /** The library's error holds the request with its secrets. */
  function why(error: unknown): string {
    const reason = excerpt(networkReason(error), redact);
    return isCertificateFailure(networkCode(error))
      ? `shows a certificate that is not trusted (${reason})`
      : `gave no answer (${reason})`;
  }

  return { send, close: agents.destroy };
}

/** The part that comes soon: an answer without end is cut off. */
async function beginningOf(answer: Readable): Promise<string> {
  const timer = setTimeout(() => answer.destroy(), REST_MS);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MOST_BYTES) break;
    }
  } catch {
    // The status counts even if the rest breaks off.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).toString();
}
