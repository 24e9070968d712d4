import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Config, loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { counted } from '../format/counted';
import { type BackupReport, backUp } from '../log/local/backup';
import { openLocalLog } from '../log/local/local-log';
import { putBack } from '../log/local/put-back';
import { createLogger } from '../logging/logger';
import { beginAllAnew } from '../runtime/begin-anew';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';

const JSON_OPTION = ['--json', 'One JSON object'] as const;

export function backupCommand(run: RunCommand): CliCommand {
  return new CliCommand('backup')
    .argument('<file>', 'where the backup goes; - is stdout')
    .option('--overwrite', 'Replace an earlier backup of that name')
    .option(...JSON_OPTION)
    .settings(['dataDir'])
    .notes(`
The publisher and consumers may be at work. The backup is one file: the log, and the positions of consumer groups. It is checked
before it gets its name.

Examples:
  $ npx highwater backup /backups/highwater-$(date +%F).db
  $ docker exec publisher highwater backup - > highwater.db    out of a container`)
    .action((file: string, flags: Flags) => run((context) => backup(file, flags, context)));
}

export function restoreCommand(run: RunCommand): CliCommand {
  return new CliCommand('restore')
    .argument('<file>', 'a file that `highwater backup` wrote, or another whole copy of highwater.db')
    .option(...JSON_OPTION)
    .settings(['dataDir'])
    .notes(`
Stop the publisher and the consumers first. The replaced log is kept beside the new one. Every feed gets a new incarnation: its records
come again as reads (op r), and no event id comes twice.

Examples:
  $ npx highwater restore /backups/highwater-2026-11-23.db`)
    .action((file: string, flags: Flags) => run((context) => restore(file, flags, context)));
}

function embeddedConfig(flags: Flags, { env, cwd, hide }: CommandContext): Config {
  const config = loadConfig({ flags, env, cwd }, 'nothing');
  hide(config.secrets);
  const { kafka } = config;
  if (kafka === null) return config;
  throw new HighwaterError('BACKUP_ON_KAFKA', `the log is Kafka at ${kafka.brokers.join(', ')}`);
}

async function backup(file: string, flags: Flags, context: CommandContext): Promise<number> {
  const { dataDir } = embeddedConfig(flags, context);
  if (file === '-') return backupToStdout(dataDir, context);
  const began = performance.now();
  const target = path.resolve(context.cwd, file);
  const report = await backUp(dataDir, target, flags.overwrite === true, context.signal);
  const seconds = Math.round(performance.now() - began) / 1_000;
  await context.print(
    flags.json === true ? `${JSON.stringify({ ...report, seconds })}\n` : said(report, seconds),
  );
  return 0;
}

function said({ file, bytes, records, groups }: BackupReport, seconds: number): string {
  const megabytes = (bytes / 1_000_000).toLocaleString('en-US', { maximumFractionDigits: 1 });
  return `${file}: ${counted(records, 'record')} and the positions of ${counted(groups, 'group')}, ${megabytes} MB, checked, in ${seconds} s.\n`;
}

/** An image without a shell has no program that takes a file out of it. */
async function backupToStdout(dataDir: string, { stdout, signal }: CommandContext): Promise<number> {
  const folder = mkdtempSync(path.resolve(dataDir, 'backup-'));
  try {
    const { file } = await backUp(dataDir, path.join(folder, 'highwater.db'), false, signal);
    await pipeline(createReadStream(file), stdout, { end: false, signal });
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function restore(file: string, flags: Flags, context: CommandContext): Promise<number> {
  const { dataDir, log, secrets } = embeddedConfig(flags, context);
  const logger = createLogger({ ...log, level: 'error', secrets, ...context.logging });
  const copy = path.resolve(context.cwd, file);
  const beginAnew = async (folder: string) => {
    const { commitLog, registry } = openLocalLog({ dataDir: folder, logger, instance: 'restore' });
    try {
      return await beginAllAnew(commitLog, registry, context.signal);
    } finally {
      await commitLog.close();
    }
  };
  const { begun, ...report } = await putBack(dataDir, copy, beginAnew, context.signal).catch(
    (error: unknown) => {
      throw withoutRoom(error);
    },
  );
  if (flags.json === true) {
    await context.print(`${JSON.stringify({ ...report, feeds: begun })}\n`);
    return 0;
  }
  const { madeMs, groups, replaced } = report;
  const when = madeMs === null ? '' : ` of ${new Date(madeMs).toISOString()}`;
  const lines = [
    `${copy}${when} is in place, with the positions of ${counted(groups, 'group')}.`,
    ...begun.map(
      ({ feed, incarnation, records }) =>
        `Feed ${feed} begins again as incarnation ${incarnation}, without images: ${records} were removed.`,
    ),
    ...(replaced === null ? [] : [`The log that was there is in ${replaced}.`]),
    'Start the publisher: all records come as reads (op r).',
  ];
  await context.print(`${lines.join('\n')}\n`);
  return 0;
}

function withoutRoom(error: unknown): unknown {
  if (!(error instanceof HighwaterError) || error.code !== 'LOG_FULL') return error;
  return new HighwaterError('LOG_FULL', error.message, {
    cause: error,
    now: 'Nothing was restored. The log is as it was.',
    remedy: 'Free as much space on the disk as the file takes. The log that is replaced is kept beside it.',
  });
}
