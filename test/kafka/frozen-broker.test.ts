import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { commandLine, until } from '../support/cli';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();
const sockets = new Set<Socket>();
let hanging: Server;
let simulator: Simulator;
let env: Record<string, string>;

beforeAll(async () => {
  const { registryUrl } = await sharedServers();
  simulator = await startSimulator({ records: { insights: 0, analysts: 0, ipos: 5 } });
  // As a broker that hangs, or a firewall: it takes connections and says nothing.
  hanging = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  }).listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  env = {
    KAFKA_BROKERS: `127.0.0.1:${(hanging.address() as AddressInfo).port}`,
    SCHEMA_REGISTRY_URL: registryUrl,
    HIGHWATER_TOPIC_PREFIX: uniquePrefix(),
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
  };
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  hanging?.close();
  await simulator?.stop();
});

const start = (...args: string[]) => cli(args, { cwd: folder(), env });

it('a broker that says nothing is named as one that cannot be reached, in bounded time', async () => {
  const commands = [
    start('run', '--once', '--feeds', 'ipos'),
    start('tail', 'ipos', '--no-follow'),
    start('doctor', '--feeds', 'ipos'),
  ];
  const codes = await Promise.all(commands.map(async (one) => (await one.ended()).code));
  const [run, tail, doctor] = commands.map((one) => one.stdout() + one.stderr());

  expect(codes).toEqual([1, 1, 1]);
  for (const said of [run, tail, doctor]) {
    expect(said).toMatch(/KAFKA_UNREACHABLE|✗ brokers/);
    expect(said).not.toMatch(/fault in highwater|UNEXPECTED|report it/);
  }
  expect(tail).toContain('Nothing more is shown');
  // Checks that do not need the broker still run.
  expect(doctor).toMatch(/✓ schemas +ipos|✓ registry/);
});

it('an operator who waits for it no longer is heard at once', async () => {
  const before = sockets.size;
  const tail = start('tail', 'ipos');
  await until(() => sockets.size > before);
  tail.signal('SIGINT');

  expect(await tail.ended()).toEqual({ code: null, signal: 'SIGINT' });
  expect(tail.stderr()).not.toMatch(/error/);
});
