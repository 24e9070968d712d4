import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { commandLine, commandLineHere } from '../support/cli';
import { askDoctor } from '../support/doctor';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';

const here = commandLineHere();
const cli = commandLine();
const folder = tempFolder();
const settings = ['offsets.topic.replication.factor', 'transaction.state.log.replication.factor'];

describe('one broker with the defaults of Kafka for three', () => {
  let server: Cluster | undefined;
  let simulator: Simulator | undefined;
  let env: Record<string, string>;
  beforeAll(async () => {
    const properties = {
      ...Object.fromEntries(settings.map((name) => [name, 3])),
      'transaction.state.log.min.isr': 2,
    };
    const [kafka, { registryUrl }] = await Promise.all([startKafka({ properties }), sharedServers()]);
    server = kafka;
    simulator = await startSimulator({ records: { insights: 5, analysts: 5, ipos: 5 } });
    env = {
      KAFKA_BROKERS: server.bootstrap,
      SCHEMA_REGISTRY_URL: registryUrl,
      HIGHWATER_TOPIC_PREFIX: uniquePrefix(),
      HIGHWATER_API_URL: simulator.url,
      HIGHWATER_API_TOKEN: simulator.token,
    };
  }, 120_000);
  afterAll(async () => {
    await simulator?.stop();
    await server?.stop();
  });

  it('has both settings and the number of brokers named by doctor', async () => {
    const { code, of } = await askDoctor(here, ['--feeds', 'ipos'], { cwd: folder(), env });
    expect(code).toBe(1);
    for (const [index, check] of (['group', 'transactions'] as const).entries()) {
      const { state, found, do: remedy } = of(check);
      expect(state).toBe('failed');
      expect(found).toContain(`${settings[index]} is 3`);
      expect(remedy).toContain('The cluster has 1 broker,');
      expect(remedy).toContain(settings[index]);
    }
  }, 60_000);

  it('has them named by run', async () => {
    const running = cli(['run', '--once', '--feeds', 'ipos'], { cwd: folder(), env });
    expect((await running.ended()).code).toBe(1);
    const said = running.stderr().replace(/\s+/g, ' ');
    expect(said).toContain('The cluster has 1 broker');
    for (const name of settings) expect(said).toContain(name);
  }, 120_000);
});
