import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { commandLine, outcome } from '../support/cli';
import { kafkaWorld } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const cli = commandLine();
const folder = tempFolder();
const sockets = new Set<Socket>();
const kafka = kafkaWorld();
const api = simulatedApi({ ipos: 5 });
let hanging: Server;

beforeAll(async () => {
  // As a broker that hangs, or a firewall: it takes connections and says nothing.
  hanging = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  }).listen(0, '127.0.0.1');
  await once(hanging, 'listening');
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  hanging?.close();
});

function start(...args: string[]) {
  const brokers = `127.0.0.1:${(hanging.address() as AddressInfo).port}`;
  const env = { ...kafka.env(), ...apiEnv(api()), KAFKA_BROKERS: brokers };
  return cli(args, { cwd: folder(), env });
}

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

it('commands say what they wait for, name the brokers, and give up in time', async () => {
  const lines = [
    ['status'],
    ['topics'],
    ['export', 'ipos'],
    ['tail', 'ipos', '--no-follow'],
    ['pause', 'ipos'],
    ['dead-letters', 'list'],
    ['groups'],
  ];
  const ended = await Promise.all(lines.map(async (line) => ({ line, ...(await outcome(start(...line))) })));

  for (const { line, code, err } of ended) {
    const [waits, failed] = [
      /Asking the brokers 127\.0\.0\.1:\d+ for (their topics|the groups) has not succeeded for 10 s/.exec(
        err,
      ),
      /KAFKA_UNREACHABLE.*no broker has answered for 15 s/.exec(err),
    ];
    expect({ line, code, waits: waits !== null, failed: failed !== null }).toEqual({
      line,
      code: 1,
      waits: true,
      failed: true,
    });
    expect(waits!.index).toBeLessThan(failed!.index);
    expect(err).not.toMatch(/batch|It is tried again\.\n.*It is tried again/);
  }
});

it('an operator who waits for it no longer is heard at once', async () => {
  const before = sockets.size;
  const tail = start('tail', 'ipos');
  await until(() => sockets.size > before);
  tail.signal('SIGINT');

  expect(await tail.ended()).toEqual({ code: null, signal: 'SIGINT' });
  expect(tail.stderr()).not.toMatch(/error/);
});
