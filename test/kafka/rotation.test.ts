import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { startKafka } from '../../tools/servers/kafka';
import { authority } from '../support/certificates';
import { commandLine, nodePrograms } from '../support/cli';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld } from '../support/kafka-world';
import { type RegistryFront, startRegistryFront } from '../support/registry-front';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { replaceFile, tempFolder } from '../support/temp-folder';

/** Passwords and certificates of the brokers and of the registry that are refused, and then replaced in their files. */

const cli = commandLine();
const program = nodePrograms();
const folder = tempFolder();
const passwords = {
  broker: ['broker-pass-0815', 'broker-pass-1234'],
  registry: ['registry-pass-0815', 'registry-pass-1234'],
} as const;

const users = [{ username: 'highwater', password: passwords.broker[0] }];
const listeners = { login: { login: { mechanisms: ['SCRAM-SHA-512'] as const, users } } };
const kafka = kafkaWorld(() => startKafka({ listeners }), { registry: true });
const api = simulatedApi({ ipos: 20 });
let registry: RegistryFront;

beforeAll(async () => {
  registry = await startRegistryFront(kafka.registryUrl(), passwords.registry[0]);
});
afterAll(() => registry?.stop());

/** Settings of a publisher, without those of the log. */
const publishing = () => ({
  ...apiEnv(api()),
  HIGHWATER_TOPIC_PREFIX: kafka.prefix(),
  HIGHWATER_APP_ID: `${kafka.prefix()}app`,
  HIGHWATER_POLL_INTERVAL: '500ms',
});

const write = (name: string, text: string) => replaceFile(folder(), name, text);

const consumer = `
const { connect } = require(process.env.DIST + '/consumer');
const topics = ['ipos', 'ipos.deal-status'];
connect().consume({ group: 'desk', topics, from: 'beginning' }, ({ topic, key }) => console.log(topic, key));
`;

it('a publisher and a group rest while a password is refused, and go on once its file is replaced', async () => {
  const broker = kafka.server().brokers[0]!;
  const env = {
    ...publishing(),
    KAFKA_BROKERS: broker.listeners.login!,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: 'highwater',
    KAFKA_SASL_PASSWORD_FILE: write('broker', passwords.broker[0]),
    SCHEMA_REGISTRY_URL: registry.url,
    SCHEMA_REGISTRY_USERNAME: 'highwater',
    SCHEMA_REGISTRY_PASSWORD_FILE: write('registry', 'not-the-password'),
  };
  const publisher = cli(['run', '--feeds', 'ipos'], { cwd: folder(), env });
  await publisher.sees(/code=REGISTRY_UNAUTHORIZED/, 'stderr');
  write('registry', passwords.registry[0]);
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');

  const reader = program([write('consumer.cjs', consumer)], { cwd: folder(), env });
  const known = [...api().truth('ipos').values()][0]!;
  await reader.sees(new RegExp(`ipos ${known.id}`));

  // The first status change has a schema that the consumer does not know yet.
  registry.password = passwords.registry[1];
  const { updated: _, ...rest } = known;
  const status = rest.deal_status === 'Priced' ? 'Withdrawn' : 'Priced';
  api().stores.ipos.upsert({ ...rest, deal_status: status } as never);
  await reader.sees(/The group \S+desk rests: GET \S+ answered 401/, 'stderr');
  expect(reader.stdout()).not.toContain('deal-status');
  write('registry', passwords.registry[1]);
  await reader.sees(new RegExp(`ipos\\.deal-status ${known.id}`));

  const run = await kafkaTools({ folder: folder() });
  const change = `--alter --entity-type users --entity-name highwater --add-config 'SCRAM-SHA-512=[password=${passwords.broker[1]}]'`;
  await run(`kafka-configs.sh --bootstrap-server ${kafka.brokers()} ${change}`);
  await broker.restart();
  await Promise.all([
    publisher.sees(/code=KAFKA_UNAUTHENTICATED/, 'stderr'),
    reader.sees(/The group \S+desk rests: .*SCRAM/, 'stderr'),
  ]);
  write('broker', passwords.broker[1]);
  api().stores.ipos.upsert({ ...rest, id: 'written-after' } as never);
  await reader.sees(/ipos written-after/);

  const said = publisher.stderr() + reader.stderr() + reader.stdout();
  for (const password of Object.values(passwords).flat()) expect(said).not.toContain(password);
});

it("the registry's authority is read again by a publisher and a group that refuse its certificate", async () => {
  const [ours, next] = [await authority('ours'), await authority('next')];
  const behind = new URL(kafka.registryUrl());
  const front = createServer(await ours.sign({ name: 'registry' }), (socket) => {
    const plain = connect({ host: behind.hostname, port: Number(behind.port) });
    for (const one of [socket, plain]) one.on('error', () => undefined);
    socket.pipe(plain).pipe(socket);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  try {
    const env = {
      ...publishing(),
      KAFKA_BROKERS: kafka.brokers(),
      SCHEMA_REGISTRY_URL: `https://127.0.0.1:${(front.address() as AddressInfo).port}${behind.pathname}`,
      SCHEMA_REGISTRY_CA_FILE: write('ca', next.cert),
    };
    const publisher = cli(['run', '--feeds', 'ipos'], { cwd: folder(), env });
    await publisher.sees(/code=REGISTRY_CERTIFICATE/, 'stderr');
    write('ca', ours.cert);
    await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
    const reader = program([write('consumer.cjs', consumer)], { cwd: folder(), env });
    const known = [...api().truth('ipos').values()][0]!;
    await reader.sees(new RegExp(`ipos ${known.id}`));

    front.setSecureContext(await next.sign({ name: 'registry' }));
    const { updated: _, ...rest } = known;
    const status = rest.deal_status === 'Priced' ? 'Withdrawn' : 'Priced';
    api().stores.ipos.upsert({ ...rest, deal_status: status } as never);
    await reader.sees(/The group \S+desk rests: .*certificate/, 'stderr');
    write('ca', next.cert);
    await reader.sees(new RegExp(`ipos\\.deal-status ${known.id}`));
  } finally {
    front.close();
  }
});

it('a group whose password no file holds ends with what to do', async () => {
  const env = {
    KAFKA_BROKERS: kafka.server().brokers[0]!.listeners.login!,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: 'highwater',
    KAFKA_SASL_PASSWORD: 'not-the-password',
    SCHEMA_REGISTRY_URL: registry.url,
  };
  const reader = program([write('consumer.cjs', consumer)], { cwd: folder(), env });
  expect((await reader.ended()).code).toBe(1);
  expect(reader.stderr()).toMatch(/code: 'KAFKA_UNAUTHENTICATED'/);
  expect(reader.stderr()).toContain('The consumer of the group desk ends.');
  expect(reader.stderr()).toContain('Then start the program again.');
  expect(reader.stderr()).not.toContain('not-the-password');
});
