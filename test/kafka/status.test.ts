import { statusContract } from '../contract/status';
import { type SharedServers, sharedServers, uniquePrefix } from '../support/servers';

let servers: SharedServers;
let prefix: string;

beforeAll(async () => {
  servers = await sharedServers();
});
beforeEach(() => {
  prefix = uniquePrefix();
});

statusContract('Kafka', () => ({
  KAFKA_BROKERS: servers.brokers,
  SCHEMA_REGISTRY_URL: servers.registryUrl,
  HIGHWATER_TOPIC_PREFIX: prefix,
}));
