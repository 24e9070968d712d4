import { Command } from 'commander';
import { unlessAborted } from '../async/wait';
import type { DeadLetterValue } from '../avro/codec/feed-codec';
import { fullName, readSchema } from '../avro/schemas';
import { configOptions } from '../config/command-options';
import { type Config, loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import type { CommitLog, LogRecord } from '../log/commit-log';
import { feedTopics } from '../log/topics';
import { createLogger } from '../logging/logger';
import { wantsColor } from '../logging/wants-color';
import { deadLetterLines } from './lines/dead-letter-lines';
import { openLog } from './log/open-log';
import { tolerantDecoder } from './log/tolerant-decoder';
import type { CommandContext, RunCommand } from './process/command-context';
import { widthOf } from './terminal/terminal';

interface ListFlags {
  readonly json?: true;
  readonly [setting: string]: unknown;
}

export function listDeadLettersCommand(run: RunCommand): Command {
  const command = new Command('list')
    .description('Show what is kept of each feed, or of one, the oldest first. Changes nothing.')
    .argument('[feed]', 'such as ipos')
    .option('--json', 'One JSON object a line, with all of the text that is kept');
  for (const option of configOptions(['dataDir', 'topicPrefix'])) command.addOption(option);
  return command
    .addHelpText(
      'after',
      `
Examples:
  $ npx highwater dead-letters list ipos
  $ npx highwater dead-letters list ipos --json | jq -r .raw`,
    )
    .action((feed: string | undefined, flags: ListFlags) => run((context) => list(feed, flags, context)));
}

const LETTER = fullName(readSchema('dead-letter.avsc'));

async function list(name: string | undefined, flags: ListFlags, context: CommandContext): Promise<number> {
  const { signal } = context;
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'nothing');
  context.hide(config.secrets);
  const feeds = chosenFeeds(name, config);
  const logger = createLogger({ ...config.log, level: 'error', secrets: config.secrets, ...context.logging });
  const { commitLog, registry, place } = openLog(config, { signal, logger });
  try {
    const inLog = await unlessAborted(commitLog.topicNames(), signal);
    if (inLog === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${place} yet`);
    const { decode, exitCode } = tolerantDecoder(registry, context);
    const text = flags.json === true ? jsonLine : linesForPeople(context);
    let found = 0;
    for (const feed of feeds) {
      const topic = feedTopics(feed, config.topicPrefix).deadLetters.name;
      if (!inLog.includes(topic)) continue;
      for (const record of await keptIn(topic, commitLog, signal)) {
        if (signal.aborted) return 0;
        found += 1;
        const decoded = await decode(record);
        if (decoded?.type === LETTER) await context.print(text(decoded.value as DeadLetterValue));
      }
    }
    if (found === 0 && flags.json !== true)
      await context.print(`No dead letters of ${feeds.map((feed) => feed.name).join(', ')}.\n`);
    return exitCode();
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof HighwaterError)) throw error;
    const now = 'Nothing more is shown: the command ends. This command touches no publisher.';
    throw new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy });
  } finally {
    await commitLog.close();
  }
}

function chosenFeeds(name: string | undefined, { feeds }: Config): Config['feeds'] {
  const chosen = name === undefined ? feeds : feeds.filter((feed) => feed.name === name);
  if (chosen.length > 0) return chosen;
  const what = `there is no feed ${name}; there are ${feeds.map((feed) => feed.name).join(', ')}`;
  throw new HighwaterError('USAGE_INVALID', what, {
    now: 'Nothing was read.',
    remedy: 'Name one of them, or enable it (HIGHWATER_FEEDS).',
  });
}

/** Without those that were removed; the oldest first. */
async function keptIn(topic: string, log: CommitLog, signal: AbortSignal): Promise<readonly LogRecord[]> {
  const latest = new Map<string, LogRecord>();
  for await (const record of log.read([topic], { fromBeginning: true, follow: false, signal })) {
    if (record.value === null) latest.delete(record.key);
    else latest.set(record.key, record);
  }
  return [...latest.values()].sort((a, b) => a.timestamp - b.timestamp);
}

/** The contract of `--json`: these members in this order. `bytes` is the length of the whole, of which `raw` may be the beginning. */
function jsonLine({ feed, reason, sha256, bytes, ts_ms, raw }: DeadLetterValue): string {
  const cut = Buffer.byteLength(raw) < bytes;
  return `${JSON.stringify({ feed, reason, sha256, bytes, cut, ts_ms, raw })}\n`;
}

function linesForPeople({ stdout, env }: CommandContext): (letter: DeadLetterValue) => string {
  const color = wantsColor(stdout, env);
  return (letter) => deadLetterLines(letter, { nowMs: Date.now(), width: widthOf(stdout), color });
}
