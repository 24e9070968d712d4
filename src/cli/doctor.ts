import { Command } from 'commander';
import { configOptions, variablesWithoutFlag } from '../config/command-options';
import { type Config, loadConfig } from '../config/load-config';
import { durationText } from '../format/durations';
import { createLogger, type LoggerOptions, wantsColor } from '../logger';
import { createRedactor } from '../redaction';
import { type CommandContext, runCommand } from './command-context';
import { checkApi } from './doctor/api';
import { type Check, type Checks, failedBy, ok } from './doctor/check';
import { checkEmbeddedLog } from './doctor/embedded';
import { checkKafka } from './doctor/kafka';
import { checkSchemas } from './doctor/schemas';
import { checkGroup, checkLine } from './format/check-line';
import { painter, type Style } from './format/spans';
import { wrapped } from './format/wrap';
import { openRegistry } from './open-registry';
import { progressScreen } from './progress-screen';
import { widthOf } from './terminal';

type Flags = Readonly<Record<string, unknown>>;

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description(
      'Check settings, API, log and schemas, and say what to do where something is wrong. Changes nothing.',
    )
    .option('--json', 'One JSON object a line');
  for (const option of configOptions()) command.addOption(option);
  return command
    .addHelpText(
      'after',
      `
Environment without a flag:
${variablesWithoutFlag()}

✓ fine, ! works, but somebody should know, ✗ failed, - skipped (not set, or of no use before something else is mended)
Exit code 0 when nothing failed, else 1. It may run beside a publisher.

Examples:
  $ npx highwater doctor
  $ npx highwater doctor --json | jq -r 'select(.state == "failed") | .do'`,
    )
    .action((flags: Flags) => runCommand((context) => doctor(flags, context)));
}

async function doctor(flags: Flags, context: CommandContext): Promise<number> {
  const { signal } = context;
  const color = wantsColor(process.stdout);
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  let redact = createRedactor([]);
  const screen = progressScreen(flags.json !== true);
  let group: string | null = null;
  const tell = async (check: Check): Promise<void> => {
    counts[check.state]++;
    const clean = { ...check, found: redact(check.found), remedy: check.remedy && redact(check.remedy) };
    screen.end();
    if (flags.json === true) await context.print(jsonLine(clean));
    else {
      const title = checkGroup(check);
      const heading =
        title === group ? '' : `${group === null ? '' : '\n'}${painter(color)(title, 'bold')}\n`;
      group = title;
      await context.print(heading + checkLine(clean, { width: widthOf(process.stdout), color }));
    }
    wait();
  };
  /** A server that does not answer is waited for: that it is shows that something happens. */
  function wait(): void {
    const sinceMs = Date.now();
    screen.set('doctor', (nowMs) => ({
      ...{ label: '', work: 'checking', share: null, facts: [durationText(nowMs - sinceMs)] },
    }));
  }

  let config: Config;
  try {
    config = loadConfig({ flags, env: process.env, cwd: process.cwd() }, 'whatever is set');
  } catch (error) {
    await tell(failedBy('settings', error));
    return 1;
  }
  context.hide(config.secrets);
  redact = createRedactor(config.secrets);
  try {
    wait();
    for await (const check of checks(config, signal, screen.logging)) await tell(check);
  } catch (error) {
    if (signal.aborted) return 1;
    throw error;
  } finally {
    screen.end();
  }
  if (flags.json !== true) {
    const lines = wrapped(summary(counts), widthOf(process.stdout));
    await context.print(`\n${lines.map((line) => `${painter(color)(line, styleOf(counts))}\n`).join('')}`);
  }
  return counts.failed === 0 ? 0 : 1;
}

async function* checks(
  config: Config,
  signal: AbortSignal,
  logging: Pick<LoggerOptions, 'stream' | 'color'>,
): Checks {
  const { level } = config.log;
  // What goes wrong is a check's line; the log has more on demand.
  const logger = createLogger({
    ...config.log,
    level: level === 'debug' ? level : 'error',
    secrets: config.secrets,
    ...logging,
  });
  yield settingsCheck(config);
  yield* checkApi(config, logger, signal);
  if (config.kafka === null) yield* checkEmbeddedLog(config.dataDir);
  else yield* checkKafka(config, config.kafka, logger, signal);
  const registry = openRegistry(config, { logger, signal });
  try {
    yield* checkSchemas(config, registry);
  } finally {
    await registry.close();
  }
}

function settingsCheck({ feeds, kafka, dataDir }: Config): Check {
  const names = feeds.map(({ name }) => name).join(', ');
  const log = kafka === null ? `the embedded log in ${dataDir}` : `Kafka at ${kafka.brokers.join(', ')}`;
  return ok('settings', `${names}; ${log}`);
}

function summary({ ok: fine, warning: warnings, failed, skipped }: Record<Check['state'], number>): string {
  const next = failed === 0 ? '' : ' Mend what is marked ✗, the first one first, and ask again.';
  const parts = [
    failed === 0 ? null : `${failed} failed`,
    warnings === 0 ? null : `${warnings} to know of`,
    skipped === 0 ? null : `${skipped} skipped`,
    `${fine} fine`,
  ];
  return `${parts.filter((part) => part !== null).join(', ')}.${next}`;
}

function styleOf({ failed, warning: warnings }: Record<Check['state'], number>): Style {
  if (failed > 0) return 'red';
  return warnings > 0 ? 'yellow' : 'green';
}

/** The contract of `--json`: these members in this order. */
function jsonLine({ check, feed, state, found, code, remedy }: Check): string {
  return `${JSON.stringify({ check, feed, state, found, code, do: remedy })}\n`;
}
