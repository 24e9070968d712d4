import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artefacts } from '../../tools/servers/artefacts';
import { findJava } from '../../tools/servers/java';
import { startKafka, warmStart } from '../../tools/servers/kafka';
import { startRegistry } from '../../tools/servers/registry';
import type { SharedServers } from './servers';

/**
 * One Kafka and one registry for all suites of a run, started when the first suite asks, by jest's main process: workers
 * come and go. Suites ask over a socket, whose path they find in the environment.
 */
let server: Server | undefined;
let folder = '';
let starting: Promise<{ readonly addresses: SharedServers; stop(): Promise<void> }> | undefined;

/**
 * jest's globalSetup, called before the first suite.
 * @throws MissingToolError without Java or Maven: once, in place of a failure of each suite
 */
export async function listen(): Promise<void> {
  if (process.env.KAFKA_BROKERS && process.env.SCHEMA_REGISTRY_URL) return;
  await findJava();
  await warmStart((await artefacts()).kafka);
  folder = mkdtempSync(path.join(tmpdir(), 'highwater-jest-'));
  const socket = path.join(folder, 'servers');
  server = createServer(async (asking) => {
    asking.on('error', () => undefined);
    starting ??= start();
    const answer = await starting.then(
      ({ addresses }) => ({ addresses }),
      (error: Error) => ({ failure: error.message }),
    );
    asking.end(JSON.stringify(answer));
  });
  server.unref();
  await new Promise<void>((resolve) => server!.listen(socket, resolve));
  process.env.HIGHWATER_TEST_SERVERS = socket;
}

/** jest's globalTeardown, called after the last suite. */
export async function stop(): Promise<void> {
  server?.close();
  const started = await starting?.catch(() => undefined);
  await started?.stop();
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
}

async function start() {
  const both = await Promise.allSettled([startKafka(), startRegistry()]);
  const stopBoth = async () => {
    await Promise.all(both.map((one) => (one.status === 'fulfilled' ? one.value.stop() : undefined)));
  };
  const [kafka, registry] = both;
  if (kafka.status === 'rejected' || registry.status === 'rejected') {
    await stopBoth();
    throw kafka.status === 'rejected' ? kafka.reason : (registry as PromiseRejectedResult).reason;
  }
  return { addresses: { brokers: kafka.value.bootstrap, registryUrl: registry.value.url }, stop: stopBoth };
}
