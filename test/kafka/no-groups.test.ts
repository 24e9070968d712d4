import type { Admin, Consumer } from 'kafkajs';
import { startKafka } from '../../tools/servers/kafka';
import { commandLine } from '../support/cli';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld } from '../support/kafka-world';
import { uniquePrefix } from '../support/servers';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();
// Its own broker, because other suites create groups on a shared one.
const kafka = kafkaWorld(() => startKafka(), { registry: true });
/** Of all tests: they build on each other. */
const prefix = uniquePrefix();
const api = simulatedApi({ insights: 20, analysts: 20, ipos: 50 });
let admin: Admin;

beforeEach(async () => {
  admin = await kafka.admin();
});

function command(...args: string[]) {
  return cli(args, {
    cwd: folder(),
    env: { ...kafka.env(), ...apiEnv(api()), HIGHWATER_TOPIC_PREFIX: prefix },
  });
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
  api().marketDay.start(20);
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
    consumer = kafka.client().consumer({ groupId: 'classic' });
    await consumer.connect();
    await consumer.subscribe({ topic: `${prefix}ipos`, fromBeginning: true });
    const read = new Promise<void>((resolve) => {
      void consumer!.run({ eachMessage: async () => resolve() });
    });
    await read;
    expect(await traces()).toEqual(expect.arrayContaining(['__consumer_offsets', 'classic']));

    const asAdmin = await kafkaTools({ folder: folder() });
    await asAdmin(
      `kafka-console-consumer.sh --bootstrap-server ${kafka.brokers()} --topic ${prefix}ipos --from-beginning ` +
        '--max-messages 1 --group new --consumer-property group.protocol=consumer > /dev/null',
    );
    expect(await traces()).toEqual(expect.arrayContaining(['__consumer_offsets', 'classic', 'new']));
  });
});
