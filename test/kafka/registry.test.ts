import { confluentRegistry } from '../../src/avro/confluent-registry';
import { schemaRegistryContract } from '../contract/schema-registry';
import { sharedServers } from '../support/servers';
import { quietLogger } from '../support/source';

let url = '';
beforeAll(async () => {
  url = (await sharedServers()).registryUrl;
}, 90_000);

schemaRegistryContract('a Confluent-compatible server', async () => ({
  open: () => confluentRegistry({ url, auth: null, registration: 'register' }, { logger: quietLogger() }),
  close: async () => {},
}));
