import type { Admin } from '../admin/admin';
import type { HttpConfig } from '../config/http';
import { baseUrlsOf, type ConfigWithApi, loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import type { ConsumerLog } from '../log/consumer-log';
import { createLogger, type Logger } from '../logging/logger';
import { endsWorker } from '../runtime/failure-answers';
import { instanceName, runWorker } from '../runtime/worker';
import { createRedactor } from '../secrets/redaction';
import { version } from '../version';
import { type OpenLog, openLog } from './log/open-log';
import { CliCommand, type Flags, variablesWithoutFlag } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { usageError } from './process/command-line';
import { publisherProgress } from './progress/publisher-progress';
import { progressScreen } from './progress/screen';

export function runWorkerCommand(run: RunCommand): CliCommand {
  return new CliCommand('run')
    .option('--once', 'One poll of each feed, then end: exit 0, or 1 when a feed failed')
    .option('--deliver', 'Also send events to webhooks and Slack, as `highwater deliver` does')
    .settings()
    .notes(`
Environment without a flag:
${variablesWithoutFlag()}

Examples:
  $ export HIGHWATER_API_URL=https://api.example.com HIGHWATER_API_TOKEN=…
  $ npx highwater run                                        all feeds, every 60 s, into ./data
  $ npx highwater run --feeds ipos --poll-interval 15s
  $ npx highwater run --once --data-dir /var/lib/highwater   from a timer

--once polls and does not reconcile. Run \`highwater reconcile\` from a timer, too, such as once a day: only that
notices deleted records.

Ctrl-C or SIGTERM ends it after the current page, a second signal at once. Nothing is lost either way.`)
    .action((flags: Flags) => run((context) => runPublisher(flags, context), flags.once !== true));
}

async function runPublisher(flags: Flags, context: CommandContext): Promise<number> {
  const once = flags.once === true;
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'api');
  context.hide(config.secrets);
  const { level, format } = config.log;
  const screen = progressScreen(context, format === 'pretty' && (level === 'info' || level === 'debug'));
  const logger = createLogger({ ...config.log, secrets: config.secrets, ...screen.logging });
  const instance = instanceName();
  if (once && flags.deliver === true)
    throw usageError(
      '--deliver goes on until a signal, and --once ends after one poll',
      'Nothing was started.',
      'Leave out one of them. Deliveries also run by themselves: `highwater deliver`.',
    );
  const open = openLog(config, { logger, signal: context.signal, instance });
  const { commitLog: log, registry } = open;
  introduce(config, open.place, once, logger);
  const { onPage, onRestore } = publisherProgress(screen, logger);
  let admin: Admin | null = null;
  let deliveries: { close(): Promise<unknown> } | null = null;
  let standbyLog: ConsumerLog | null = null;
  try {
    refuseEarly(open.hold);
    // A single poll ends before anyone could ask.
    if (config.http !== null && !once) {
      admin = await serveAdmin(config.http, config, open, instance, logger);
      const { url } = admin;
      logger.info(`Dashboard at ${url}/`);
      logger.info(`Metrics at ${url}/metrics, health at ${url}/livez and ${url}/readyz.`);
    }
    const tell = admin === null ? {} : { tell: admin.tell };
    if (config.standby && config.kafka !== null && !once) {
      const {
        openKafkaConsumerLog,
      }: typeof import('../log/kafka/consumer-log') = require('../log/kafka/consumer-log');
      standbyLog = openKafkaConsumerLog({ ...config, kafka: config.kafka, logger });
    }
    const deps = { log, registry, logger, onPage, onRestore, ...tell, ...(standbyLog && { standbyLog }) };
    if (flags.deliver === true) {
      const { startDeliveries }: typeof import('./deliver') = require('./deliver');
      deliveries = startDeliveries(config, logger, context);
    }
    const reports = await runWorker(config, deps, once, context.signal);
    const unfinished = reports.filter(({ complete }) => !complete).map(({ feed }) => feed);
    if (context.signal.aborted) {
      const rest = once && unfinished.length > 0 ? ` Not polled to the end: ${unfinished.join(', ')}.` : '';
      const open = reports.filter(({ notCommitted }) => notCommitted !== null);
      if (open.length === 0) logger.info(`Ended: everything that was read is committed.${rest}`);
      for (const { feed, notCommitted } of open) tellOpen(feed, notCommitted!, logger);
    }
    return once && unfinished.length > 0 ? 1 : 0;
  } finally {
    await admin?.close();
    await deliveries?.close();
    await standbyLog?.close();
    await log.close();
    screen.end();
  }
}

/** The dashboard, metrics and health of a publisher. */
export function serveAdmin(
  http: HttpConfig,
  config: ConfigWithApi,
  open: OpenLog,
  instance: string,
  logger: Logger,
): Promise<Admin> {
  // Only here, because its libraries take 130 ms to load.
  const { startAdmin } = require('../admin/admin') as typeof import('../admin/admin');
  const { openConfigured } = require('../consumer/open-log') as typeof import('../consumer/open-log');
  const build = { version, log: config.kafka === null ? 'embedded' : 'kafka' } as const;
  const redact = createRedactor(config.secrets);
  const consumer = () => openConfigured(config, logger);
  const own = { log: open.commitLog, consumer, instance, build, logger, redact };
  return startAdmin(http, { ...config, ...open, ...own });
}

/** A publisher that can never begin says so before it names a dashboard. Errors that may pass are left to the feeds. */
function refuseEarly(hold: (() => void) | undefined): void {
  try {
    hold?.();
  } catch (error) {
    if (!(error instanceof HighwaterError) || endsWorker(error.code, false)) throw error;
  }
}

/** The publisher ended while the log did not answer. */
function tellOpen(feed: string, { code, message }: HighwaterError, logger: Logger): void {
  const isUnknown = code === 'LOG_OUTCOME_UNKNOWN';
  logger.warn(
    isUnknown
      ? `Ended. It is not known whether the last page of ${feed} is committed; the next start finds out. Nothing is lost.`
      : `Ended. The last page of ${feed} is not committed: the next start reads it again. Nothing is lost.`,
    { feed, code, why: message },
  );
}

function introduce({ feeds, api }: ConfigWithApi, place: string, once: boolean, logger: Logger): void {
  for (const baseUrl of baseUrlsOf(api)) {
    const read = feeds.filter(({ name }) => api.access.get(name)!.baseUrl === baseUrl);
    const every = read.map(({ name, pollIntervalMs }) => `${name} every ${pollIntervalMs / 1000} s`);
    const names = read.map(({ name }) => name).join(', ');
    logger.info(`Reading ${baseUrl}: ${once ? `${names}, once` : every.join(', ')}.`);
  }
  logger.info(`Writing to ${place}.`);
}
