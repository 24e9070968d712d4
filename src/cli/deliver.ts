import { setMaxListeners } from 'node:events';
import { targetOf } from '../config/deliveries';
import { type Config, loadConfig } from '../config/load-config';
import { configError } from '../config/mistake';
import { highwaterLog } from '../consumer/connect';
import { openConfigured } from '../consumer/open-log';
import { deliver } from '../delivery/deliver';
import { type Delivery, isWanted, type Target } from '../delivery/delivery';
import { messageOf } from '../delivery/message';
import { counted } from '../format/counted';
import { createLogger, type Logger } from '../logging/logger';
import { createRedactor } from '../secrets/redaction';
import { feedsByTopic } from './log/tail-topics';
import { CliCommand, type Flags, variablesWithoutFlag } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { usageError } from './process/command-line';

export function deliverCommand(run: RunCommand): CliCommand {
  return new CliCommand('deliver')
    .argument('[names...]', 'deliveries of highwater.yaml; all when left out')
    .option('--dry-run', 'Print what would be sent for the events that are kept, send nothing, and end')
    .settings(['dataDir', 'topicPrefix'])
    .notes(`
Environment without a flag:
${variablesWithoutFlag()}

Examples:
  $ npx highwater deliver                                   every delivery of highwater.yaml, until a signal
  $ npx highwater deliver withdrawn-ipos --dry-run | jq .body.data
  $ npx highwater run --deliver                             the publisher and the deliveries in one process`)
    .action((names: string[], flags: Flags) =>
      run((context) => deliverAll(names, flags, context), flags.dryRun !== true),
    );
}

async function deliverAll(names: readonly string[], flags: Flags, context: CommandContext): Promise<number> {
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'deliveries');
  context.hide(config.secrets);
  const chosen = chosenOf(names, config.deliveries);
  const logger = createLogger({ ...config.log, secrets: config.secrets, ...context.logging });
  if (flags.dryRun === true) return printAll(chosen, config, logger, context);
  const deliveries = startDeliveries({ ...config, deliveries: chosen }, logger, context);
  await deliveries.ended;
  return 0;
}

/**
 * Runs all deliveries of the settings until the signal, or until they are closed.
 * @throws HighwaterError CONFIG_INVALID when a variable or a file with an address or a secret is missing
 */
export function startDeliveries(
  config: Config,
  logger: Logger,
  context: Pick<CommandContext, 'env' | 'cwd' | 'signal'>,
): { readonly ended: Promise<unknown>; close(): Promise<unknown> } {
  const all = targetsOf(config, context);
  const open = () => openConfigured(config, logger);
  const { secrets } = config;
  const closing = new AbortController();
  const signal = AbortSignal.any([context.signal, closing.signal]);
  setMaxListeners(0, signal); // every delivery waits on it
  const deps = { open, logger, secrets, feedOf: feedsByTopic(config), signal };
  const ended = Promise.all(
    all.map(([delivery, target]) => {
      logger.info(`Delivering ${delivery.topics.join(', ')} as ${delivery.name} to ${target.shown}.`);
      return deliver(delivery, target, deps);
    }),
  );
  return {
    ended,
    close() {
      closing.abort();
      return ended;
    },
  };
}

function targetsOf(
  { deliveries, rotation, secrets }: Config,
  { env, cwd }: Pick<CommandContext, 'env' | 'cwd'>,
): readonly (readonly [Delivery, Target])[] {
  if (deliveries.length === 0) {
    const remedy = 'Add a section `deliveries` to highwater.yaml (docs/deliver.md).';
    throw usageError('no deliveries are set', 'Nothing was started.', remedy);
  }
  const found = deliveries.map((delivery) => [delivery, targetOf(delivery, { env, cwd, rotation })] as const);
  const mistakes = found.flatMap(([, target]) => ('kind' in target ? [] : target));
  if (mistakes.length > 0) throw configError(mistakes, createRedactor(secrets));
  return found as readonly (readonly [Delivery, Target])[];
}

function chosenOf(names: readonly string[], all: readonly Delivery[]): readonly Delivery[] {
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  const known = all.map(({ name }) => name).join(', ');
  if (unknown !== undefined && all.length > 0)
    throw usageError(
      `there is no delivery ${unknown}; there are ${known}`,
      'Nothing is delivered.',
      'Name one of these.',
    );
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

/** One JSON object a line: what a delivery would send for each event that is kept. */
async function printAll(
  deliveries: readonly Delivery[],
  config: Config,
  logger: Logger,
  context: CommandContext,
): Promise<number> {
  const all = targetsOf({ ...config, deliveries }, context);
  const log = highwaterLog(openConfigured(config, logger));
  const feedOf = feedsByTopic(config);
  try {
    for (const [delivery, target] of all) {
      let shown = 0;
      for (const topic of delivery.topics) {
        for await (const event of log.read(topic, { signal: context.signal })) {
          if (!isWanted(delivery, event.value)) continue;
          const { headers, body } = messageOf(event, target, feedOf, Date.now());
          const line = { delivery: delivery.name, to: target.shown, headers, body: JSON.parse(body) };
          await context.print(`${JSON.stringify(line)}\n`);
          shown += 1;
        }
      }
      context.note(`highwater: ${delivery.name} would send ${counted(shown, 'event')}.\n`);
    }
    return 0;
  } finally {
    await log.close();
  }
}
