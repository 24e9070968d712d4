import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  type Link,
  type ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { HighwaterError } from '../errors';
import { version } from '../version';

/** Spans for the OpenTelemetry SDK of the process. Without an SDK, work is only called. */

export interface SpanOptions {
  readonly kind?: keyof typeof SpanKind;
  readonly attributes: Attributes;
  /** The active context if absent; null: the span begins a trace. */
  readonly parent?: Context | null;
  readonly links?: Link[];
}

const FLUSH_MS = 1_000;

type Headers = Readonly<Record<string, string>>;

/**
 * @param options asked for if there is an SDK
 * @param work gets the span, which ends with it; null without an SDK
 */
export function traced<Result>(
  name: string,
  options: () => SpanOptions,
  work: (span: Span | null) => Promise<Result>,
): Promise<Result> {
  const tracer = provider().getDelegateTracer('highwater', version);
  if (tracer === undefined) return work(null);
  const { kind = 'INTERNAL', attributes, parent = context.active(), links = [] } = options();
  const around = parent ?? ROOT_CONTEXT;
  const span = tracer.startSpan(name, { kind: SpanKind[kind], attributes, links }, around);
  return context.with(trace.setSpan(around, span), async () => {
    try {
      return await work(span);
    } catch (error) {
      if (error instanceof HighwaterError) failSpan(span, error);
      else failSpan(span, { code: (error as Error)?.name ?? typeof error, message: String(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** @param message without secrets */
export function failSpan(
  span: Span | null,
  { code, message }: { readonly code: string; readonly message: string },
): void {
  span?.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR, message });
}

/** Headers by which the reader of a message finds the active span; none without an SDK. */
export function traceHeaders(): Headers {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/**
 * Hides a request from instrumentation of the HTTP client. Its span would show the whole address, which may hold a secret, and it would
 * tell the server of the trace.
 */
export function unseen<Result>(request: () => Promise<Result>): Promise<Result> {
  return context.with(context.active().setValue(SUPPRESSED, true), request);
}

/** As in `suppressTracing` of the SDK. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** The caller's context, for work that may run in the context of another task. */
export function activeContext(): Context {
  return context.active();
}

/** The context that a message came with. */
export function contextOf(headers: Headers): Context {
  return propagation.extract(ROOT_CONTEXT, headers);
}

/** Links to the spans that messages came from, each once. */
export function linksTo(messages: readonly { readonly headers: Headers }[]): Link[] {
  const links = new Map<string, Link>();
  for (const { headers } of messages) {
    const found = trace.getSpanContext(contextOf(headers));
    if (found !== undefined) links.set(found.spanId, { context: found });
  }
  return [...links.values()];
}

/** An SDK keeps spans for some seconds, and the process may end before. A collector that does not answer must not hold it up. */
export async function flushSpans(): Promise<void> {
  const sdk = provider().getDelegate() as { forceFlush?(): Promise<void> };
  const flushed = sdk.forceFlush?.().catch(() => undefined);
  if (flushed !== undefined) await Promise.race([flushed, delay(FLUSH_MS, undefined, { ref: false })]);
}

/** Before an SDK is registered this is a provider without a delegate. */
function provider(): ProxyTracerProvider {
  return trace.getTracerProvider() as ProxyTracerProvider;
}
