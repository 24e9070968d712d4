import { unlessAborted } from '../../async/wait';
import { type Config, loadConfig } from '../../config/load-config';
import { durationText } from '../../format/durations';
import { createLogger } from '../../logging/logger';
import { createRedactor } from '../../secrets/redaction';
import { openRegistry } from '../log/open-log';
import { type PublisherView, publisherView } from '../process/ask-publisher';
import { CliCommand, type Flags, variablesWithoutFlag } from '../process/cli-command';
import type { CommandContext, RunCommand } from '../process/command-context';
import { progressScreen } from '../progress/screen';
import { painter, type Style, wrapped } from '../terminal/text';
import { checkApi } from './api';
import { type Check, type Checks, checkGroup, checkLine, failedBy, ok } from './check';
import { checkDeliveries } from './deliveries';
import { checkEmbeddedLog, checkStateFolder } from './embedded';
import { checkSchemas } from './schemas';
import { checkStatus, statusByPublisher } from './status';

export function doctorCommand(run: RunCommand): CliCommand {
  return new CliCommand('doctor')
    .option('--json', 'One JSON object a line')
    .settings()
    .notes(`
Environment without a flag:
${variablesWithoutFlag()}

✓ fine, ! works, but you should know, ✗ failed, - skipped (not set, or of no use until something else is fixed)
The exit code is 0 when nothing failed, otherwise 1. Doctor may run beside a publisher.

Examples:
  $ npx highwater doctor
  $ npx highwater doctor --json | jq -r 'select(.state == "failed") | .do'`)
    .action((flags: Flags) => run((context) => doctor(flags, context)));
}

async function doctor(flags: Flags, context: CommandContext): Promise<number> {
  const { signal, color } = context;
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  let redact = createRedactor([]);
  const screen = progressScreen(context, flags.json !== true);
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
      await context.print(heading + checkLine(clean, { width: context.width(), color }));
    }
    wait();
  };
  /** Shows that something happens while a server does not answer. */
  function wait(): void {
    screen.set('doctor', (nowMs, sinceMs) => ({
      label: '',
      work: 'checking',
      share: null,
      facts: [durationText(nowMs - sinceMs)],
    }));
  }

  let config: Config;
  try {
    config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'whatever is set');
  } catch (error) {
    await tell(failedBy('settings', error));
    return 1;
  }
  context.hide(config.secrets);
  redact = createRedactor(config.secrets);
  try {
    wait();
    let view: Promise<PublisherView | null> | undefined;
    const askOnce = () => (view ??= publisherView(flags, context));
    const said = new Set<string>();
    const onLate = (waiting: string): void => {
      if (!said.has(waiting)) screen.write(`${redact(waiting)}\n`);
      said.add(waiting);
    };
    const all = checks(config, { ...context, logging: screen.logging }, askOnce, onLate);
    // Brokers that do not answer would delay the end by half a minute.
    const next = async () => (await unlessAborted(Promise.resolve(all.next()), signal)).value ?? null;
    for (let check = await next(); check !== null; check = await next()) await tell(check);
  } catch (error) {
    if (signal.aborted) return 1;
    throw error;
  } finally {
    screen.end();
  }
  if (flags.json !== true) {
    const lines = wrapped(summary(counts), context.width());
    await context.print(`\n${lines.map((line) => `${painter(color)(line, styleOf(counts))}\n`).join('')}`);
  }
  return counts.failed === 0 ? 0 : 1;
}

/** When one of these has failed, the log cannot be read. */
const neededToRead = ['log-file', 'brokers', 'login', 'registry'];

async function* checks(
  config: Config,
  context: Pick<CommandContext, 'env' | 'cwd' | 'signal' | 'logging'>,
  view: () => Promise<PublisherView | null>,
  onLate: (waiting: string) => void,
): Checks {
  const { signal, logging } = context;
  const { feeds, kafka, dataDir, stateDir, secrets } = config;
  // A check's line names the problem; the log has details at level debug.
  const level = config.log.level === 'debug' ? 'debug' : 'error';
  const logger = createLogger({ ...config.log, level, secrets, ...logging });
  const names = feeds.map(({ name }) => name).join(', ');
  const log = kafka === null ? `the embedded log in ${dataDir}` : `Kafka at ${kafka.brokers.join(', ')}`;
  yield ok('settings', `${names}; ${log}`);
  yield* checkApi(config, logger, signal, onLate);
  let isReadable = true;
  for await (const check of logChecks()) {
    isReadable &&= check.state !== 'failed' || !neededToRead.includes(check.check);
    yield check;
  }
  if (isReadable) yield* checkStatus(config, logger, view, signal);
  else yield* statusByPublisher(config, await view());
  yield* checkDeliveries(config, context);

  async function* logChecks(): Checks {
    if (kafka === null) yield* checkEmbeddedLog(dataDir);
    else {
      const { checkKafka }: typeof import('./kafka') = require('./kafka');
      yield* checkKafka(config, kafka, logger, signal);
    }
    if (kafka !== null || stateDir !== dataDir) yield checkStateFolder(stateDir);
    const registry = openRegistry(config, { logger, signal });
    try {
      yield* checkSchemas(config, registry);
    } finally {
      await registry.close();
    }
  }
}

function summary({ ok: fine, warning: warnings, failed, skipped }: Record<Check['state'], number>): string {
  const next = failed === 0 ? '' : ' Fix the checks marked ✗ from top to bottom, and run doctor again.';
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
