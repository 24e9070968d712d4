import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { startApi } from './api/api-server';
import { contenders } from './contenders/all';
import { startBenchKafka } from './kafka/bench-kafka';
import { machineFacts } from './measure/machine';
import { report } from './report';
import { runRounds } from './rounds';

/** `npm run bench`: everything that does the job, or a part of it, side by side on this machine. */

interface Flags {
  readonly records: number;
  readonly rounds: number;
  readonly only?: readonly string[];
  readonly short?: boolean;
}

const wholeNumber = (text: string) => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${text} is not a number from 1 on`);
  return value;
};

const program = new Command('npm run bench --')
  .description('Publishes the same records with highwater and its peers, and measures what bounds them.')
  .option('--records <number>', 'Records of the API', wholeNumber, 100_000)
  .option('--rounds <number>', 'Runs of each', wholeNumber, 3)
  .option('--only <names>', `Of ${contenders.map(({ name }) => name).join(', ')}`, (names) =>
    names.split(','),
  )
  .action(run);

async function run({ records, rounds, only }: Flags): Promise<void> {
  const chosen = contenders.filter(({ name }) => only === undefined || only.includes(name));
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-bench-'));
  const stops = [async () => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  }
  try {
    const api = await startApi({ records });
    stops.push(api.stop);
    const kafka = await startBenchKafka();
    stops.push(kafka.stop);
    const scene = { records, api, kafka, folder, patienceMs: 60_000 + records * 2 };
    const tell = (line: string) => void process.stderr.write(`${line}\n`);
    const outcomes = await runRounds(scene, chosen, rounds, tell);
    const count = records.toLocaleString('en-US');
    process.stdout.write(
      `\n${count} IPO records of ${api.recordBytes} bytes of JSON, pages of 1000, ${rounds} rounds\n` +
        `${await machineFacts()}\n\n${report(outcomes)}`,
    );
    if (outcomes.some(({ failure }) => failure?.startsWith('failed'))) process.exitCode = 1;
  } finally {
    await stop();
  }
}

program.parseAsync().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
