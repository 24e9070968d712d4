import { statSync } from 'node:fs';
import path from 'node:path';
import { allSubjects, feedSubjects, type Subject } from '../avro/feed-subjects';
import { FULL_TRANSITIVE, type SchemaRegistry, type SchemaStatus } from '../avro/registry/registry';
import { type HistoryStanding, historyFolder, historyStanding } from '../avro/registry/schema-history';
import { feedSchemas, fullName } from '../avro/schemas';
import { ownTypes } from '../avro/typescript/own-types';
import { commandSchema, commandSubject } from '../commands/command-record';
import { type Config, loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { feedDefinitions } from '../feeds';
import { harmless } from '../format/short-text';
import { commandsTopic, feedTopics } from '../log/topics';
import { createLogger } from '../logging/logger';
import { type OpenRegistry, openRegistry } from './log/open-log';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { usageError } from './process/command-line';
import { painted, type Span, span } from './terminal/text';

export function schemasCommand(run: RunCommand): CliCommand {
  const schemas = new CliCommand('schemas');
  const registryOptions = ['schemaRegistryUrl', 'schemaRegistryUsername', 'schemaRegistration', 'dataDir'];
  const add = (command: CliCommand, options: readonly string[]) => {
    schemas.addCommand(command.settings(['feeds', 'topicPrefix', 'appId', ...options]));
  };
  add(
    new CliCommand('print')
      .description('Print every subject of the feeds with its schema, as JSON. Contacts no server.')
      .option('--subject <name>', 'Only the schema of this subject')
      .action((flags: Flags) => run((context) => print(flags, context))),
    [],
  );
  add(
    new CliCommand('types')
      .description(
        'Print TypeScript types of the feeds that highwater.yaml adds, for programs that import highwater/consumer. Contacts no server.',
      )
      .action((flags: Flags) => run((context) => types(flags, context))),
    [],
  );
  add(
    new CliCommand('check')
      .description('Compare every schema with the registry. Changes nothing.')
      .option('--json', 'One JSON object a line')
      .option(
        '--history [folder]',
        'Compare with the versions kept in a folder instead of the registry (default: those that come with highwater)',
      )
      .addHelpText(
        'after',
        '\nExit code 1 when a publisher with these settings would be refused; with --history, when a schema breaks with a version, or is not kept.',
      )
      .action((flags: Flags) => run((context) => check(flags, context))),
    registryOptions,
  );
  add(
    new CliCommand('register')
      .description('Register every schema, and hold each subject to FULL_TRANSITIVE.')
      .action((flags: Flags) => run((context) => register(flags, context))),
    registryOptions,
  );
  return schemas.notes(`
The registry is the one at SCHEMA_REGISTRY_URL; if that is not set, the registry of the embedded log.

Examples:
  $ npx highwater schemas print --subject ipos-value > ipos.avsc
  $ npx highwater schemas types > feeds.ts       for TypeScript programs that read feeds of your own
  $ npx highwater schemas check                  before an upgrade: exit 1 when a schema would be refused
  $ npx highwater schemas check --history        with every version that was published so far
  $ npx highwater schemas register               from a deployment, for publishers that only look up`);
}

async function print(flags: Flags, context: CommandContext): Promise<number> {
  const subjects = configuredSubjects(configured(flags, context));
  if (flags.subject === undefined) {
    const all = Object.fromEntries(subjects.map(({ subject, schema }) => [subject, schema]));
    await context.print(`${JSON.stringify(all, null, 2)}\n`);
    return 0;
  }
  const found = subjects.find(({ subject }) => subject === flags.subject);
  if (found === undefined) {
    const names = subjects.map(({ subject }) => subject).join(', ');
    throw usageError(
      `no subject ${flags.subject}; there are ${names}`,
      'Nothing was printed.',
      'Name one of these subjects. Topic prefix and feeds are part of the choice.',
    );
  }
  await context.print(`${JSON.stringify(found.schema, null, 2)}\n`);
  return 0;
}

async function types(flags: Flags, context: CommandContext): Promise<number> {
  const known = new Set(feedDefinitions.map(({ name }) => name));
  const own = configured(flags, context).feeds.filter(({ name }) => !known.has(name));
  if (own.length === 0)
    context.note(
      'highwater: none of these feeds comes from highwater.yaml; the types of the others come with highwater/consumer.\n',
    );
  await context.print(ownTypes(own));
  return 0;
}

async function check(flags: Flags, context: CommandContext): Promise<number> {
  const config = configured(flags, context);
  if (flags.history !== undefined) {
    const folder = flags.history === true ? historyFolder : path.resolve(context.cwd, String(flags.history));
    return checkHistory(namesakes(config), folder, flags.json === true, context);
  }
  return withRegistry(config, context, 'Nothing was changed.', async ({ registry, place }) => {
    const inspected = await inspectAll(config, registry);
    for (const one of inspected)
      await context.print(
        flags.json === true ? jsonLine(one) : lineOf(inspected, one.subject, one.status, context.color),
      );
    refuseIncompatible(inspected, place, 'Nothing was changed.');
    const missing = inspected.filter(({ status }) => status.state !== 'registered');
    if (config.schemaRegistry?.registration === 'lookup' && missing.length > 0) {
      throw new HighwaterError('SCHEMA_UNREGISTERED', `${named(missing)} not in ${place}`, {
        now: 'Nothing was changed. A publisher that only looks schemas up would not publish their feeds.',
      });
    }
    const weaker = inspected.filter(({ status }) => !isHeld(status));
    if (weaker.length > 0) {
      context.note(
        `highwater: ${named(weaker)} held to less than FULL_TRANSITIVE by the registry; \`highwater schemas register\` fixes that.\n`,
      );
    }
    return 0;
  });
}

async function register(flags: Flags, context: CommandContext): Promise<number> {
  const config = configured(flags, context);
  const now = 'The schemas listed above are registered, the rest are not.';
  return withRegistry(config, context, now, async ({ registry, place }) => {
    const inspected = await inspectAll(config, registry);
    // Check all before registering any: half of a feed's schemas is useless.
    refuseIncompatible(inspected, place, 'Nothing was registered.');
    for (const { subject, schema } of inspected) {
      await registry.register(subject, schema);
      const status = await registry.inspect(subject, schema);
      await context.print(lineOf(inspected, subject, status, context.color));
    }
    return 0;
  });
}

function configured(flags: Flags, context: CommandContext): Config {
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'feeds');
  context.hide(config.secrets);
  return config;
}

function configuredSubjects({ feeds, topicPrefix, appId }: Config): Subject[] {
  const ofFeeds = feeds.flatMap((feed) =>
    allSubjects(feedSubjects(feed, feedTopics(feed, topicPrefix), feedSchemas(feed))),
  );
  const commands = { subject: commandSubject(commandsTopic(appId, topicPrefix)), schema: commandSchema };
  return [...ofFeeds, commands];
}

/** Versions are kept by the names that topics have without settings. */
function namesakes(config: Config): Subject[] {
  return configuredSubjects({ ...config, topicPrefix: '', appId: 'highwater' });
}

/** @param now what is left behind when the registry fails: unlike a publisher, a command does not ask again */
async function withRegistry(
  config: Config,
  { signal, logging }: CommandContext,
  now: string,
  work: (open: OpenRegistry) => Promise<number>,
): Promise<number> {
  const logger = createLogger({ ...config.log, secrets: config.secrets, ...logging });
  const open = openRegistry(config, { logger, signal });
  try {
    return await work(open);
  } catch (error) {
    if (signal.aborted) return 1;
    if (!(error instanceof HighwaterError) || !error.code.startsWith('REGISTRY_')) throw error;
    throw new HighwaterError(error.code, error.message, { now, remedy: error.remedy });
  } finally {
    await open.close();
  }
}

type Inspected = Subject & { readonly status: SchemaStatus };

async function inspectAll(config: Config, registry: SchemaRegistry): Promise<Inspected[]> {
  const inspected: Inspected[] = [];
  for (const { subject, schema } of configuredSubjects(config)) {
    inspected.push({ subject, schema, status: await registry.inspect(subject, schema) });
  }
  return inspected;
}

/** @throws HighwaterError SCHEMA_INCOMPATIBLE naming all of them */
function refuseIncompatible(inspected: readonly Inspected[], place: string, now: string): void {
  const problems = inspected.flatMap(({ subject, status }) =>
    status.state === 'incompatible' ? [`  ${subject}: ${status.reason.problem}`] : [],
  );
  if (problems.length === 0) return;
  const count = problems.length === 1 ? 'One schema' : `${problems.length} schemas`;
  throw new HighwaterError(
    'SCHEMA_INCOMPATIBLE',
    `${count} cannot follow what ${place} has:\n${problems.join('\n')}`,
    {
      now,
    },
  );
}

function named(some: readonly Inspected[]): string {
  return `${some.map(({ subject }) => subject).join(', ')} ${some.length === 1 ? 'is' : 'are'}`;
}

/** The contract of `--json`: these members in this order. */
function jsonLine({ subject, schema, status }: Inspected): string {
  const { state, level } = status;
  const { id, version } = state === 'registered' ? status : { id: null, version: null };
  const breaks = state === 'incompatible' ? breakOf(status.reason) : null;
  return `${JSON.stringify({ subject, type: fullName(schema), state, id, version, level, breaks })}\n`;
}

function breakOf({ version, field, problem }: Breaking) {
  return { version, field, problem };
}

type Breaking = Extract<SchemaStatus, { state: 'incompatible' }>['reason'];

const labels = {
  registered: span('= registered  ', 'dim'),
  new: span('+ new         ', 'green'),
  compatible: span('~ compatible  ', 'yellow'),
  kept: span('= kept        ', 'dim'),
  changed: span('~ changed     ', 'yellow'),
  unexplained: span('~ unexplained ', 'yellow'),
  incompatible: span('x incompatible', 'red'),
} as const satisfies Readonly<Record<(SchemaStatus | HistoryStanding)['state'], Span>>;

/** How a schema stands, in the registry or to the versions that are kept of it, as one line. */
function lineOf(
  all: readonly Subject[],
  subject: string,
  standing: SchemaStatus | HistoryStanding,
  color: boolean,
): string {
  const subjectCells = Math.max(0, ...all.map((one) => one.subject.length));
  const isWeaker = 'level' in standing && !isHeld(standing);
  const spans = [
    span(`${harmless(subject).padEnd(subjectCells)}  `),
    labels[standing.state],
    span(`  ${harmless(factsOf(standing))}`),
    ...(isWeaker ? [span(`  held to ${harmless(standing.level ?? '')} only`, 'yellow')] : []),
  ];
  return `${painted(spans, Infinity, color).trimEnd()}\n`;
}

function factsOf(standing: SchemaStatus | HistoryStanding): string {
  switch (standing.state) {
    case 'registered':
      return `id ${standing.id}, version ${standing.version}`;
    case 'new':
      return '';
    case 'compatible':
      return `may follow version ${standing.latest}`;
    case 'kept':
      return `version ${standing.version}`;
    case 'changed':
      return standing.latest === null ? 'no version is kept' : `since version ${standing.latest}`;
    case 'unexplained':
      return `version ${standing.version} has no line in the changelog`;
    case 'incompatible':
      return standing.reason.problem;
  }
}

/** Whether the registry itself refuses incompatible versions; of a subject that is not there it will. */
export function isHeld({ level }: SchemaStatus): boolean {
  return level === null || level === FULL_TRANSITIVE;
}

type Judged = Subject & { readonly standing: HistoryStanding };

/**
 * `schemas check --history`: each schema against the versions that are kept of it.
 * @throws HighwaterError SCHEMA_INCOMPATIBLE, SCHEMA_UNRECORDED, USAGE_INVALID
 */
async function checkHistory(
  subjects: readonly Subject[],
  folder: string,
  isJson: boolean,
  { print, color }: CommandContext,
): Promise<number> {
  const now = 'Nothing was changed.';
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw usageError(
      `--history: ${folder} is not a folder`,
      'Nothing was checked.',
      `Name a folder with <subject>/<version>.avsc, or leave it out to compare with the schemas that come with highwater (${historyFolder}).`,
    );
  const judged = subjects.map((subject) => ({ ...subject, standing: historyStanding(subject, folder) }));
  for (const one of judged)
    await print(isJson ? historyJson(one) : lineOf(judged, one.subject, one.standing, color));
  const broken = judged.flatMap(({ subject, standing }) =>
    standing.state === 'incompatible' ? [`\n  ${subject}: ${standing.reason.problem}`] : [],
  );
  if (broken.length > 0) {
    const what = `not every version in ${folder} and these schemas can read each other:${broken.join('')}`;
    throw new HighwaterError('SCHEMA_INCOMPATIBLE', what, { now });
  }
  const missing = judged.flatMap(({ subject, schema, standing }) => {
    if (standing.state === 'changed') return [`\n  ${subject}: ${changed(standing.latest)}`];
    if (standing.state !== 'unexplained') return [];
    return [
      `\n  ${subject}: ${standing.changelog} has no line for version ${standing.version} of ${fullName(schema)}`,
    ];
  });
  if (missing.length === 0) return 0;
  throw new HighwaterError('SCHEMA_UNRECORDED', `the history does not have all of it:${missing.join('')}`);
}

function changed(latest: number | null): string {
  return latest === null
    ? 'no version of it is kept'
    : `it differs from version ${latest}, the latest that is kept`;
}

/** The contract of `--json` with `--history`: these members in this order. */
function historyJson({ subject, schema, standing }: Judged): string {
  const { state } = standing;
  const version = 'version' in standing ? standing.version : state === 'changed' ? standing.latest : null;
  const breaks = state === 'incompatible' ? breakOf(standing.reason) : null;
  return `${JSON.stringify({ subject, type: fullName(schema), state, version, breaks })}\n`;
}
