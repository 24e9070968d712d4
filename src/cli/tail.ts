import { Command } from 'commander';
import { type DecodedRecord, recordDecoder } from '../avro/record-decoder';
import { configOptions } from '../config/command-options';
import { loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { createLogger, wantsColor } from '../logger';
import { unlessAborted } from '../wait';
import { type CommandContext, runCommand } from './command-context';
import { eventLine } from './format/event-line';
import { openLog } from './open-log';
import { opsValue, wholeNumberValue } from './option-values';
import { meantTopic, missingTopicNote } from './tail-topics';

interface TailFlags {
  readonly fromBeginning?: true;
  readonly follow: boolean;
  readonly json?: true;
  readonly op?: ReadonlySet<string>;
  readonly key?: string;
  readonly limit?: number;
  readonly [setting: string]: unknown;
}

export function tailCommand(): Command {
  const command = new Command('tail')
    .description('Show decoded records of a topic, live, while a publisher runs elsewhere.')
    .argument('<topic>', 'such as ipos, ipos.deal-status, ipos.current; the topic prefix may be left out')
    .option('--from-beginning', 'Begin with the first record instead of the next one')
    .option('--no-follow', 'Show what is there, from the beginning, and end')
    .option('--json', 'One JSON object a line')
    .option(
      '--op <ops>',
      'Only changes of these kinds: c created, u updated, d deleted, r read (`c,u`)',
      opsValue,
    )
    .option('--key <key>', 'Only records of this key')
    .option('--limit <count>', 'End after so many records', wholeNumberValue(1, Number.MAX_SAFE_INTEGER));
  for (const option of configOptions(['dataDir', 'topicPrefix'])) command.addOption(option);
  return command
    .addHelpText(
      'after',
      `
Examples:
  $ npx highwater tail ipos.deal-status                     status changes of IPOs as they happen
  $ npx highwater tail insights --op c,u --from-beginning   without what the first snapshot read
  $ npx highwater tail ipos --json --no-follow --from-beginning | jq .value.after.name`,
    )
    .action((topic: string, flags: TailFlags) => runCommand((context) => tail(topic, flags, context)));
}

async function tail(name: string, flags: TailFlags, context: CommandContext): Promise<number> {
  const { follow, op, key, limit = Infinity } = flags;
  const config = loadConfig({ flags, env: process.env, cwd: process.cwd() }, 'nothing');
  context.hide(config.secrets);
  const { commitLog, registry, place } = openLog(config, {
    signal: context.signal,
    logger: createLogger({ ...config.log, level: 'error', secrets: config.secrets }),
  });
  try {
    const inLog = await unlessAborted(commitLog.topicNames(), context.signal);
    const topic = meantTopic(name, config, inLog);
    const missing = missingTopicNote(topic, config, { follow, inLog, place });
    if (missing !== null) context.note(`highwater: ${missing}\n`);
    const decode = recordDecoder(registry);
    const text = flags.json === true ? jsonLine : lineForPeople;
    // Who does not wait wants what is there.
    const options = {
      fromBeginning: flags.fromBeginning === true || !follow,
      follow,
      signal: context.signal,
    };
    let shown = 0;
    for await (const record of commitLog.read([topic], options)) {
      if (op !== undefined && !op.has(record.headers.op ?? '')) continue;
      if (key !== undefined && record.key !== key) continue;
      await context.print(text(await decode(record)));
      shown += 1;
      if (shown >= limit || context.signal.aborted) break;
    }
    return 0;
  } catch (error) {
    if (context.signal.aborted) return 0;
    if (!(error instanceof HighwaterError)) throw error;
    const now = 'Nothing more is shown: the command ends. Publishers are not concerned.';
    throw new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy });
  } finally {
    await commitLog.close();
  }
}

/** The contract of `--json`: these members in this order. */
function jsonLine({
  topic,
  partition,
  logOffset,
  timestamp,
  key,
  type,
  headers,
  value,
}: DecodedRecord): string {
  return `${JSON.stringify({ topic, partition, offset: logOffset, timestamp, key, type, headers, value })}\n`;
}

function lineForPeople(record: DecodedRecord): string {
  const { stdout } = process;
  const width = stdout.isTTY ? stdout.columns : Infinity;
  return `${eventLine(record, { width, color: wantsColor(stdout), feedAsLabel: false })}\n`;
}
