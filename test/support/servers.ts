import { randomBytes } from 'node:crypto';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';

export interface SharedServers {
  /** As KAFKA_BROKERS takes it: `127.0.0.1:19092`. */
  readonly brokers: string;
  /** As SCHEMA_REGISTRY_URL takes it. */
  readonly registryUrl: string;
}

/**
 * The Kafka and the registry that all suites of a run share: those of KAFKA_BROKERS and SCHEMA_REGISTRY_URL, else a pair
 * that the first call starts, in some ten seconds (call it in `beforeAll`), and the end of the run stops. Every test keeps
 * to topics of its own (`uniquePrefix`) and leaves the servers as they are. A suite that stops, freezes or starves a broker,
 * or needs users, a proxy or three brokers, starts its own by `startKafka` of tools/servers: a start costs 1.5 s of a
 * processor for each broker, less than suites that disturb each other. Suites that call this are in test/kafka.
 * @throws when the servers cannot be started, with what is missing and what to do
 */
export async function sharedServers(): Promise<SharedServers> {
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL, HIGHWATER_TEST_SERVERS } = process.env;
  if (KAFKA_BROKERS && SCHEMA_REGISTRY_URL)
    return { brokers: KAFKA_BROKERS, registryUrl: SCHEMA_REGISTRY_URL };
  if (KAFKA_BROKERS || SCHEMA_REGISTRY_URL) {
    throw new Error(
      `Only ${KAFKA_BROKERS ? 'KAFKA_BROKERS' : 'SCHEMA_REGISTRY_URL'} is set: set both, or none of them.`,
    );
  }
  if (!HIGHWATER_TEST_SERVERS)
    throw new Error('Run the suite by jest.config.cjs: its globalSetup is missing.');
  const answer = JSON.parse(await text(createConnection(HIGHWATER_TEST_SERVERS))) as
    | { readonly addresses: SharedServers }
    | { readonly failure: string };
  if ('failure' in answer) throw new Error(answer.failure);
  return answer.addresses;
}

/** Goes before the names of a test's topics: no other test and no other run has the same. */
export function uniquePrefix(): string {
  return `test-${randomBytes(5).toString('hex')}.`;
}
