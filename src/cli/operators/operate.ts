import { unlessAborted } from '../../async/wait';
import { askOwner } from '../../commands/ask-owner';
import type { Command, Facts, Outcome } from '../../commands/command';
import { type Config, loadConfig } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import { harmless } from '../../format/short-text';
import { examineLocalLog } from '../../log/local/examine';
import { commandsTopic, feedTopics } from '../../log/topics';
import { createLogger } from '../../logging/logger';
import { actAsOwner } from '../../runtime/act-as-owner';
import { instanceName } from '../../runtime/worker';
import { createRedactor } from '../../secrets/redaction';
import { ofCommand, openLog } from '../log/open-log';
import type { Flags } from '../process/cli-command';
import type { CommandContext } from '../process/command-context';
import { feedNamed } from '../process/command-line';
import { publisherProgress } from '../progress/publisher-progress';
import { type ProgressScreen, progressScreen } from '../progress/screen';
import { wrapped } from '../terminal/text';

export interface OperateFlags extends Flags {
  /** Every enabled feed. */
  readonly all?: true;
  /** ms */
  readonly wait: number;
}

const NOT_SENT = 'No request was sent.';

/**
 * Carries out a command: the publisher that owns the feed does it, wherever it runs; if there is none, this process acquires the
 * feed.
 * @returns exit code
 */
export async function operate(
  feedName: string,
  command: Command,
  flags: OperateFlags,
  context: CommandContext,
): Promise<number> {
  const { env, cwd, signal } = context;
  const config = loadConfig({ flags, env, cwd }, 'feeds');
  context.hide(config.secrets);
  const feed = feedNamed(feedName, config.feeds, NOT_SENT);
  // The outcome is printed; the log is only for what goes wrong.
  const level = config.log.level === 'info' ? 'warn' : config.log.level;
  const screen = progressScreen(context, flags.json !== true && config.log.format === 'pretty');
  const logger = createLogger({ ...config.log, level, secrets: config.secrets, ...screen.logging });
  const instance = instanceName();
  const { commitLog: log, registry, place } = openLog(config, { logger, signal, instance });
  // The reason of a failed command may hold text of another server.
  const redact = createRedactor(config.secrets);
  const print = (text: string): Promise<void> => context.print(redact(text));
  const report = operationReport(feed.name, command, flags.json === true, { ...context, print }, screen);
  const named = `${command.name} of ${feed.name}`;
  try {
    await assertPublished();
    return await report.outcome((await askPublisher()) ?? (await actHere()));
  } catch (error) {
    if (error instanceof Left) return 1;
    if (!signal.aborted || error instanceof HighwaterError) throw error;
    screen.write(`highwater: ${named} was interrupted before it began.\n`);
    return 1;
  } finally {
    screen.end();
    await log.close();
  }

  /** Without this check a wrong folder or prefix would get a new log. */
  async function assertPublished(): Promise<void> {
    const names = await unlessAborted(log.topicNames(), signal).catch((error: unknown) => {
      throw ofCommand(error, NOT_SENT);
    });
    const { sourceOffset } = feedTopics(feed, config.topicPrefix);
    if (names?.includes(sourceOffset.name)) return;
    const what =
      names === null
        ? `there is no log in ${place} yet`
        : `the log in ${place} has no topic ${sourceOffset.name}: nothing of feed ${feed.name} was published there`;
    throw new HighwaterError('LOG_MISSING', what, {
      now: NOT_SENT,
      remedy:
        'Name the log that a publisher writes to (HIGHWATER_DATA_DIR, or KAFKA_BROKERS; HIGHWATER_TOPIC_PREFIX), or start one (`highwater run`).',
    });
  }

  /** @returns null when no publisher has the request or will get it */
  async function askPublisher(): Promise<Outcome | null> {
    if (!publisherMayRun(config)) return null;
    const topic = commandsTopic(config.appId, config.topicPrefix);
    const { accepted, progress } = report;
    const deps = { log, registry, topic, instance, acceptWithinMs: flags.wait, accepted, progress };
    const answer = await askOwner(feed.name, command, deps, signal).catch((error: unknown) => {
      if (error instanceof HighwaterError && error.code === 'COMMAND_UNANSWERED') throw error;
      const now = 'The command ends here. A publisher that did get the request may still carry it out.';
      throw ofCommand(error, now);
    });
    switch (answer.kind) {
      case 'answered':
        return answer.outcome;
      case 'left':
        throw left(`${answer.owner} goes on with ${named}; this command does not wait for the answer`);
      case 'not accepted':
        if (!signal.aborted) return null;
        throw left(`${named} is withdrawn: no publisher had accepted it`);
    }
  }

  function left(what: string): Left {
    screen.write(`highwater: ${what}.\n`);
    return new Left();
  }

  async function actHere(): Promise<Outcome> {
    // Only a process that acts as a publisher needs the API.
    const withApi = loadConfig({ flags, env, cwd, rotation: config.rotation }, 'api');
    const { onRestore } = publisherProgress(screen, logger);
    const outcomes: Outcome[] = [];
    const answer = (outcome: Outcome) => void outcomes.push(outcome);
    const request = { command, progress: report.progress, answer };
    report.acting();
    const deps = { log, registry, logger, onRestore, instance };
    await actAsOwner(feed, withApi, deps, request, signal).catch((error: unknown) => {
      if (!(error instanceof HighwaterError) || error.code !== 'LOG_OWNED') throw error;
      const what = `no publisher accepted ${named}, and ${error.message}`;
      throw new HighwaterError('COMMAND_NOT_ACCEPTED', what, { cause: error });
    });
    return outcomes[0]!;
  }
}

/** The operator has stopped waiting, and has been told what follows. */
class Left extends Error {}

/** The embedded log names its publisher, and the operating system tells whether that process runs. */
function publisherMayRun({ kafka, dataDir }: Config): boolean {
  if (kafka !== null) return true;
  const { owner, ownerRuns } = examineLocalLog(dataDir);
  return owner !== null && ownerRuns !== false;
}

interface ReportLine {
  readonly kind: 'accepted' | 'acting' | 'progress' | 'done' | 'failed';
  /** Set by `accepted`: host and process of the owner. */
  readonly owner?: string | null;
  readonly summary?: string | null;
  readonly facts?: Facts;
  readonly error?: Pick<HighwaterError, 'code' | 'message' | 'remedy'> | null;
}

/** Shows the progress and the outcome of a command. */
function operationReport(
  feed: string,
  { name }: Command,
  json: boolean,
  { print, width }: Pick<CommandContext, 'print' | 'width'>,
  screen: ProgressScreen,
) {
  let last = '';
  let waiting = '';

  /** The contract of `--json`: one object a line, with these members in this order. */
  const printed = ({ kind, owner = null, summary = null, facts = {}, error = null }: ReportLine) =>
    print(`${JSON.stringify({ kind, feed, command: name, owner, summary, facts, error })}\n`);
  /** The outcome goes to stdout; the owner and the progress go to stderr. */
  function said(line: ReportLine, text: string): void {
    if (json) void printed(line);
    else screen.write(`${text}\n`);
  }
  /** The owner says in its own words how the command goes, and by its facts how far it is. */
  function progressed(summary: string, facts: Facts): void {
    const write = (): void => screen.write(`${summary}\n`);
    const progress = { label: feed, work: name, share: shareOf(facts), facts: [summary] };
    // Not progress: an earlier backfill has ended, or a page does not come.
    if ('givenUpFrom' in facts || 'waiting' in facts) write();
    else screen.set(name, () => progress, write);
  }

  return {
    accepted: (owner: string) =>
      said({ kind: 'accepted', owner }, `${owner} has feed ${feed} and accepted ${name}.`),
    /** No publisher has the feed, so this process acquires it. */
    acting: () =>
      said(
        { kind: 'acting' },
        `No publisher has accepted ${name} of ${feed}: this command acquires the feed.`,
      ),
    progress(summary: string, facts: Facts) {
      // The owner repeats its progress as a sign of life.
      const line = JSON.stringify([summary, facts]);
      if (line === last || line === waiting) return;
      if ('waiting' in facts) waiting = line;
      else last = line;
      if (json) void printed({ kind: 'progress', summary, facts });
      else progressed(summary, facts);
    },
    /** @returns exit code @throws the error of a command that failed */
    async outcome(outcome: Outcome): Promise<number> {
      screen.end();
      if (outcome.ok) {
        const { summary, facts } = outcome;
        if (json) await printed({ kind: 'done', summary, facts });
        else await print(`${wrapped(harmless(summary), width()).join('\n')}\n`);
        // If deletes wait for an operator, a script must notice.
        return facts.withheld === true && facts.dryRun !== true ? 1 : 0;
      }
      const { code, message, remedy } = outcome.error;
      if (json) await printed({ kind: 'failed', error: { code, message, remedy } });
      throw outcome.error;
    },
  };
}

/** How much of a backfill or of the phase of a reconcile is done; null: not known. */
function shareOf({ done, phase, scanRows, tracked, probed, missing }: Facts): number | null {
  const [part, whole] = phase === 'probe' ? [probed, missing] : [scanRows, tracked];
  if (typeof done === 'number') return done;
  if (typeof part !== 'number' || typeof whole !== 'number' || phase === 'pause') return null;
  return whole === 0 ? null : Math.min(1, part / whole);
}
