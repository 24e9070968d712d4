import path from 'node:path';
import { loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { counted } from '../format/counted';
import { openLocalLog } from '../log/local/local-log';
import { allTopics, feedTopics } from '../log/topics';
import { createLogger } from '../logging/logger';
import { type CopiedFeed, copyFeeds } from '../runtime/copy-feeds';
import { instanceName } from '../runtime/worker';
import { openLog } from './log/open-log';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { usageError } from './process/command-line';

export function copyCommand(run: RunCommand): CliCommand {
  return new CliCommand('copy')
    .requiredOption('--from <folder>', 'Data folder of the embedded log')
    .option('--json', 'One JSON object a feed')
    .settings(['topicPrefix', 'appId', 'feeds'])
    .notes(`
Stop the publisher first. The brokers and the registry are those of the settings (KAFKA_BROKERS, SCHEMA_REGISTRY_URL). The topics of the
feeds must be empty or missing there.

Examples:
  $ npx highwater copy --from ./data`)
    .action((flags: Flags) => run((context) => copy(flags, context)));
}

async function copy(flags: Flags, context: CommandContext): Promise<number> {
  const { env, cwd, signal, logging } = context;
  const config = loadConfig({ flags, env, cwd }, 'feeds');
  context.hide(config.secrets);
  const now = 'Nothing was copied.';
  if (config.kafka === null)
    throw usageError('no brokers are set to copy to', now, 'Set KAFKA_BROKERS and SCHEMA_REGISTRY_URL.');
  const logger = createLogger({ ...config.log, level: 'warn', secrets: config.secrets, ...logging });
  const instance = instanceName();
  const dataDir = path.resolve(cwd, String(flags.from));
  const { commitLog, registry, hold } = openLocalLog({ dataDir, logger, instance });
  const target = openLog(config, { logger, signal, instance });
  const feeds = config.feeds.map((feed) => feedTopics(feed, config.topicPrefix, config.partitions));
  const copied = new Set<string>();
  const report = async (one: CopiedFeed): Promise<void> => {
    copied.add(one.feed);
    const { feed, records, seq, incarnation } = one;
    const said = `Feed ${feed}: ${counted(records, 'record')} copied, up to change ${seq} of incarnation ${incarnation}.`;
    await context.print(`${flags.json === true ? JSON.stringify(one) : said}\n`);
  };
  try {
    const inLog = (await commitLog.topicNames()) ?? [];
    const present = feeds.filter(({ sourceOffset }) => inLog.includes(sourceOffset.name));
    if (present.length === 0) {
      throw new HighwaterError('LOG_MISSING', `${dataDir} has no log with one of the enabled feeds`, {
        now,
        remedy:
          'Name the data folder of the publisher (--from), the feeds that it has (--feeds), and its prefix (--topic-prefix), which is that on Kafka, too.',
      });
    }
    // From here on no publisher can write there.
    hold();
    const from = { log: commitLog, registry };
    await copyFeeds(present, from, { ...target, log: target.commitLog }, { instance, report, signal }).catch(
      (error: unknown) => {
        throw endOfCopy(error);
      },
    );
    const done = present.filter(({ feed }) => copied.has(feed)).flatMap(allTopics);
    const left = inLog.filter((topic) => !done.some(({ name }) => name === topic));
    if (left.length > 0) context.note(`Not copied, because no enabled feed has them: ${left.join(', ')}.\n`);
    context.note(`Start the publisher on ${target.place}, and none on ${dataDir} any more.\n`);
    return 0;
  } finally {
    await Promise.all([commitLog.close(), target.commitLog.close()]);
  }
}

/** Errors of the log and the registry say what a publisher does. */
function endOfCopy(error: unknown): unknown {
  if (!(error instanceof HighwaterError) || error.code === 'COPY_REFUSED') return error;
  const { code, message } = error;
  const remedy =
    code === 'SCHEMA_UNREGISTERED'
      ? 'Run the copy with HIGHWATER_SCHEMA_REGISTRATION=register: the log may have records of earlier schema versions, which `highwater schemas register` does not know.'
      : error.remedy;
  return new HighwaterError(code, message, {
    cause: error,
    now: 'The copy ends. Only the feeds that it has named are whole.',
    remedy,
  });
}
