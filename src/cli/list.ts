import { unlessAborted } from '../async/wait';
import { loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { settingText } from '../format/durations';
import { allTopics, feedTopics } from '../log/topics';
import { readLog } from './log/open-log';
import { feedsByTopic } from './log/tail-topics';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { type Column, type Span, span, tableText } from './terminal/text';

export function feedsCommand(run: RunCommand): CliCommand {
  return new CliCommand('feeds')
    .option('--json', 'One JSON object a line')
    .settings()
    .action((flags: Flags) => run((context) => listFeeds(flags, context)));
}

export function topicsCommand(run: RunCommand): CliCommand {
  return new CliCommand('topics')
    .option('--json', 'One JSON object a line')
    .settings()
    .action((flags: Flags) => run((context) => listTopics(flags, context)));
}

async function listFeeds(flags: Flags, context: CommandContext): Promise<number> {
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'feeds');
  const rows = config.feeds.map((feed) => ({
    feed: feed.name,
    api: feed.apiUrl ?? config.apiUrl,
    path: feed.path,
    poll_interval_ms: feed.pollIntervalMs,
    topics: allTopics(feedTopics(feed, config.topicPrefix)).map(({ name }) => name),
  }));
  const columns = [
    { head: 'FEED' },
    { head: 'ENDPOINT', least: 10 },
    { head: 'POLLED EVERY' },
    { head: 'TOPICS', least: 10 },
  ];
  const cells = ({ feed, api, path, poll_interval_ms, topics }: (typeof rows)[number]) => [
    feed,
    `${api ?? ''}${path}`,
    settingText(poll_interval_ms),
    topics.join(' '),
  ];
  await show(rows, columns, cells, flags, context);
  return 0;
}

function listTopics(flags: Flags, context: CommandContext): Promise<number> {
  return readLog(flags, 'nothing', context, async ({ commitLog, place }, config) => {
    const names = await unlessAborted(commitLog.topicNames(), context.signal);
    if (names === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${place} yet`);
    const feedOf = feedsByTopic(config);
    const rows = names.map((topic) => ({ topic, feed: feedOf(topic)?.name ?? null }));
    const columns = [{ head: 'TOPIC' }, { head: 'FEED' }];
    await show(rows, columns, ({ topic, feed }) => [topic, feed ?? '–'], flags, context);
    return 0;
  });
}

/** Prints rows as JSON lines or as a table. */
export async function show<Row>(
  rows: readonly Row[],
  columns: readonly Column[],
  cells: (row: Row) => readonly (string | Span)[],
  { json }: Flags,
  context: Pick<CommandContext, 'print' | 'width' | 'color'>,
): Promise<void> {
  const spans = rows.map((row) => cells(row).map((cell) => (typeof cell === 'string' ? span(cell) : cell)));
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  await context.print(json === true ? lines : tableText(columns, spans, context));
}
