import { type Admin, type Consumer, Kafka, logLevel } from 'kafkajs';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { commandLine } from '../support/cli';
import { kafkaTools } from '../support/kafka-tools';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();
const prefix = uniquePrefix();
let server: Cluster;
let registryUrl = '';
let kafka: Kafka;
let admin: Admin;
let simulator: Simulator;

// Its own broker, because other suites create groups on a shared one.
beforeAll(async () => {
  [server, { registryUrl }] = await Promise.all([startKafka(), sharedServers()]);
  kafka = new Kafka({ brokers: server.bootstrap.split(','), logLevel: logLevel.NOTHING });
  admin = kafka.admin();
  await admin.connect();
  simulator = await startSimulator({ records: { insights: 20, analysts: 20, ipos: 50 } });
});
afterAll(async () => {
  await simulator?.stop();
  await admin?.disconnect();
  await server?.stop();
});

function command(...args: string[]) {
  const env = {
    KAFKA_BROKERS: server.bootstrap,
    SCHEMA_REGISTRY_URL: registryUrl,
    HIGHWATER_TOPIC_PREFIX: prefix,
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
  };
  return cli(args, { cwd: folder(), env });
}

async function members(groupId: string): Promise<number> {
  const { groups } = await admin.describeGroups([groupId]);
  return groups[0]!.members.length;
}

/** Groups of any kind and state, and the topic of Kafka's own that the first question for a group makes. */
async function traces() {
  const { groups } = await admin.listGroups();
  const topics = (await admin.listTopics()).filter((name) => name === '__consumer_offsets');
  return [...groups.map(({ groupId }) => groupId), ...topics].sort();
}

it('only a publisher that runs has a consumer group, in which it shares its feeds, and no reader has any', async () => {
  expect(await traces()).toStrictEqual([]);

  expect((await command('doctor').ended()).code).toBe(0);
  expect(await traces()).toStrictEqual([]);

  // The topic comes with the first group ever, and stays.
  expect((await command('run', '--once').ended()).code).toBe(0);
  expect(await traces()).toEqual(['__consumer_offsets']);

  const whole = command('tail', 'ipos', '--from-beginning', '--no-follow', '--json');
  expect((await whole.ended()).code).toBe(0);
  expect(whole.stdout().trim().split('\n')).toHaveLength(50);
  expect(await traces()).toEqual(['__consumer_offsets']);

  const following = command('tail', 'ipos', '--from-beginning', '--json');
  await following.sees(/"op":"r"/);
  const running = command('run', '--poll-interval', '100ms');
  await running.sees(/Writing to Kafka/, 'stderr');
  simulator.marketDay.start(20);
  await following.sees(/"op":"u"/, 'stdout');
  expect(await traces()).toEqual(['__consumer_offsets', `highwater:${prefix}owners`]);
  running.signal('SIGTERM');
  following.signal('SIGINT');
  await Promise.all([running.ended(), following.ended()]);
  expect(await members(`highwater:${prefix}owners`)).toBe(0);

  expect((await command('doctor').ended()).code).toBe(0);
  expect(await traces()).toEqual(['__consumer_offsets', `highwater:${prefix}owners`]);
});

describe('what shows that there is none', () => {
  let consumer: Consumer | null = null;
  afterEach(() => consumer?.disconnect());

  it('shows groups that there are: with members and without, of either protocol', async () => {
    consumer = kafka.consumer({ groupId: 'classic' });
    await consumer.connect();
    await consumer.subscribe({ topic: `${prefix}ipos`, fromBeginning: true });
    const read = new Promise<void>((resolve) => {
      void consumer!.run({ eachMessage: async () => resolve() });
    });
    await read;
    expect(await traces()).toEqual(expect.arrayContaining(['__consumer_offsets', 'classic']));

    const asAdmin = await kafkaTools({ folder: folder() });
    await asAdmin(
      `kafka-console-consumer.sh --bootstrap-server ${server.bootstrap} --topic ${prefix}ipos --from-beginning ` +
        '--max-messages 1 --group new --consumer-property group.protocol=consumer > /dev/null',
    );
    expect(await traces()).toEqual(expect.arrayContaining(['__consumer_offsets', 'classic', 'new']));
  });
});
