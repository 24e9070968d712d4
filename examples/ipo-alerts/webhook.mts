/** The receiver does not want this one, today or tomorrow. */
export class Refused extends Error {}

const TIMEOUT_MS = 10_000;

/**
 * Delivers at least once: a crash between the answer and the consumer's commit repeats a POST. The receiver knows it again by
 * its Idempotency-Key, which is the event's id.
 * @throws Refused; any other error may pass
 */
export async function post(url: string, id: string, body: unknown, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': id },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (response.ok) return;
  const said = `${response.status} ${(await response.text()).slice(0, 200)}`.trim();
  const mayPass = response.status >= 500 || [408, 425, 429].includes(response.status);
  throw mayPass ? new Error(said) : new Refused(said);
}
