import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Kafka, startKafka } from '../../tools/servers/kafka';
import { freePort } from '../../tools/servers/ports';
import { type Registry, startRegistry } from '../../tools/servers/registry';
import { build, root } from '../support/build';
import { commandLine } from '../support/cli';
import { composeFile, withoutVariable } from '../support/compose-file';
import { samplesOf } from '../support/metrics-text';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

// docker-compose.yml without containers: the same settings, commands and health checks, with other addresses.
const { services, secrets } = composeFile();
const cli = commandLine();
const folder = tempFolder();
let kafka: Kafka | undefined;
let registry: Registry | undefined;
afterEach(() => Promise.all([kafka?.stop(), registry?.stop()]));

type Publisher = 'publisher-1' | 'publisher-2';
const isPublisher = (name: string): name is Publisher => name.startsWith('publisher-');
const secretFile = (name: string) => path.join(root, withoutVariable(secrets[name]!.file));

/** The image's rule: KAFKA_NODE_ID is node.id. Variables of its start script are none of the broker's. */
function brokerProperties(there: (text: string) => string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(services.kafka.environment!)
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

it('two publishers share the feeds of the simulator, the health checks tell, and one goes on when the other is killed', async () => {
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

  const simulator = cli(services.simulator.command!.map((one) => (one === '8080' ? '0' : one)));
  const [, port = ''] = await simulator.sees(/address +http:\/\/0\.0\.0\.0:(\d+)/);
  const httpPorts = { 'publisher-1': await freePort(), 'publisher-2': await freePort() };
  const environmentOf = (name: Publisher) =>
    Object.fromEntries(
      Object.entries(services[name].environment!).map(([variable, value]) => [
        variable,
        onThisMachine(withoutVariable(value))
          .replace('simulator:8080', `127.0.0.1:${port}`)
          .replace(/^9464$/, String(httpPorts[name]))
          .replace(/^\/run\/secrets\/(.*)/, (_, secret: string) => secretFile(secret))
          .replace('/highwater/config', path.join(root, 'deploy', 'compose', 'config')),
      ]),
    );

  const isHealthy = async (name: keyof typeof services): Promise<boolean> => {
    const [kind, ...rest] = services[name].healthcheck.test.map(onThisMachine);
    expect(kind).toBe('CMD');
    const [file = '', ...args] = rest.map((one) => one.replace('127.0.0.1:8080', `127.0.0.1:${port}`));
    const own = isPublisher(name) ? environmentOf(name) : {};
    const env = { ...own, PATH: `${bin}:${process.env.PATH}` };
    return promisify(execFile)(file, args, { env, cwd: folder() }).then(
      () => true,
      () => false,
    );
  };
  expect(await isHealthy('registry')).toBe(true);
  expect(await isHealthy('simulator')).toBe(true);
  expect(await isHealthy('publisher-1')).toBe(false);

  const start = (name: Publisher) =>
    cli(services[name].command!, { env: environmentOf(name), cwd: folder() });
  const both = [start('publisher-1'), start('publisher-2')];
  await until(() => isHealthy('publisher-1'));
  await until(() => isHealthy('publisher-2'));
  const outsideTail = cli(['tail', 'ipos', '--no-follow', '--limit', '1', '--json'], {
    env: { KAFKA_BROKERS: `127.0.0.1:${outside}`, SCHEMA_REGISTRY_URL: registry.url },
  });
  expect(await outsideTail.ended()).toEqual({ code: 0, signal: null });
  expect(JSON.parse(outsideTail.stdout())).toMatchObject({ topic: 'ipos', type: 'marketdata.ipos.Envelope' });

  const token = readFileSync(secretFile('http-token'), 'utf8').trim();
  const owned = async (name: Publisher): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`http://127.0.0.1:${httpPorts[name]}/metrics`, { headers });
    const samples = samplesOf(await answer.text(), 'highwater_feed_owned');
    return samples.filter(({ value }) => value === 1).length;
  };
  // The second one may be ready before it has got any.
  await until(async () => {
    const each = await Promise.all([owned('publisher-1'), owned('publisher-2')]);
    return each.sort().join() === '1,2';
  });

  // The command of the file's own comment: the other one has all feeds.
  both[0]!.signal('SIGKILL');
  await until(async () => (await owned('publisher-2')) === 3);
  await until(() => isHealthy('publisher-2'));
  expect(await isHealthy('publisher-1')).toBe(false);
  both[1]!.signal('SIGTERM');
  expect(await both[1]!.ended()).toEqual({ code: 0, signal: null });

  await registry.kill();
  expect(await isHealthy('registry')).toBe(false);
});
