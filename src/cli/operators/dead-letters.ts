import { unlessAborted } from '../../async/wait';
import type { DeadLetterValue } from '../../avro/codec/feed-codec';
import { fullName, readSchema } from '../../avro/schemas';
import { HighwaterError } from '../../errors';
import { durationText } from '../../format/durations';
import { harmless } from '../../format/short-text';
import { latestRecords } from '../../log/latest-records';
import { feedTopics } from '../../log/topics';
import { readLog } from '../log/open-log';
import { tolerantDecoder } from '../log/tolerant-decoder';
import { CliCommand, type Flags } from '../process/cli-command';
import type { CommandContext, RunCommand } from '../process/command-context';
import { feedNamed } from '../process/command-line';
import { painted, span } from '../terminal/text';
import { ofFeeds } from './operator-commands';

export function deadLettersCommand(run: RunCommand): CliCommand {
  const retry = ofFeeds(run, 'retry', () => ({ name: 'retry-dead-letters' })).description(
    'Try the dead letters of a feed again with the current code and schemas.',
  );
  return new CliCommand('dead-letters').addCommand(listCommand(run)).addCommand(retry);
}

function listCommand(run: RunCommand): CliCommand {
  return new CliCommand('list')
    .description('Show the dead letters of each feed, or of one feed, the oldest first. Changes nothing.')
    .argument('[feed]', 'such as ipos')
    .option('--json', 'One JSON object a line, with all of the text that is kept')
    .settings(['dataDir', 'topicPrefix'])
    .notes(`
Examples:
  $ npx highwater dead-letters list ipos
  $ npx highwater dead-letters list ipos --json | jq -r .raw`)
    .action((feed: string | undefined, flags: Flags) => run((context) => list(feed, flags, context)));
}

const LETTER = fullName(readSchema('dead-letter.avsc'));

function list(name: string | undefined, flags: Flags, context: CommandContext): Promise<number> {
  const { signal } = context;
  return readLog(flags, 'nothing', context, async ({ commitLog, registry, place }, config) => {
    const feeds = name === undefined ? config.feeds : [feedNamed(name, config.feeds, 'Nothing was read.')];
    const inLog = await unlessAborted(commitLog.topicNames(), signal);
    if (inLog === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${place} yet`);
    const { decode, exitCode } = tolerantDecoder(registry, context);
    let found = 0;
    for (const feed of feeds) {
      const topic = feedTopics(feed, config.topicPrefix).deadLetters.name;
      if (!inLog.includes(topic)) continue;
      const kept = (await latestRecords(commitLog, [topic], signal))!.get(topic)!;
      for (const record of [...kept.values()].sort((a, b) => a.timestamp - b.timestamp)) {
        if (signal.aborted) return 0;
        found += 1;
        const decoded = await decode(record);
        if (decoded?.type !== LETTER) continue;
        const letter = decoded.value as DeadLetterValue;
        await context.print(flags.json === true ? jsonLine(letter) : linesForPeople(letter, context));
      }
    }
    if (found === 0 && flags.json !== true)
      await context.print(`No dead letters of ${feeds.map((feed) => feed.name).join(', ')}.\n`);
    return exitCode();
  });
}

/** The contract of `--json`: these members in this order. `bytes` is the length of the whole text; `raw` may be its beginning. */
function jsonLine({ feed, reason, sha256, bytes, ts_ms, raw }: DeadLetterValue): string {
  const cut = Buffer.byteLength(raw) < bytes;
  return `${JSON.stringify({ feed, reason, sha256, bytes, cut, ts_ms, raw })}\n`;
}

/** Enough of the text to recognise the row. */
const MOST_CHARACTERS = 300;

function linesForPeople(
  { feed, reason, sha256, bytes, ts_ms, raw }: DeadLetterValue,
  context: CommandContext,
): string {
  const kept = Buffer.byteLength(raw);
  const size = kept < bytes ? `${bytes} bytes, the first ${kept} kept` : `${bytes} bytes`;
  const begin = raw.slice(0, MOST_CHARACTERS).toWellFormed();
  const text = begin.length < raw.length || kept < bytes ? `${begin}…` : begin;
  const lines = [
    [
      span(`${harmless(feed)}  `, 'bold'),
      span(`${sha256.slice(0, 12)}  `),
      span(`${size}, ${durationText(Date.now() - ts_ms)} old`, 'dim'),
    ],
    [span(`  ${harmless(reason)}`, 'yellow')],
    [span(`  ${harmless(text)}`)],
  ];
  return lines.map((spans) => `${painted(spans, context.width(), context.color).trimEnd()}\n`).join('');
}
