import { mkdirSync } from 'node:fs';
import { Command, Option } from 'commander';
import { versions } from './artefacts';
import { type Kafka, startKafka } from './kafka';
import { freePortFrom } from './ports';
import { type Registry, startRegistry } from './registry';

/** `npm run kafka`: Kafka and the schema registry for a developer, until Ctrl-C. */

interface Flags {
  readonly port: number;
  readonly registryPort: number;
  readonly dataDir?: string;
}

const port = (text: string) => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 65_535) throw new Error(`${text} is not a port`);
  return value;
};

const program = new Command('npm run kafka --')
  .description('Runs Kafka and a schema registry on this machine, until Ctrl-C.')
  .addOption(new Option('--port <port>', 'Of Kafka, or the next that is free').argParser(port).default(9_092))
  .addOption(
    new Option('--registry-port <port>', 'Of the registry, or the next that is free')
      .argParser(port)
      .default(8_081),
  )
  .option('--data-dir <folder>', 'Keeps topics and schemas there, for the next time')
  .action(run);

async function run({ port, registryPort, dataDir }: Flags): Promise<void> {
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true });
  const kept = dataDir === undefined ? {} : { dataDir };
  // One after the other: the first answers to what the machine lacks.
  const kafka = await startKafka({ port: await freePortFrom(port), ...kept });
  const stops = [kafka.stop];
  try {
    const registry = await startRegistry({ port: await freePortFrom(registryPort), ...kept });
    stops.push(registry.stop);
    process.stdout.write(introduction(kafka, registry, dataDir));
    await end([...kafka.brokers.map(({ pid }) => pid), registry.pid]);
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}

/** Resolves at the signal to end. @throws when a server has ended before */
function end(pids: readonly number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = setInterval(() => {
      try {
        for (const pid of pids) process.kill(pid, 0);
      } catch {
        done(() => reject(new Error('A server has ended by itself: the other one is stopped too.')));
      }
    }, 1_000);
    const done = (settle: () => void) => {
      clearInterval(look);
      settle();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => done(resolve));
  });
}

function introduction({ bootstrap }: Kafka, { url }: Registry, dataDir: string | undefined): string {
  const kept = dataDir === undefined ? 'what they hold ends with them' : `what they hold stays in ${dataDir}`;
  return `
  Kafka ${versions.kafka} and a schema registry (Apicurio ${versions.registry}) are running; ${kept}.

export KAFKA_BROKERS=${bootstrap}
export SCHEMA_REGISTRY_URL=${url}

  Try, in terminals that have these two variables
    npx highwater simulate --port 8080     an API, and the command that publishes from it
    npx highwater tail ipos                what is published
    npm run test:kafka                     the tests on Kafka, against these servers

  Ctrl-C ends them.

`;
}

program.parseAsync().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
