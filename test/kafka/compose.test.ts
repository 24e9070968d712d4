import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { type Kafka, startKafka } from '../../tools/servers/kafka';
import { freePort } from '../../tools/servers/ports';
import { type Registry, startRegistry } from '../../tools/servers/registry';
import { build, root } from '../support/build';
import { commandLine } from '../support/cli';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** What docker-compose.yml says, run without containers: same settings, commands and health checks, other addresses. */
interface Service {
  readonly environment: Readonly<Record<string, string | number>>;
  readonly command: readonly string[];
  readonly healthcheck: { readonly test: readonly string[] };
}

const { services } = parse(readFileSync(path.join(root, 'docker-compose.yml'), 'utf8')) as {
  services: Record<'kafka' | 'registry' | 'simulator' | 'publisher', Service>;
};
const cli = commandLine();
const folder = tempFolder();
let kafka: Kafka | undefined;
let registry: Registry | undefined;
afterEach(() => Promise.all([kafka?.stop(), registry?.stop()]));

/** The image's rule: KAFKA_NODE_ID is node.id. Variables of its start script are none of the broker's. */
function brokerProperties(there: (text: string) => string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(services.kafka.environment)
      .filter(([name]) => name !== 'KAFKA_HEAP_OPTS')
      .map(([name, value]) => [
        name
          .replace(/^KAFKA_/, '')
          .toLowerCase()
          .replaceAll('_', '.'),
        there(String(value)),
      ]),
  );
}

it('publishes from the simulator to Kafka, and the health checks tell', async () => {
  const [inside, outside, controller] = [await freePort(), await freePort(), await freePort()];
  const onThisMachine = (text: string) =>
    text
      .replaceAll('kafka:19092', `127.0.0.1:${inside}`)
      .replaceAll(':19092', `127.0.0.1:${inside}`)
      .replaceAll('127.0.0.1:9092', `127.0.0.1:${outside}`)
      .replaceAll(/(?<=\/\/):9092/g, `127.0.0.1:${outside}`)
      .replaceAll('localhost:29093', `127.0.0.1:${controller}`)
      .replaceAll('/var/lib/kafka/data', path.join(folder(), 'kafka'))
      .replaceAll('http://registry:8080', `http://127.0.0.1:${registry?.port}`)
      .replaceAll('127.0.0.1/8080', `127.0.0.1/${registry?.port}`);
  [kafka, registry] = await Promise.all([
    startKafka({ port: outside, properties: brokerProperties(onThisMachine) }),
    startRegistry(),
  ]);

  // The commands of the image.
  const bin = path.join(folder(), 'bin');
  mkdirSync(bin);
  const program = `#!/bin/sh\nexec "${process.execPath}" "${await build()}/cli/main.js" "$@"\n`;
  writeFileSync(path.join(bin, 'highwater'), program);
  chmodSync(path.join(bin, 'highwater'), 0o755);

  const simulator = cli(services.simulator.command.map((one) => (one === '8080' ? '0' : one)));
  const [, port = ''] = await simulator.sees(/address +http:\/\/0\.0\.0\.0:(\d+)/);
  const environment = Object.fromEntries(
    Object.entries(services.publisher.environment).map(([name, value]) => [
      name,
      onThisMachine(String(value).replace(/^\$\{\w+:-(.*)\}$/, '$1')).replace(
        'simulator:8080',
        `127.0.0.1:${port}`,
      ),
    ]),
  );

  const isHealthy = async (name: keyof typeof services): Promise<boolean> => {
    const [kind, ...rest] = services[name].healthcheck.test.map(onThisMachine);
    const command = kind === 'CMD-SHELL' ? ['sh', '-c', ...rest] : rest;
    const [file = '', ...args] = command.map((one) => one.replace('127.0.0.1:8080', `127.0.0.1:${port}`));
    const env = { ...environment, PATH: `${bin}:${process.env.PATH}` };
    return promisify(execFile)(file, args, { env, cwd: folder() }).then(
      () => true,
      () => false,
    );
  };
  expect(await isHealthy('registry')).toBe(true);
  expect(await isHealthy('simulator')).toBe(true);
  expect(await isHealthy('publisher')).toBe(false);

  const publisher = cli(services.publisher.command, { env: environment, cwd: folder() });
  await until(() => isHealthy('publisher'), 30_000);
  const outsideTail = cli(['tail', 'ipos', '--no-follow', '--limit', '1', '--json'], {
    env: { KAFKA_BROKERS: `127.0.0.1:${outside}`, SCHEMA_REGISTRY_URL: registry.url },
  });
  expect(await outsideTail.ended()).toEqual({ code: 0, signal: null });
  expect(JSON.parse(outsideTail.stdout())).toMatchObject({ topic: 'ipos', type: 'marketdata.ipos.Envelope' });
  publisher.signal('SIGTERM');
  expect(await publisher.ended()).toEqual({ code: 0, signal: null });

  await registry.kill();
  expect(await isHealthy('registry')).toBe(false);
}, 120_000);
