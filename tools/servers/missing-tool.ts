/** Something that this machine lacks, in three parts: what is missing, what happens now, what to do. */
export class MissingToolError extends Error {
  constructor(what: string, remedy: string, options?: { cause?: unknown }) {
    super(`${what}\n  ${now}\n  ${remedy}, ${others}`, options);
    this.name = 'MissingToolError';
  }
}

const now = 'Kafka and the schema registry were not started.';
const others =
  'or set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to servers that run, or run the tests that need neither: npm test.';
