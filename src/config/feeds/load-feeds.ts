import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import type { FeedDefinition } from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import { didYouMean, meantOrKnown } from '../did-you-mean';
import { type ConfigFile, mistakeIn } from '../files/config-file';
import { unexpected } from '../mistake';
import { type Loading, whereSet } from '../raw-settings';
import { checkFeed, topicClashes } from './check-feed';
import {
  type FeedSettings,
  feedOf,
  feedSettings,
  formsAt,
  missingForNewFeed,
  parameterRoles,
  valueAt,
} from './feed-settings';

/** The name becomes part of topics and of the Avro namespace, which knows no dash. */
export const feedName = /^[a-z][a-z0-9_]{0,60}$/;
export const feedNameText = 'small letters, digits and underscores, a letter first';

/** The feeds that are to run, with the file's settings laid over their definitions. @param filePath absolute */
export function loadFeeds(
  definitions: readonly FeedDefinition[],
  file: ConfigFile,
  filePath: string,
  loading: Loading,
): {
  readonly feeds: readonly Feed[];
  /** Variables that feeds, enabled or not, name for their tokens. */
  readonly named: readonly string[];
  /** Names of feeds that are to run and cannot be read. */
  readonly broken: readonly string[];
} {
  const { mistakes } = loading;
  const { enabledFeeds: enabled, pollInterval } = loading.values;
  const add = (path: readonly PropertyKey[], problem: string): void =>
    void mistakes.push(mistakeIn(file, ['feeds', ...path], problem));
  const sections = feedSections();
  const known = definitions.map(({ name }) => name);
  const names = [...new Set([...known, ...Object.keys(sections)])];
  const feeds: Feed[] = [];
  const broken: string[] = [];
  for (const name of names) {
    const definition = definitions.find((one) => one.name === name);
    const section = Object.hasOwn(sections, name) ? sections[name] : {};
    const before = mistakes.length;
    const overrides = readSection(name, section, definition);
    if (mistakes.length > before) {
      broken.push(name);
      continue;
    }
    feeds.push(feedOf(name, definition, ownSchema(overrides, filePath), pollInterval));
  }
  const isWritten = (feed: string, path: readonly PropertyKey[]) =>
    valueAt(sections, [feed, ...path]) !== undefined;
  // A file may give a built-in feed a schema without the fields of its display, which are then not shown.
  const found = feeds
    .flatMap(checkFeed)
    .filter(({ feed, path }) => path[0] !== 'display' || isWritten(feed, ['display']));
  for (const { feed, path, problem } of [...found, ...topicClashes(feeds, isWritten)])
    add([feed, ...path], problem);
  for (const name of enabled ?? []) {
    if (names.includes(name)) continue;
    const problem = `"${name}" is not a feed${meantOrKnown(name, names)}`;
    mistakes.push({ key: 'enabledFeeds', where: whereSet(loading, 'enabledFeeds'), problem });
  }
  const named = feeds.flatMap(({ auth }) =>
    auth?.scheme === 'oauth2' ? (auth.clientSecretEnv ?? []) : (auth?.tokenEnv ?? []),
  );
  const runs = (name: string) => enabled?.includes(name) ?? true;
  return { feeds: feeds.filter(({ name }) => runs(name)), broken: broken.filter(runs), named };

  function feedSections(): Readonly<Record<string, unknown>> {
    const given = file.values.feeds ?? {};
    if (typeof given === 'object' && !Array.isArray(given)) return given as Record<string, unknown>;
    add([], unexpected(given, 'a section for each feed; which of them run is set by enabledFeeds'));
    return {};
  }

  function readSection(name: string, section: unknown, definition: FeedDefinition | undefined): FeedSettings {
    const at = (path: readonly PropertyKey[], problem: string) => add([name, ...path], problem);
    if (definition === undefined && !feedName.test(name))
      at([], `is not a name for a feed, expected ${feedNameText}`);
    const missing = definition === undefined ? missingForNewFeed(section) : [];
    const near = missing.length > 0 ? didYouMean(name, known) : null;
    if (near !== null) {
      at([], `is not a feed; did you mean ${near}?`);
      return {};
    }
    if (missing.length > 0)
      at([], `a new feed needs ${missing.join(', ')} too (known feeds are ${known.join(', ')})`);
    const parsed = feedSettings.safeParse(section ?? {});
    for (const issue of parsed.error?.issues ?? []) reportIssue(issue, section, at);
    return parsed.data ?? {};
  }
}

function reportIssue(
  issue: z.core.$ZodIssue,
  section: unknown,
  add: (path: readonly PropertyKey[], problem: string) => void,
): void {
  const mayHoldSecret = ['auth', 'headers', 'query'].includes(String(issue.path[0]));
  if (issue.code !== 'unrecognized_keys') {
    const found = valueAt(section, issue.path);
    if (found === undefined) add(issue.path, `is not set, expected ${issue.message}`);
    else if (mayHoldSecret) add(issue.path, `expected ${issue.message}`);
    else add(issue.path, unexpected(found, issue.message));
    return;
  }
  const forms = formsAt(issue.path);
  const form = String(valueAt(section, [...issue.path, forms?.by ?? '']));
  const known =
    forms?.members[form] ??
    (issue.path.length === 0 ? Object.keys(feedSettings.shape) : membersOf(issue.path));
  for (const key of issue.keys) {
    if (issue.path[0] === 'auth' && /^((api|client)_?)?(token|key|password|secret)$/i.test(key)) {
      const own = form === 'oauth2' ? 'clientSecret' : 'token';
      const ways = `${own}Env (a variable that holds it), ${own}File or ${own}Command`;
      add([...issue.path, key], `must not stand in the file, expected ${ways}`);
      continue;
    }
    const owners = (name: string) =>
      Object.entries(forms?.members ?? {}).flatMap(([owner, names]) => (names.includes(name) ? owner : []));
    const all = [...known, ...Object.values(forms?.members ?? {}).flat()];
    const near = all.includes(key) ? key : didYouMean(key, all);
    if (near !== null && !known.includes(near)) {
      const meant = near === key ? '' : `is not a setting of a feed; did you mean ${near}? It `;
      const belongs = `belongs to ${forms!.by} ${owners(near).join(' and ')}, and ${forms!.by} is ${form}`;
      add([...issue.path, key], `${meant}${belongs}, which has ${known.join(', ')}`);
      continue;
    }
    const hint = near === null ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
    add([...issue.path, key], `is not a setting of a feed; ${hint}`);
  }
}

function membersOf(path: readonly PropertyKey[]): readonly string[] {
  const [part, , inTransition] = path;
  if (part === 'parameters') return parameterRoles;
  if (part === 'unknowns') return ['emptyText', 'zero', 'zeroWithout'];
  if (part === 'display') return ['title', 'symbol', 'facts', 'changes'];
  if (inTransition === 'display') return path.length === 3 ? ['badge', 'badges'] : ['mark', 'word', 'tone'];
  return [];
}

/** A schema beside the file goes before one of the same name that comes with highwater. */
function ownSchema(overrides: FeedSettings, filePath: string): FeedSettings {
  const { schema, transitions, ...others } = overrides;
  const own = (name: string) => {
    const path = resolve(dirname(filePath), name);
    return existsSync(path) ? path : name;
  };
  return {
    ...others,
    ...(schema === undefined ? {} : { schema: own(schema) }),
    ...(transitions === undefined
      ? {}
      : { transitions: transitions.map((one) => ({ ...one, schema: own(one.schema) })) }),
  };
}
