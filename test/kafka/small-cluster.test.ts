import { startKafka } from '../../tools/servers/kafka';
import { commandLine, commandLineHere } from '../support/cli';
import { askDoctor } from '../support/doctor';
import { kafkaWorld } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';

const here = commandLineHere();
const cli = commandLine();
const folder = tempFolder();
const settings = ['offsets.topic.replication.factor', 'transaction.state.log.replication.factor'];

describe('one broker with the defaults of Kafka for three', () => {
  const properties = {
    ...Object.fromEntries(settings.map((name) => [name, 3])),
    'transaction.state.log.min.isr': 2,
  };
  const kafka = kafkaWorld(() => startKafka({ properties }), { registry: true });
  const api = simulatedApi({ insights: 5, analysts: 5, ipos: 5 });
  const options = () => ({ cwd: folder(), env: { ...kafka.env(), ...apiEnv(api()) } });

  it('has both settings and the number of brokers named by doctor', async () => {
    const { code, of } = await askDoctor(here, ['--feeds', 'ipos'], options());
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
    const running = cli(['run', '--once', '--feeds', 'ipos'], options());
    expect((await running.ended()).code).toBe(1);
    const said = running.stderr().replace(/\s+/g, ' ');
    expect(said).toContain('The cluster has 1 broker');
    for (const name of settings) expect(said).toContain(name);
  }, 120_000);
});
