import { once } from 'node:events';
import { Option } from 'commander';
import { portUnavailable } from '../net/port-unavailable';
import { feedNames } from '../simulator/endpoints';
import { type Scenario, type ScenarioName, scenarioNames, scenarios } from '../simulator/scenarios';
import { type Simulator, type SimulatorOptions, startSimulator } from '../simulator/simulator';
import { CliCommand } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue, wholeNumberValue } from './process/command-line';

interface SimulateFlags {
  readonly host: string;
  readonly port: number;
  readonly seed: number;
  readonly scenario: ScenarioName;
  readonly insights?: number;
  readonly analysts?: number;
  readonly ipos?: number;
  readonly interval?: number;
  readonly list?: true;
}

export function simulateCommand(run: RunCommand): CliCommand {
  const count = wholeNumberValue(0, 10_000_000);
  return new CliCommand('simulate')
    .option('--port <port>', 'Port to listen on; 0 for any free one', wholeNumberValue(0, 65_535), 0)
    .option('--host <address>', 'Address to listen on; 0.0.0.0 lets other machines in', '127.0.0.1')
    .option('--seed <number>', 'The same seed makes the same records', wholeNumberValue(0, 2 ** 32 - 1), 1)
    .addOption(
      new Option('--scenario <name>', 'How the API behaves; see --list')
        .choices(scenarioNames)
        .default('calm'),
    )
    .option('--insights <count>', "Insights at the start, instead of the scenario's", count)
    .option('--analysts <count>', 'Analysts at the start', count)
    .option('--ipos <count>', 'IPOs at the start', count)
    .option('--interval <duration>', 'Time between two events of the market day', durationValue)
    .option('--list', 'List the scenarios and end')
    .notes(`
Examples:
  $ npx highwater simulate --port 8080
  $ npx highwater simulate --scenario careless --ipos 20000 --interval 100ms`)
    .action((flags: SimulateFlags) => run((context) => simulate(flags, context), true));
}

async function simulate(flags: SimulateFlags, context: CommandContext): Promise<number> {
  if (flags.list) {
    await context.print(scenarioList());
    return 0;
  }
  const { host, port, seed, scenario, insights, analysts, ipos, interval } = flags;
  const { options }: { options: SimulatorOptions } = scenarios[scenario];
  const counts = Object.entries({ insights, analysts, ipos }).filter(([, count]) => count !== undefined);
  const simulator = await startSimulator({
    ...options,
    ...(interval === undefined ? {} : { marketDayMs: interval }),
    records: { ...options.records, ...Object.fromEntries(counts) },
    // A server that runs for days must not keep every version that ever was.
    keepHistory: scenario === 'careless',
    host,
    port,
    seed,
  }).catch((error: unknown) => {
    throw portUnavailable(error, host, port) ?? error;
  });
  try {
    await context.print(introduction(simulator, scenario));
    if (!context.signal.aborted) await once(context.signal, 'abort');
    return 0;
  } finally {
    await simulator.stop();
  }
}

function scenarioList(): string {
  const width = Math.max(...scenarioNames.map((name) => name.length));
  return scenarioNames
    .map((name) => `${name.padEnd(width)}  ${(scenarios[name] as Scenario).description}\n`)
    .join('');
}

function introduction({ url, token, stores }: Simulator, scenario: ScenarioName): string {
  const sizes = feedNames.map((feed) => `${stores[feed].size.toLocaleString('en')} ${feed}`).join(', ');
  const since = Math.floor(Date.now() / 1000) - 86_400;
  return `
  A simulated market data API, scenario ${scenario} (${sizes})

  address  ${url}
  token    ${token}

  Ask it
    curl '${url}/api/v2.1/calendar/ipos?token=${token}&pagesize=2'
    curl '${url}/api/v2.1/calendar/ratings/analysts?token=${token}&pageSize=2'
    curl -g '${url}/api/v1/analyst/insights?token=${token}&parameters[updated]=${since}&date_from=1970-01-01&pageSize=2'

  Publish from it, in another terminal
    HIGHWATER_API_URL=${url} HIGHWATER_API_TOKEN=${token} npx highwater run --poll-interval 2s

  Ctrl-C ends it.

`;
}
