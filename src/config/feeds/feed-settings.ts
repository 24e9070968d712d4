import { z } from 'zod';
import {
  badgeTones,
  type FeedDefinition,
  filterFormats,
  httpMethods,
  type TransitionDefinition,
  timeFormats,
  usualShape,
} from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import {
  bareUrl,
  duration,
  longSeconds,
  matching,
  moment,
  numberBetween,
  oneOf,
  text,
  wholeNumber,
  wholeSeconds,
  yesOrNo,
} from '../value-types';
import { auth, headers, paging } from './request-settings';

const keyPaths = 'the path of a member, or a list of paths';
const memberPath = () => matching(/^[^[\]]+$/, 'a dotted path such as customer.email, without brackets');
const memberPaths = () => z.array(memberPath(), { error: 'a list of dotted paths' });
const topicName = () =>
  matching(/^[A-Za-z0-9._-]{1,200}$/, 'letters, digits, dots, dashes and underscores, at most 200');
const texts = () => z.array(text(), { error: 'a list of texts' });
const textMap = () => z.record(z.string(), text(), { error: 'keys with texts' });
const parameterName = () => text('the name of a query parameter, or null').nullable();
export const parameterRoles = [
  'page',
  'pageSize',
  'updatedSince',
  'updatedUntil',
  'dateFrom',
  'dateTo',
] as const;

const parameterNames = Object.fromEntries(parameterRoles.map((role) => [role, parameterName()])) as Record<
  (typeof parameterRoles)[number],
  ReturnType<typeof parameterName>
>;

const sides = () =>
  matching(/^(before|after)\../, 'before.<field> or after.<field>') as unknown as z.ZodType<
    `before.${string}` | `after.${string}`
  >;

const badge = () =>
  z
    .strictObject(
      {
        mark: matching(/^\P{Cc}{1,2}$/u, 'one or two characters'),
        word: text('a word'),
        tone: oneOf(badgeTones),
      },
      { error: 'mark, word and tone' },
    )
    .partial();

const transitionBase = {
  type: text('the Avro name of the event'),
  schema: text('a file of an Avro schema'),
  topic: topicName(),
  eventType: text('a CloudEvents type'),
  idSuffix: text('a text such as :status'),
  fields: z.record(z.string(), sides(), { error: 'event fields with before.<field> or after.<field>' }),
  display: z
    .strictObject(
      {
        badge: badge(),
        badges: z.record(
          z.string(),
          z.record(z.string(), badge(), { error: 'values of the field with badges' }),
          { error: 'event fields with the badges of their values' },
        ),
      },
      { error: 'badge and badges' },
    )
    .partial()
    .optional(),
};

const transition = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('field'), field: text('a field'), ...transitionBase }),
    z.strictObject({
      kind: z.literal('latest-in-group'),
      group: texts(),
      newestBy: texts(),
      differs: texts(),
      same: textMap(),
      ...transitionBase,
    }),
  ],
  { error: 'a transition with kind field or latest-in-group' },
) satisfies z.ZodType<TransitionDefinition>;

/** The settings of one feed in `highwater.yaml`. Descriptions are printed in the reference page. */
export const feedSettings = z
  .strictObject(
    {
      apiUrl: bareUrl().describe('Base address of the API of this feed. Default: the general `apiUrl`.'),
      auth: auth.describe(
        'How requests carry the token (`scheme`), and its source (`tokenEnv`, `tokenFile`, `tokenCommand`, or a server of `oauth2`; else the general token). Default: `{ scheme: query }`. [All schemes](adding-a-feed.md#another-api).',
      ),
      headers: headers.describe(
        'Headers sent with every request, such as `Accept-Version: "2"`. Headers that carry secrets are refused, and so are headers that highwater sets itself, except `Accept`.',
      ),
      path: matching(/^\/[^?#]*$/, 'a path such as /api/v1/things, without query').describe(
        'Path of the endpoint below the base address.',
      ),
      method: oneOf(httpMethods).describe(
        'How the endpoint is asked: `GET`, or `POST` for a search. Default: `GET`.',
      ),
      body: z
        .record(z.string(), z.unknown(), { error: 'the members of a JSON body' })
        .describe(
          'JSON body of every request, for `method: POST`. `parameters` and `paging.parameter` then name dotted paths in it, such as `variables.after`. [Examples](adding-a-feed.md#post-and-graphql).',
        ),
      responseKey: z
        .string({ error: 'a text' })
        .describe(
          'Where the response holds the array of records: a key such as `orders`, or a dotted path such as `data.orders`. `""`: the response is the array.',
        ),
      idField: z
        .union([text(), z.array(text()).min(1, { error: keyPaths })], { error: keyPaths })
        .describe(
          'The member that names a record (a text or an integer), or its dotted path. A list, such as `[symbol, date]`: these members name it together. Default: `id`.',
        ),
      updatedField: text('the path of a member, or null')
        .nullable()
        .describe(
          'The member that says when a record was last updated, or its dotted path. `null`: there is none, and [each poll reads everything](adding-a-feed.md#records-without-a-time). Default: `updated`.',
        ),
      updatedFormat: oneOf(timeFormats).describe(
        'How the endpoint writes that time in records: Unix `seconds`, Unix `milliseconds` or `iso8601`. Default: `seconds`.',
      ),
      updatedSinceFormat: oneOf(filterFormats).describe(
        'How `updatedSince` and `updatedUntil` write it: `seconds`, `milliseconds`, `iso8601`, `iso8601-ms`, `iso8601-offset`, `date` or `datetime` ([examples](adding-a-feed.md#another-api)). Default: as `updatedFormat`.',
      ),
      beginAt: moment().describe(
        'No request asks for records updated before this date or time, such as `2020-01-01`. For an API that refuses older ones, or has records dated before 1970 (`0001-01-01`). Default: 1970.',
      ),
      window: longSeconds().describe(
        'The longest range that the API answers for one request, such as `30d`. Older records are read range by range. Default: no limit.',
      ),
      schema: text('a file of an Avro schema').describe(
        'File of the Avro schema of one record: beside this file, or one that comes with highwater.',
      ),
      namespace: text('a namespace of Avro')
        .regex(/^[a-z_]\w*(\.[a-z_]\w*)*$/i, 'expected a namespace of Avro, such as shop.orders')
        .describe(
          'Avro namespace of the change events, and the beginning of their `ce_type`. Default: `marketdata.` and the name of the feed. To be chosen before the first run.',
        ),
      topic: topicName().describe(
        'Topic of the change events, without prefix. Default: the name of the feed. If it changes, every record is published to the new topic.',
      ),
      parameters: z
        .strictObject(parameterNames, { error: `names for ${parameterRoles.join(', ')}` })
        .partial()
        .describe(
          'Names of the query parameters: `page`, `pageSize`, `updatedSince`, `updatedUntil`, and for backfills `dateFrom`, `dateTo`. `null`: there is none. Without `updatedSince`, each poll reads everything.',
        ),
      paging: paging.describe(
        'How the next page is asked for: `style` is `page`, `offset`, `cursor`, `link` or `none`. Default: `{ style: page }`. [All styles](adding-a-feed.md#another-api) and their keys.',
      ),
      query: z
        .record(z.string(), z.string({ error: 'a text' }).nullable(), {
          error: 'query parameters with their values',
        })
        .describe(
          'Fixed query parameters, such as filters. They are added to the parameters of the definition; `null` removes one.',
        ),
      pageSize: wholeNumber(1, 100_000).describe('Records asked for in one request. Default: 1000.'),
      pagingLimit: wholeNumber(1, 1_000_000_000).describe(
        'Greatest record position that paging reaches. Default: 100000, and [a round number of rows](scan.md#what-an-api-has-to-keep-and-what-is-noticed) below it may be a limit, too.',
      ),
      symbolField: text('a field').nullable().describe('Dotted path of the ticker symbol, or `null`.'),
      unknowns: z
        .strictObject(
          { emptyText: yesOrNo('true or false'), zero: texts(), zeroWithout: textMap() },
          { error: 'emptyText, zero and zeroWithout' },
        )
        .partial()
        .describe(
          'Values by which the vendor says "unknown": `emptyText`, `zero` (fields), `zeroWithout` (field: companion).',
        ),
      omit: memberPaths().describe(
        'Dotted paths of members, also through lists, that are [published and kept nowhere](adding-a-feed.md#members-that-are-left-out), such as personal data.',
      ),
      ignore: memberPaths().describe(
        'Dotted paths of members, also through lists, whose change alone [publishes nothing](adding-a-feed.md#members-that-are-left-out), such as counts of views.',
      ),
      transitions: z
        .array(transition, { error: 'a list of transitions' })
        .describe(
          "Changes that are also published as events of their own. They may go onto the topic of the feed itself. The list replaces the definition's list.",
        ),
      display: z
        .strictObject(
          { title: text('a field'), symbol: text('a field'), facts: texts(), changes: texts() },
          { error: 'title, symbol, facts and changes' },
        )
        .partial()
        .describe(
          'How `tail` and the dashboard show a record: dotted paths of its `title`, `symbol`, `facts` and `changes`. [Their defaults](adding-a-feed.md#how-it-is-shown), and the `display` of a transition.',
        ),
      pollInterval: duration(10).describe(
        'Time from one poll to the next. Default: the general `pollInterval`.',
      ),
      overlap: wholeSeconds().describe('Each poll begins this long before the high-water mark. Default: 5s.'),
      wideOverlap: wholeSeconds().describe(
        'A wide poll begins this long before the high-water mark. Default: 1h.',
      ),
      widePollEvery: duration(10).describe('Time from one wide poll to the next. Default: 15m.'),
      reconcileEvery: z
        .union([z.literal('never'), duration(1_000, '6h or 24h')], {
          error: 'never, or a duration such as 6h or 24h, at least 1000 ms and at most 24 h',
        })
        .describe(
          'Time from one reconcile to the next. A reconcile reads and compares everything, and deletes records that are gone. `never`: only by command. Default: 24h.',
        ),
      deleteShare: numberBetween(0, 1).describe(
        'If a larger part of the records than this is gone, a reconcile deletes nothing and asks for `--allow-deletes`. One record is never too many, unless this is 0. Default: 0.05.',
      ),
      snapshotMode: oneOf(['initial', 'never']).describe(
        'How a feed without state begins: `initial` publishes all records as reads, `never` publishes only later changes. Default: `initial`.',
      ),
    },
    { error: 'settings of a feed' },
  )
  .partial();

export type FeedSettings = z.output<typeof feedSettings>;

const neededByNewFeed = [['path'], ['responseKey'], ['schema']];
/** @param path of the setting within the section of a feed. Null: it has no forms. */
export function formsAt([setting, , ...within]: readonly PropertyKey[]) {
  if (setting === 'paging') return formsOf('style', paging.options);
  if (setting === 'auth') return formsOf('scheme', auth.options);
  return setting === 'transitions' && within.length === 0 ? formsOf('kind', transition.options) : null;
}

/**
 * The members of a setting that has several forms, which a member of its own tells apart.
 * @param by `style`, `scheme` or `kind`
 */
function formsOf(by: string, options: readonly { readonly shape: object }[]) {
  const members = options.map(({ shape }) => {
    const own = (shape as Readonly<Record<string, { readonly value: string }>>)[by]!;
    return [own.value, Object.keys(shape)] as const;
  });
  return { by, members: Object.fromEntries(members) as Readonly<Record<string, readonly string[]>> };
}

/** Needed by `page` and `offset`: if a parameter were left out by mistake, it would be noticed late. */
const neededByCounting = [
  ['parameters', 'page'],
  ['parameters', 'pageSize'],
  ['parameters', 'updatedSince'],
];

/** Dotted names of the settings that a section must still have to define a new feed. */
export function missingForNewFeed(section: unknown): string[] {
  const style = valueAt(section, ['paging', 'style']) ?? 'page';
  const missing = neededByNewFeed.filter((path) => (valueAt(section, path) ?? null) === null);
  const counts = style === 'page' || style === 'offset';
  const uncounted = counts ? neededByCounting.filter((path) => valueAt(section, path) === undefined) : [];
  return [...missing, ...uncounted].map((path) => path.join('.'));
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, part) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[part] : undefined,
    value,
  );
}

const newFeed: Omit<FeedDefinition, 'name' | 'topic'> = {
  ...usualShape,
  path: '/',
  responseKey: '',
  schema: '',
  parameters: { page: null, pageSize: null, updatedSince: null },
  query: {},
  pageSize: 1_000,
  symbolField: null,
  unknowns: { emptyText: false, zero: [], zeroWithout: {} },
  transitions: [],
};

/** A feed from its definition, if it has one, and the settings of the file, which win. */
export function feedOf(
  name: string,
  definition: FeedDefinition | undefined,
  overrides: FeedSettings,
  pollIntervalMs: number,
): Feed {
  const { headers: own, parameters, query, unknowns, display, ...others } = present(overrides);
  const { pollInterval, overlap, wideOverlap, widePollEvery, reconcileEvery, deleteShare, ...rest } = others;
  const { snapshotMode, window, ...plain } = rest;
  const base = definition ?? { ...newFeed, name, topic: name };
  return {
    ...base,
    ...plain,
    ...(window === undefined ? {} : { windowSeconds: window }),
    headers: { ...base.headers, ...own },
    parameters: { ...base.parameters, ...present(parameters ?? {}) },
    query: present({ ...base.query, ...query }, null),
    unknowns: { ...base.unknowns, ...present(unknowns ?? {}) },
    display: { ...base.display, ...display },
    pollIntervalMs: pollInterval ?? pollIntervalMs,
    overlapSeconds: overlap ?? 5,
    wideOverlapSeconds: wideOverlap ?? 3_600,
    widePollEveryMs: widePollEvery ?? 900_000,
    reconcileEveryMs: reconcileEvery === 'never' ? null : (reconcileEvery ?? 86_400_000),
    deleteShare: deleteShare ?? 0.05,
    snapshotMode: snapshotMode ?? 'initial',
  };
}

type Present<T, Absent> = { [Key in keyof T]: Exclude<T[Key], Absent> };

/** Without the members that are absent. */
function present<T extends object, Absent extends undefined | null = undefined>(
  members: T,
  absent?: Absent,
): Present<T, Absent> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== absent)) as Present<
    T,
    Absent
  >;
}
