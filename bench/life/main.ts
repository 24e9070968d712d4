import { Command } from 'commander';
import { machineFacts } from '../measure/machine';
import { sections } from './sections';
import { type LogName, openWorld } from './world';

/** `npm run bench:life`: latency, steady state, memory, growth and a consumer's decoding, each against its goal. */

interface Flags {
  readonly only?: readonly string[];
  readonly logs?: readonly LogName[];
  readonly short?: boolean;
  readonly full?: boolean;
}

const program = new Command('npm run bench:life --')
  .description('What highwater costs from day to day, after its first snapshot.')
  .option('--only <names>', sections.map(({ name }) => name).join(', '), (names) => names.split(','))
  .option('--logs <names>', 'embedded, kafka (default: both)', (names) => names.split(',') as LogName[])
  .option('--short', 'Whether it all works: a few records, seconds')
  .option('--full', 'A million records instead of 100,000: several minutes, and 6 GB of memory')
  .action(bench);

async function bench({
  only,
  logs = ['embedded', 'kafka'],
  short = false,
  full = false,
}: Flags): Promise<void> {
  const world = openWorld({ logs, isShort: short, isFull: full });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void world.stop().finally(() => process.exit(130)));
  }
  try {
    console.log(`${await machineFacts()}\n`);
    for (const section of sections.filter(({ name }) => only?.includes(name) ?? true)) {
      console.log(`${section.title}\n\n${await section.measure(world)}`);
    }
  } finally {
    await world.stop();
  }
}

program.parseAsync().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
