import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { type ApiServer, startApi } from './api/api-server';
import type { Contender } from './contender';
import { contenders } from './contenders/all';
import { startBenchKafka } from './kafka/bench-kafka';
import { javaProducer } from './limits/all';
import { machineFacts } from './measure/machine';
import { report } from './report';
import { runRounds } from './rounds';
import type { Scene } from './scene';

/** `npm run bench`: everything that does the job, or a part of it, side by side on this machine. */

interface Flags {
  readonly records?: number;
  readonly rounds?: number;
  readonly only?: readonly string[];
  readonly short?: boolean;
}

const wholeNumber = (text: string) => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${text} is not a number from 1 on`);
  return value;
};

const program = new Command('npm run bench --')
  .description('Publishes the same records with highwater and its peers, beside what bounds them.')
  .option('--records <number>', 'Records of the API (default: 100000)', wholeNumber)
  .option('--rounds <number>', 'Runs of each (default: 3)', wholeNumber)
  .option('--only <names>', 'Rows whose names begin so, such as highwater,benthos,limit-fetch', (names) =>
    names.split(','),
  )
  .option('--short', 'Whether it all works: 2000 records, one round, one row of each kind')
  .addHelpText('after', `\nRows: ${contenders.map(({ name }) => name).join(', ')}`)
  .action(bench);

async function bench(flags: Flags): Promise<void> {
  const isShort = flags.short === true;
  const { records = isShort ? 2_000 : 100_000, rounds = isShort ? 1 : 3 } = flags;
  const chosen = choose(flags);
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-bench-'));
  const stops = [async () => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // What a run has started ends with this process.
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  }
  const tell = (line: string) => void process.stderr.write(`${line}\n`);
  try {
    tell('Starting the API, Kafka and the registry.');
    const api = await startApi({ records });
    stops.push(api.stop);
    const kafka = await startBenchKafka();
    stops.push(kafka.stop);
    const scene = { records, api, kafka, folder, isShort, patienceMs: 60_000 + records * 2 };
    if (!isShort) await warmUp(scene);
    const outcomes = await runRounds(scene, chosen, rounds, tell);
    process.stdout.write(`\n${await introduction(api, records, rounds)}\n\n${report(outcomes)}`);
    if (outcomes.some(({ failure }) => failure?.startsWith('failed'))) process.exitCode = 1;
  } finally {
    await stop();
  }
}

function choose({ only, short = false }: Flags): readonly Contender[] {
  for (const name of only ?? []) {
    if (!contenders.some((one) => one.name.startsWith(name))) throw new Error(`There is no row ${name}.`);
  }
  return contenders.filter(({ name, isTypical }) =>
    only === undefined ? isTypical || !short : only.some((one) => name.startsWith(one)),
  );
}

/** A broker compiles what it does often: the first contender would otherwise meet a slower one than the last. */
async function warmUp(scene: Scene): Promise<void> {
  await javaProducer.run({ ...scene, records: Math.min(scene.records, 100_000) });
}

async function introduction({ recordBytes }: ApiServer, records: number, rounds: number): Promise<string> {
  const work = `${records.toLocaleString('en-US')} IPO records of ${recordBytes} bytes of JSON, pages of 1000`;
  return `${work}; ${rounds === 1 ? '1 round' : `${rounds} rounds in turn`}\n${await machineFacts()}`;
}

program.parseAsync().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
