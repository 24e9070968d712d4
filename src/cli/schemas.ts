import { statSync } from 'node:fs';
import path from 'node:path';
import { type Subject, topicsOf } from '../avro/published-topics';
import {
  type AvroSchema,
  FULL_TRANSITIVE,
  type Incompatibility,
  type SchemaRegistry,
  type SchemaStatus,
} from '../avro/registry/registry';
import { type HistoryStanding, historyFolder, historyStanding } from '../avro/registry/schema-history';
import { fullName } from '../avro/schemas';
import { ownTypes } from '../avro/typescript/interfaces';
import { commandSchema, commandSubject } from '../commands/command-record';
import { type Config, loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { feedDefinitions } from '../feeds';
import type { Feed } from '../feeds/feed';
import { harmless } from '../format/short-text';
import { commandsTopic, feedTopics } from '../log/topics';
import { createLogger } from '../logging/logger';
import { type OpenRegistry, ofCommand, openRegistry } from './log/open-log';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { usageError } from './process/command-line';
import { painted, type Span, span } from './terminal/text';

export function schemasCommand(run: RunCommand): CliCommand {
  const ofFeeds = ['feeds', 'topicPrefix', 'appId'];
  const ofRegistry = ['schemaRegistryUrl', 'schemaRegistryUsername', 'schemaRegistration', 'dataDir'];
  const printCommand = new CliCommand('print')
    .description('Print every subject of the feeds with its schema, as JSON. Contacts no server.')
    .option('--subject <name>', 'Only the schema of this subject')
    .settings(ofFeeds)
    .action((flags: Flags) => run((context) => print(flags, context)));
  const typesCommand = new CliCommand('types')
    .description(
      'Print TypeScript types of the feeds that highwater.yaml adds, for programs that import highwater/consumer. Contacts no server.',
    )
    .settings(ofFeeds)
    .action((flags: Flags) => run((context) => types(flags, context)));
  const checkCommand = new CliCommand('check')
    .description('Compare every schema with the registry. Changes nothing.')
    .option('--json', 'One JSON object a line')
    .option(
      '--history [folder]',
      'Compare with the versions kept in a folder instead of the registry (default: those that come with highwater)',
    )
    .notes(
      '\nExit code 1 when a publisher with these settings would be refused; with --history, when a schema breaks with a version, or is not kept.',
    )
    .settings([...ofFeeds, ...ofRegistry])
    .action((flags: Flags) => run((context) => check(flags, context)));
  const registerCommand = new CliCommand('register')
    .description('Register every schema, and hold each subject to FULL_TRANSITIVE.')
    .settings([...ofFeeds, ...ofRegistry])
    .action((flags: Flags) => run((context) => register(flags, context)));
  return new CliCommand('schemas')
    .addCommand(printCommand)
    .addCommand(typesCommand)
    .addCommand(checkCommand)
    .addCommand(registerCommand)
    .notes(`
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
  const schemas = new Map<unknown, AvroSchema>(subjects.map(({ subject, schema }) => [subject, schema]));
  const { subject } = flags;
  if (subject !== undefined && !schemas.has(subject))
    throw usageError(
      `no subject ${subject}; there are ${[...schemas.keys()].join(', ')}`,
      'Nothing was printed.',
      'Name one of these subjects. Topic prefix and feeds are part of the choice.',
    );
  const shown = subject === undefined ? Object.fromEntries(schemas) : schemas.get(subject);
  await context.print(`${JSON.stringify(shown, null, 2)}\n`);
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

const NOT_CHANGED = 'Nothing was changed.';

async function check(flags: Flags, context: CommandContext): Promise<number> {
  const config = configured(flags, context);
  if (flags.history !== undefined) {
    const folder = flags.history === true ? historyFolder : path.resolve(context.cwd, String(flags.history));
    // Versions are kept by the names that topics have without settings.
    const subjects = configuredSubjects({ ...config, topicPrefix: '', appId: 'highwater' });
    return checkHistory(subjects, folder, flags, context);
  }
  return withRegistry(config, context, NOT_CHANGED, async ({ registry, place }) => {
    const inspected = await inspectAll(configuredSubjects(config), registry);
    await printAll(inspected, flags, context);
    refuseIncompatible(inspected, place, NOT_CHANGED);
    const missing = inspected.filter(({ standing }) => standing.state !== 'registered');
    if (config.schemaRegistry?.registration === 'lookup' && missing.length > 0) {
      throw new HighwaterError('SCHEMA_UNREGISTERED', `${named(missing)} not in ${place}`, {
        now: `${NOT_CHANGED} A publisher that only looks schemas up would not publish their feeds.`,
      });
    }
    const weaker = inspected.filter(({ standing }) => !isHeld(standing));
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
    const inspected = await inspectAll(configuredSubjects(config), registry);
    // Check all before registering any: half of a feed's schemas is useless.
    refuseIncompatible(inspected, place, 'Nothing was registered.');
    for (const one of inspected) {
      await registry.register(one.subject, one.schema);
      const standing = await registry.inspect(one.subject, one.schema);
      await context.print(lineOf(inspected, { ...one, standing }, context.color));
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
  const commands = { subject: commandSubject(commandsTopic(appId, topicPrefix)), schema: commandSchema };
  return [...feeds.flatMap((feed) => subjectsOf(feed, topicPrefix)), commands];
}

export function subjectsOf(feed: Feed, topicPrefix: string): readonly Subject[] {
  return topicsOf(feed, feedTopics(feed, topicPrefix));
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
    const isOfRegistry = error instanceof HighwaterError && error.code.startsWith('REGISTRY_');
    throw isOfRegistry ? ofCommand(error, now) : error;
  } finally {
    await open.close();
  }
}

/** A subject, and how its schema stands: in the registry, or to the versions that are kept of it. */
export type Judged<Standing = SchemaStatus | HistoryStanding> = Subject & { readonly standing: Standing };

export async function inspectAll(
  subjects: readonly Subject[],
  registry: SchemaRegistry,
): Promise<Judged<SchemaStatus>[]> {
  const inspected: Judged<SchemaStatus>[] = [];
  for (const { subject, schema } of subjects)
    inspected.push({ subject, schema, standing: await registry.inspect(subject, schema) });
  return inspected;
}

/** A text for each schema that breaks with an earlier version. */
export function breaksIn(judged: readonly Judged[]): string[] {
  return judged.flatMap(({ subject, standing }) =>
    standing.state === 'incompatible' ? [`${subject}: ${standing.reason.problem}`] : [],
  );
}

/** @throws HighwaterError SCHEMA_INCOMPATIBLE naming all of them */
function refuseIncompatible(inspected: readonly Judged[], place: string, now: string): void {
  const problems = breaksIn(inspected);
  if (problems.length === 0) return;
  const count = problems.length === 1 ? 'One schema' : `${problems.length} schemas`;
  const what = `${count} cannot follow what ${place} has:\n  ${problems.join('\n  ')}`;
  throw new HighwaterError('SCHEMA_INCOMPATIBLE', what, { now });
}

function named(some: readonly Judged[]): string {
  return `${some.map(({ subject }) => subject).join(', ')} ${some.length === 1 ? 'is' : 'are'}`;
}

/** The contract of `--json`: these members in this order. Only the registry has an id and a level. */
function jsonLine({ subject, schema, standing }: Judged): string {
  const { state } = standing;
  const schemaOf = { subject, type: fullName(schema), state };
  const version = 'version' in standing ? standing.version : state === 'changed' ? standing.latest : null;
  const breaks = state === 'incompatible' ? breakOf(standing.reason) : null;
  const id = state === 'registered' ? standing.id : null;
  const all =
    'level' in standing
      ? { ...schemaOf, id, version, level: standing.level, breaks }
      : { ...schemaOf, version, breaks };
  return `${JSON.stringify(all)}\n`;
}

function breakOf({ version, field, problem }: Incompatibility) {
  return { version, field, problem };
}

const labels = {
  registered: span('= registered  ', 'dim'),
  new: span('+ new         ', 'green'),
  compatible: span('~ compatible  ', 'yellow'),
  kept: span('= kept        ', 'dim'),
  changed: span('~ changed     ', 'yellow'),
  unexplained: span('~ unexplained ', 'yellow'),
  incompatible: span('x incompatible', 'red'),
} as const satisfies Readonly<Record<(SchemaStatus | HistoryStanding)['state'], Span>>;

/** Prints how each schema stands, a line each. */
async function printAll(judged: readonly Judged[], flags: Flags, context: CommandContext): Promise<void> {
  for (const one of judged)
    await context.print(flags.json === true ? jsonLine(one) : lineOf(judged, one, context.color));
}

function lineOf(all: readonly Subject[], { subject, standing }: Judged, color: boolean): string {
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

/**
 * `schemas check --history`: each schema against the versions that are kept of it.
 * @throws HighwaterError SCHEMA_INCOMPATIBLE, SCHEMA_UNRECORDED, USAGE_INVALID
 */
async function checkHistory(
  subjects: readonly Subject[],
  folder: string,
  flags: Flags,
  context: CommandContext,
): Promise<number> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw usageError(
      `--history: ${folder} is not a folder`,
      'Nothing was checked.',
      `Name a folder with <subject>/<version>.avsc, or leave it out to compare with the schemas that come with highwater (${historyFolder}).`,
    );
  const judged = subjects.map((subject) => ({ ...subject, standing: historyStanding(subject, folder) }));
  await printAll(judged, flags, context);
  const broken = breaksIn(judged);
  if (broken.length > 0) {
    const what = `not every version in ${folder} and these schemas can read each other:\n  ${broken.join('\n  ')}`;
    throw new HighwaterError('SCHEMA_INCOMPATIBLE', what, { now: NOT_CHANGED });
  }
  const missing = judged.flatMap((one) => {
    const text = missingText(one);
    return text === null ? [] : [`\n  ${one.subject}: ${text}`];
  });
  if (missing.length === 0) return 0;
  throw new HighwaterError('SCHEMA_UNRECORDED', `the history does not have all of it:${missing.join('')}`);
}

/** Null: the history has all of it. */
function missingText({ schema, standing }: Judged<HistoryStanding>): string | null {
  if (standing.state === 'unexplained')
    return `${standing.changelog} has no line for version ${standing.version} of ${fullName(schema)}`;
  if (standing.state !== 'changed') return null;
  return standing.latest === null
    ? 'no version of it is kept'
    : `it differs from version ${standing.latest}, the latest that is kept`;
}
