/** An OpenTelemetry SDK for `node --require`: spans go to the file `SPANS`, a line each. */
const { appendFileSync } = require('node:fs');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const { BatchSpanProcessor, NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');

function line(span) {
  const { name, kind, attributes, status, links, parentSpanContext } = span;
  const { traceId, spanId } = span.spanContext();
  const linked = links.map(({ context }) => context.spanId);
  const parent = parentSpanContext?.spanId;
  return `${JSON.stringify({ name, kind, traceId, spanId, parent, attributes, status, linked })}\n`;
}

const exporter = {
  export(spans, done) {
    appendFileSync(process.env.SPANS, spans.map(line).join(''));
    done({ code: 0 });
  },
  shutdown: async () => undefined,
};

// Spans are in the file only if they are flushed before the process ends: by highwater itself, or by the program that uses it.
const spanProcessors = [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 3_600_000 })];
const provider = new NodeTracerProvider({ spanProcessors });
provider.register();
// It hides only some parameters of addresses.
new HttpInstrumentation().setTracerProvider(provider);
if (process.env.FLUSH !== undefined) process.once('beforeExit', () => provider.forceFlush());
