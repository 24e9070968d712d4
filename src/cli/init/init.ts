import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { feedName, feedNameText } from '../../config/feeds/load-feeds';
import { parseConfig } from '../../config/files/config-text';
import { CONFIG_VARIABLE, DEFAULT_CONFIG_FILE, namedConfigFile } from '../../config/files/read-config-file';
import { loadConfig } from '../../config/load-config';
import { configError } from '../../config/mistake';
import { HighwaterError } from '../../errors';
import { feedDefinitions } from '../../feeds';
import type { AuthScheme, CursorPaging, LinkPaging, TokenAuth } from '../../feeds/definition';
import { idPaths } from '../../feeds/row-keys';
import { openLocalLog } from '../../log/local/local-log';
import { feedTopics } from '../../log/topics';
import { createLogger } from '../../logging/logger';
import { instanceName, runWorker } from '../../runtime/worker';
import { createRedactor } from '../../secrets/redaction';
import { CliCommand } from '../process/cli-command';
import type { CommandContext, RunCommand } from '../process/command-context';
import { usageError } from '../process/command-line';
import { eventLines } from '../terminal/event-line';
import {
  datesKept,
  endpointAddress,
  NOTHING,
  nameIn,
  refuseEnd,
  refuseRepeated,
  refuseSecrets,
} from './address';
import { mostRequestsPerSecond, openEndpoint } from './endpoint';
import { type Examined, examine, type Known } from './examine';
import { type FeedSection, guessedDisplay, withFeed } from './feed-files';

interface InitFlags extends Omit<Known, 'name'> {
  readonly name?: string;
  readonly auth?: string;
  readonly tokenEnv?: string;
  readonly header: Readonly<Record<string, string>>;
  readonly config: string;
  readonly force?: true;
  readonly events: boolean;
}

export function initCommand(run: RunCommand): CliCommand {
  const header = (text: string, before: Readonly<Record<string, string>>) => {
    const [name = '', ...value] = text.split(':');
    return { ...before, [name.trim()]: value.join(':').trim() };
  };
  return new CliCommand('init')
    .argument('<url>', 'Address of the endpoint, with the query parameters that every request needs')
    .option('--name <feed>', 'Name of the feed (default: the last part of the path)')
    .option('--auth <scheme>', 'bearer, basic, basic:USER, header:NAME or query:NAME (default: no token)')
    .option('--token-env <variable>', 'Variable that holds the token (default: <NAME>_TOKEN)')
    .option('--header <name: value>', 'Another header that every request needs; may be repeated', header, {})
    .option('--rows <path>', 'Dotted path of the rows in the answer')
    .option('--id <member>', 'Member that names a record, or its dotted path; several, such as type,id')
    .option(
      '--updated <member>',
      'Member or path that says when a record was last updated; "" when there is none',
    )
    .option('--size <parameter>', 'Query parameter that says how many rows a page has; "" when there is none')
    .option(
      '--page <parameter>',
      'Query parameter with the number of the page or its first row; "" when there is none',
    )
    .option(
      '--cursor <parameter>',
      'Query parameter with the cursor or the id of the last row; "" when there is none',
    )
    .option('--since <parameter>', 'Query parameter that leaves out older rows; "" when there is none')
    .option(
      '--config <file>',
      `File to write the feed to (${CONFIG_VARIABLE}, default ${DEFAULT_CONFIG_FILE})`,
    )
    .option('--force', 'Replace the feed and its schema if they are there')
    .option('--no-events', 'Do not show the events of the trial poll')
    .notes(`
The command sends only GET requests, at most ten a second. It tries the usual names of parameters; flags say others.
It publishes a first page to a log that is thrown away, and writes the feed only if there were records.

Examples:
  $ npx highwater init https://shop.example/v1/orders
  $ SHOP_TOKEN=... npx highwater init https://shop.example/v1/orders --auth bearer --token-env SHOP_TOKEN
  $ npx highwater init "https://api.example/issues?state=all&sort=updated&direction=asc" --name issues --id number`)
    .action((url: string, options: Omit<InitFlags, 'config'> & { readonly config?: string }) =>
      run((context) => {
        const config = namedConfigFile({ flags: options, env: context.env }) ?? DEFAULT_CONFIG_FILE;
        return init(url, { ...options, config }, context);
      }),
    );
}

async function init(address: string, flags: InitFlags, context: CommandContext): Promise<number> {
  const url = endpointAddress(address);
  const name = checkedName(flags.name ?? nameIn(url));
  const auth = authOf(flags, name);
  const token = auth.tokenEnv === undefined ? '' : tokenIn(auth.tokenEnv, context);
  if (auth.scheme === 'query') url.searchParams.delete(auth.name);
  refuseSecrets(url, flags.header);
  refuseRepeated(url);
  refuseEnd(url);
  const file = path.resolve(context.cwd, flags.config);
  const schemaFile = path.join(path.dirname(file), `${name}.avsc`);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  refuseToReplace(name, before, schemaFile, flags);

  const access = { baseUrl: url.origin, token, auth };
  const onPause = (what: string, ms: number) =>
    context.note(`${what}. The next request follows in ${Math.ceil(ms / 1000)} s.\n`);
  const endpoint = openEndpoint(url, access, flags.header, context.signal, onPause);
  try {
    context.note(`Reading ${url.origin}${url.pathname} ...\n`);
    const found = await examine(endpoint, { ...flags, name }, url);
    const section: FeedSection = {
      ...found,
      name,
      apiUrl: url.origin,
      auth,
      headers: flags.header,
      path: url.pathname,
      query: fixedQuery(url, found),
      schema: path.basename(schemaFile),
      display: guessedDisplay(found.schema),
    };
    const schema = `${JSON.stringify(found.schema, null, 2)}\n`;
    await context.print(summary(section, found));
    const events = await replaceFiles({ [schemaFile]: schema, [file]: withFeed(before, section) }, () =>
      firstEvents(name, before === '', flags, context),
    );
    await context.print(`Written to ${flags.config}, section feeds.${name}.\n`);
    if (flags.events) await context.print(`\nIts first events:\n${events.join('')}`);
  } catch (error) {
    if (!context.signal.aborted) throw error;
    context.note('Interrupted: nothing was written.\n');
    return 1;
  } finally {
    endpoint.close();
  }
  const configFlag = flags.config === DEFAULT_CONFIG_FILE ? '' : ` --config ${flags.config}`;
  const feedsFlag = before === '' ? '' : ` --feeds ${name}`;
  await context.print(`\nPublish it:  npx highwater run${configFlag}${feedsFlag}\n`);
  return 0;
}

/** Writes files and checks them. If the check fails, they are as they were. */
async function replaceFiles<T>(texts: Readonly<Record<string, string>>, check: () => Promise<T>): Promise<T> {
  const before = Object.keys(texts).map(
    (file) => [file, existsSync(file) ? readFileSync(file) : null] as const,
  );
  try {
    for (const [file, text] of Object.entries(texts)) writeFileSync(file, text);
    return await check();
  } catch (error) {
    for (const [file, content] of before) {
      if (content === null) rmSync(file, { force: true });
      else writeFileSync(file, content);
    }
    throw error;
  }
}

function checkedName(name: string): string {
  const isTaken = feedDefinitions.some((one) => one.name === name);
  if (feedName.test(name) && !isTaken) return name;
  const why = isTaken ? 'is a feed that comes with highwater' : 'cannot be the name of a feed';
  throw usageError(`"${name}" ${why}`, NOTHING, `Choose another one by --name: ${feedNameText}.`);
}

/** Parameters about pages and times are removed from the address, because each request sets them; `paging.start` keeps a needed one. */
function fixedQuery(url: URL, { parameters, paging }: Examined): Readonly<Record<string, string>> {
  const changing = [...Object.values(parameters), paging.style === 'cursor' ? paging.parameter : null];
  return Object.fromEntries([...url.searchParams].filter(([name]) => !changing.includes(name)));
}

function authOf({ auth, tokenEnv }: InitFlags, name: string): TokenAuth {
  if (auth === undefined || auth === 'none') return { scheme: 'none' };
  const [scheme, ...rest] = auth.split(':');
  const detail = rest.join(':');
  const env = { tokenEnv: tokenEnv ?? `${name.toUpperCase()}_TOKEN` };
  const schemes: Readonly<Record<string, AuthScheme | undefined>> = {
    bearer: { scheme: 'bearer' },
    basic: { scheme: 'basic', user: detail === '' ? null : detail },
    query: { scheme: 'query', name: detail === '' ? 'token' : detail },
    header: detail === '' ? undefined : { scheme: 'header', name: detail },
  };
  const found = Object.hasOwn(schemes, scheme!) ? schemes[scheme!] : undefined;
  if (found !== undefined) return { ...found, ...env };
  throw usageError(
    `--auth "${auth}" is not a way to carry a token`,
    NOTHING,
    'Use bearer, basic, basic:USER, header:NAME or query:NAME.',
  );
}

function tokenIn(variable: string, { env, hide }: CommandContext): string {
  const token = env[variable]?.trim() ?? '';
  if (token !== '') {
    hide([token]);
    return token;
  }
  throw usageError(
    `the variable ${variable}, which is to hold the token, is not set`,
    NOTHING,
    `Set it (\`${variable}=... npx highwater init ...\`), or name another one by --token-env.`,
  );
}

function refuseToReplace(name: string, config: string, schemaFile: string, flags: InitFlags): void {
  const { values, mistakes } = parseConfig(config, flags.config);
  if (mistakes.length > 0) throw configError(mistakes, createRedactor([]));
  const { feeds } = values;
  const isThere = typeof feeds === 'object' && feeds !== null && Object.hasOwn(feeds, name);
  const there = [
    isThere && `${flags.config} has a feed ${name}`,
    existsSync(schemaFile) && `${schemaFile} is there`,
  ];
  const found = there.filter((one) => one !== false);
  if (found.length === 0 || flags.force) return;
  throw usageError(
    `${found.join(', and ')} already`,
    NOTHING,
    'Choose another name (--name), or replace the existing section (--force).',
  );
}

/** The findings, and their consequences for the feed. */
function summary(section: FeedSection, { schema, leftOut, isIdGuessed }: Examined): string {
  const { paging, parameters, pageSize, rateLimit, display } = section;
  const order = section.isAscending
    ? 'rows come oldest first'
    : 'rows do not come oldest first: each poll reads back to the mark';
  const { updatedSinceFormat } = section;
  const sinceFormat = updatedSinceFormat === null ? '' : ` (${updatedSinceFormat})`;
  const since =
    section.updatedField === null
      ? 'none, as rows do not say when they were updated: every poll reads and compares everything'
      : parameters.updatedSince === null
        ? 'none found: every poll reads everything (set parameters.updatedSince if there is one)'
        : `${parameters.updatedSince}${sinceFormat}; ${order}`;
  const styles = {
    page: `by page number (${parameters.page}${paging.style === 'page' && paging.first === 1 ? ', the first is 1' : ''})`,
    offset: `by offset (${parameters.page})`,
    cursor: paging.style === 'cursor' ? `by cursor: ${paging.parameter} from ${cursorPlace(paging)}` : '',
    link: paging.style === 'link' ? linkPlace(paging) : '',
    none: `none found: the ${section.rows} rows of one answer ${section.pagingNotes.length === 0 ? 'are taken for all' : 'may be only a part'}`,
  };
  const size = parameters.pageSize === null ? '' : `, ${parameters.pageSize} up to ${pageSize}`;
  const limit = rateLimit && `${rateLimit.said} (requestsPerSecond: ${rateLimit.requestsPerSecond})`;
  const lines: readonly (readonly [head: string, text: string | null | undefined])[] = [
    ['rows', section.responseKey === '' ? 'the answer itself' : section.responseKey],
    ['id', `${idPaths(section).join(', ')}${isIdGuessed ? ': a guess, as no name says it (--id)' : ''}`],
    ['updated', section.updatedField && `${section.updatedField} (${section.updatedFormat})`],
    ...section.timeNotes.map((note) => ['', note] as const),
    ['filter', since],
    ...section.filterNotes.map((note) => ['', note] as const),
    ...datesKept(section.query).map(
      (parameter) =>
        ['query', `${parameter}: sent with every request, so rows outside it never come`] as const,
    ),
    ['paging', `${styles[paging.style]}${size}`],
    ...section.pagingNotes.map(
      (note) => ['', `${note}: there may be more rows, which would be missing`] as const,
    ),
    ['limit', limit],
    ['silent', section.silent && `${section.silent.join(', ')}: moved, and ${section.updatedField} did not`],
    ['title', display?.title],
    ['schema', `${section.schema}: ${schema.fields.length} fields, from ${section.rows} rows`],
    ...leftOut.map((member) => ['', `not in it: ${member}`] as const),
  ];
  const shown = lines.filter(([, text]) => text !== null && text !== undefined);
  return `${shown.map(([head, text]) => `  ${head.padEnd(9)}${text}`).join('\n')}\n`;
}

function linkPlace({ from, followPath }: LinkPaging): string {
  return `by link: ${from ?? 'header Link'}${followPath ? ', whose host is another one: only its path is followed' : ''}`;
}

function cursorPlace({ from, lastRow, hasMore, start }: CursorPaging): string {
  if (from !== undefined) return start === undefined ? from : `${from}, and "${start}" for the first page`;
  return `${lastRow} of the last row, until ${hasMore === undefined ? 'a page is empty' : `${hasMore} is false`}`;
}

/** How many events are shown. */
const SHOWN = 5;

/**
 * Publishes the first page to a log that is thrown away.
 * @param isNew the file was not there before
 * @returns a line for each of its first events
 * @throws HighwaterError of the poll, or INIT_NO_RECORD if nothing was published
 */
async function firstEvents(
  name: string,
  isNew: boolean,
  flags: InitFlags,
  context: CommandContext,
): Promise<string[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-init-'));
  const discard = () => rmSync(folder, { recursive: true, force: true });
  context.beforeExit(discard);
  const { env, cwd } = context;
  const loaded = loadConfig({ flags: { config: flags.config, feeds: name, dataDir: folder }, env, cwd });
  const { api, secrets } = loaded;
  // With at most as many requests a second as the user was told. A rate that has just been written is for the time after.
  const allowed = isNew ? mostRequestsPerSecond : api.budget.requestsPerSecond;
  const requestsPerSecond = Math.min(mostRequestsPerSecond, allowed);
  const config = { ...loaded, api: { ...api, budget: { ...api.budget, requestsPerSecond } } };
  context.hide(secrets);
  const logger = createLogger({ level: 'error', format: 'pretty', secrets, ...context.logging });
  const { commitLog, registry } = openLocalLog({ dataDir: folder, logger, instance: instanceName() });
  const enough = new AbortController();
  const signal = AbortSignal.any([context.signal, enough.signal]);
  try {
    const onPage = () => enough.abort();
    const [report] = await runWorker(config, { log: commitLog, registry, logger, onPage }, true, signal);
    context.signal.throwIfAborted();
    const [feed] = config.feeds;
    const { changes, deadLetters } = feedTopics(feed!, config.topicPrefix);
    const line = eventLines(registry, config, context);
    const lines = async (topic: string): Promise<string[]> => {
      const found: string[] = [];
      const reading = { fromBeginning: true, follow: false, signal: context.signal };
      for await (const record of commitLog.read([topic], reading)) {
        if (found.length === SHOWN) break;
        found.push(await line(record));
      }
      return found;
    };
    const published = await lines(changes.name);
    const rejected = await lines(deadLetters.name);
    if (published.length === 0) throw nothingPublished(name, report?.error ?? null, rejected);
    return [...published, ...rejected].slice(0, SHOWN);
  } finally {
    await commitLog.close();
    discard();
  }
}

function nothingPublished(
  name: string,
  error: HighwaterError | null,
  rejected: readonly string[],
): HighwaterError {
  const now = 'Nothing was written.';
  if (error !== null && rejected.length === 0)
    return new HighwaterError(error.code, `The trial poll of ${name} failed: ${error.message}`, { now });
  const why =
    rejected.length === 0
      ? 'the API answered it with no row, although it has shown rows before. How its first page, or its oldest rows, are asked for could not be found out'
      : `every row became a dead letter. The first one: ${rejected[0]!.trim()}`;
  return new HighwaterError('INIT_NO_RECORD', `The trial poll of ${name} published no record: ${why}.`, {
    now,
  });
}
