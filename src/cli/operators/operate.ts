import { unlessAborted } from '../../async/wait';
import { askOwner } from '../../commands/ask-owner';
import type { Command, Outcome } from '../../commands/command';
import { type Config, loadConfig } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { examineLocalLog } from '../../log/local/examine';
import { commandsTopic, feedTopics } from '../../log/topics';
import { createLogger, type Logger } from '../../logging/logger';
import { actAsOwner } from '../../runtime/act-as-owner';
import { instanceName } from '../../runtime/worker';
import { createRedactor } from '../../secrets/redaction';
import { type OpenLog, openLog } from '../log/open-log';
import type { CommandContext } from '../process/command-context';
import { type ProgressScreen, progressScreen } from '../progress/progress-screen';
import { publisherProgress } from '../progress/publisher-progress';
import { type OperationReport, operationReport } from './operation-report';

export interface OperateFlags {
  readonly json?: true;
  /** ms */
  readonly wait: number;
  readonly [setting: string]: unknown;
}

interface Operation extends OpenLog {
  readonly feed: Feed;
  readonly command: Command;
  readonly config: Config;
  readonly flags: OperateFlags;
  readonly logger: Logger;
  readonly context: CommandContext;
  readonly report: OperationReport;
  readonly screen: ProgressScreen;
}

/**
 * Has a command carried out: by the publisher that owns the feed, wherever it runs, or, when there is none, by acquiring the
 * feed here.
 * @returns exit code
 */
export async function operate(
  feedName: string,
  command: Command,
  flags: OperateFlags,
  context: CommandContext,
): Promise<number> {
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'feeds');
  context.hide(config.secrets);
  const feed = configuredFeed(feedName, config);
  // What it came to is printed: the log is for what goes wrong.
  const level = config.log.level === 'info' ? 'warn' : config.log.level;
  const screen = progressScreen(context, flags.json !== true && config.log.format === 'pretty');
  const logger = createLogger({ ...config.log, level, secrets: config.secrets, ...screen.logging });
  const open = openLog(config, { logger, signal: context.signal, instance: instanceName() });
  // The reason of a command that failed may be anybody's text.
  const redact = createRedactor(config.secrets);
  const print = (text: string): Promise<void> => context.print(redact(text));
  const report = operationReport(
    feed.name,
    command,
    flags.json === true,
    { print, stdout: context.stdout },
    screen,
  );
  const operation = { ...open, feed, command, config, flags, logger, context, report, screen };
  try {
    await assertPublished(operation);
    const outcome = (await askPublisher(operation)) ?? (await actHere(operation));
    return await report.outcome(outcome);
  } catch (error) {
    if (error instanceof Left) return 1;
    if (!context.signal.aborted || error instanceof HighwaterError) throw error;
    screen.write(`highwater: ${command.name} of ${feed.name} was interrupted before it began.\n`);
    return 1;
  } finally {
    screen.end();
    await open.commitLog.close();
  }
}

/** The operator has left; what was to be said is said. */
class Left extends Error {}

function configuredFeed(name: string, { feeds }: Config): Feed {
  const feed = feeds.find((one) => one.name === name);
  if (feed !== undefined) return feed;
  const names = feeds.map((one) => one.name).join(', ');
  throw new HighwaterError('USAGE_INVALID', `there is no feed ${name}; there are ${names}`, {
    now: 'Nothing was asked of anybody.',
    remedy: 'Name one of them, or enable it (HIGHWATER_FEEDS).',
  });
}

/** Else a wrong folder or prefix would get a log of its own. */
async function assertPublished({ commitLog, context, feed, config, place }: Operation): Promise<void> {
  const names = await unlessAborted(commitLog.topicNames(), context.signal);
  const { sourceOffset } = feedTopics(feed, config.topicPrefix);
  if (names?.includes(sourceOffset.name)) return;
  const what =
    names === null
      ? `there is no log in ${place} yet`
      : `the log in ${place} has no topic ${sourceOffset.name}: nothing of feed ${feed.name} was published there`;
  throw new HighwaterError('LOG_MISSING', what, {
    now: 'Nothing was asked of anybody.',
    remedy:
      'Name the log that a publisher writes to (HIGHWATER_DATA_DIR, or KAFKA_BROKERS; HIGHWATER_TOPIC_PREFIX), or start one (`highwater run`).',
  });
}

/** @returns null when no publisher has the request, nor will have it */
async function askPublisher(operation: Operation): Promise<Outcome | null> {
  const { config, feed, command, flags, context, report, screen, commitLog, registry } = operation;
  if (!publisherMayRun(config)) return null;
  const answer = await askOwner(
    feed.name,
    command,
    {
      log: commitLog,
      registry,
      topic: commandsTopic(config.appId, config.topicPrefix),
      instance: instanceName(),
      acceptWithinMs: flags.wait,
      accepted: report.accepted,
      progress: report.progress,
    },
    context.signal,
  ).catch((error: unknown) => {
    if (!(error instanceof HighwaterError) || error.code === 'COMMAND_UNANSWERED') throw error;
    const now =
      'The command ends here. A publisher that has the request all the same may still carry it out.';
    throw new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy });
  });
  switch (answer.kind) {
    case 'answered':
      return answer.outcome;
    case 'left':
      screen.write(
        `highwater: ${answer.owner} goes on with ${command.name} of ${feed.name}; its answer is not waited for.\n`,
      );
      throw new Left();
    case 'not accepted':
      if (!context.signal.aborted) return null;
      screen.write(`highwater: ${command.name} of ${feed.name} is withdrawn: nobody had accepted it.\n`);
      throw new Left();
  }
}

/** The embedded log tells who publishes there, and the system whether it runs. */
function publisherMayRun({ kafka, dataDir }: Config): boolean {
  if (kafka !== null) return true;
  const { owner, ownerRuns } = examineLocalLog(dataDir);
  return owner !== null && ownerRuns !== false;
}

async function actHere(operation: Operation): Promise<Outcome> {
  const { feed, command, flags, logger, context, report, commitLog, registry } = operation;
  // Only who acts as a publisher needs to reach the API.
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'api');
  const { onRestore } = publisherProgress(operation.screen, logger);
  const deps = { log: commitLog, registry, logger, onRestore, instance: instanceName() };
  const outcomes: Outcome[] = [];
  const request = {
    command,
    progress: report.progress,
    answer: (outcome: Outcome) => void outcomes.push(outcome),
  };
  report.acting();
  await actAsOwner(feed, config, deps, request, context.signal).catch((error: unknown) => {
    if (!(error instanceof HighwaterError) || error.code !== 'LOG_OWNED') throw error;
    const what = `no publisher accepted ${command.name} of ${feed.name}, and ${error.message}`;
    throw new HighwaterError('COMMAND_NOT_ACCEPTED', what, { cause: error });
  });
  return outcomes[0]!;
}
