/**
 * Declares one vendor collection. It is pure data, from a source file beside this one or from `highwater.yaml`. A new endpoint needs
 * one definition and one Avro schema.
 */
export interface FeedDefinition {
  /** Short name, used in topics, metrics and commands: `ipos`. */
  readonly name: string;
  /** Base address of the feed's API; null: the general one (`apiUrl`). */
  readonly apiUrl: string | null;
  /** How requests carry the token; null: in the query as `token`, with the general token. */
  readonly auth: Auth | null;
  /** Sent with every request, in addition to highwater's own headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Path of the endpoint below the API's base address. */
  readonly path: string;
  /** Default: GET. */
  readonly method?: HttpMethod | undefined;
  /** Sent as JSON with every request by POST. The names in `parameters` and `paging.parameter` are then dotted paths into it. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** Path of the array of records in the response: `ipos`, or dotted such as `data.orders`; empty if the response is the array. */
  readonly responseKey: string;
  /**
   * The vendor's name of the member that is the record's id (text or an integer), or its dotted path. Several paths: the id is their
   * values together (`joinedId`).
   */
  readonly idField: string | readonly string[];
  /**
   * The vendor's name of the member that is the time of the last update, or its dotted path. Null: rows have none, so each poll reads
   * and compares everything.
   */
  readonly updatedField: string | null;
  readonly updatedFormat: TimeFormat;
  /** How `updatedSince` and `updatedUntil` write it. Default: as the records do. */
  readonly updatedSinceFormat?: FilterFormat | undefined;
  /** No request asks for records updated before this second of Unix time. Default: 0. */
  readonly beginAt?: number | undefined;
  /** The longest range of `updated` that one request may ask for, seconds. Default: there is no limit. */
  readonly windowSeconds?: number | undefined;
  /** File below `schemas/` with the Avro schema of one record. */
  readonly schema: string;
  /** Avro namespace of the change events. Default: `marketdata.` and the feed's name. */
  readonly namespace?: string | undefined;
  /** Topic of the change events, without prefix; `<topic>.current` and the others derive from the feed's name. */
  readonly topic: string;
  /** How the endpoint spells its query parameters. */
  readonly parameters: QueryParameters;
  readonly paging: PagingStyle;
  /** Fixed query parameters, sent with every request: date ranges, filters. They are part of the scope. */
  readonly query: Readonly<Record<string, string>>;
  /** Records asked for in one request. */
  readonly pageSize: number;
  /**
   * Greatest record position that the endpoint's paging reaches within one window. Default: 100,000, and a round number of rows below it
   * may be a limit, too.
   */
  readonly pagingLimit?: number | undefined;
  /** Dotted Avro path of the ticker symbol, carried in the `symbol` header; null when records have none. */
  readonly symbolField: string | null;
  /** Values by which the vendor says "unknown". They become null. */
  readonly unknowns: UnknownValues;
  /** Dotted vendor paths, also through lists, of members that are dropped as soon as a row is read. Part of the scope. */
  readonly omit: readonly string[];
  /** Such paths of members whose change alone publishes nothing. Part of the scope. */
  readonly ignore: readonly string[];
  readonly transitions: readonly TransitionDefinition[];
  readonly display: Display;
}

/** How records are shown to people, by `tail` and on the dashboard. Dotted Avro paths. */
export interface Display {
  /** Names the record. Default: a text called `name`, `title`, `subject` or the like, else the key. */
  readonly title?: string | undefined;
  /** Short code before the title. Default: `symbolField`. */
  readonly symbol?: string | undefined;
  /** Shown of a record that has no former image to compare with. Default: its first values. */
  readonly facts?: readonly string[] | undefined;
  /** Changed fields that are named before the others. Default: `facts`. */
  readonly changes?: readonly string[] | undefined;
}

/** How a transition is shown to people. */
export interface TransitionDisplay {
  /** For a value without a badge. Default: the name of the field that moved. */
  readonly badge?: Badge | undefined;
  /** Event field → value as text → badge. The first field whose value has a badge decides. */
  readonly badges?: Readonly<Record<string, Readonly<Record<string, Badge>>>> | undefined;
}

/** Defaults: the mark and the tone of the transition's usual badge, and the value in capitals. */
export interface Badge {
  /** A shape, because not everybody sees the colours. */
  readonly mark?: string | undefined;
  readonly word?: string | undefined;
  readonly tone?: BadgeTone | undefined;
}

export const badgeTones = ['alarm', 'warning', 'up', 'down', 'new', 'corrected', 'info'] as const;
export type BadgeTone = (typeof badgeTones)[number];

/** How requests are authorised. */
export type Auth = TokenAuth | ClientCredentials;

/** A scheme of authentication, and the source of its token. Without tokenEnv, tokenFile and tokenCommand it is the general token. */
export type TokenAuth = {
  /** Variable of the environment that holds the token. */
  readonly tokenEnv?: string | undefined;
  /** File that holds the token and nothing else. */
  readonly tokenFile?: string | undefined;
  /** Program and arguments, or a line for the shell, that prints the token. */
  readonly tokenCommand?: string | readonly string[] | undefined;
} & AuthScheme;

/** OAuth2 client credentials: a token server gives bearer tokens to a client that has a secret. */
export interface ClientCredentials {
  readonly scheme: 'oauth2';
  /** http or https, without user and query. */
  readonly tokenUrl: string;
  readonly clientId: string;
  /** The sources of the client's secret, as those of a token. One of them is set. */
  readonly clientSecretEnv?: string | undefined;
  readonly clientSecretFile?: string | undefined;
  readonly clientSecretCommand?: string | readonly string[] | undefined;
  readonly scope?: string | undefined;
  readonly audience?: string | undefined;
  /** More parameters of the token request, such as `resource`. They win over the others. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Where the token request carries id and secret: by HTTP Basic, or in its body. */
  readonly clientAuth: 'basic' | 'body';
}

export type AuthScheme =
  /** Query parameter of that name. */
  | { readonly scheme: 'query'; readonly name: string }
  | { readonly scheme: 'bearer' }
  /** The token is the password of that user; without a user it is the user, with an empty password. */
  | { readonly scheme: 'basic'; readonly user: string | null }
  /** Request header of that name. */
  | { readonly scheme: 'header'; readonly name: string }
  | { readonly scheme: 'none' };

export const httpMethods = ['GET', 'POST'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** How an endpoint writes the time of an update in records. */
export const timeFormats = ['seconds', 'milliseconds', 'iso8601'] as const;
export type TimeFormat = (typeof timeFormats)[number];

/**
 * How an endpoint takes a time in a filter: `2026-01-31T09:30:00Z` (`iso8601`), `…00.000Z` (`iso8601-ms`), `…00+00:00`
 * (`iso8601-offset`), `2026-01-31` (`date`) or `2026-01-31 09:30:00` (`datetime`), all in UTC.
 */
export const filterFormats = [...timeFormats, 'iso8601-ms', 'iso8601-offset', 'date', 'datetime'] as const;
export type FilterFormat = (typeof filterFormats)[number];

/** How the rows behind the first page are asked for. */
export type PagingStyle =
  | CountedPaging<'page'>
  | CountedPaging<'offset'>
  | CursorPaging
  | LinkPaging
  /** Not at all: one response holds all rows. */
  | { readonly style: 'none' };

/** By a number: of the page (whether it counts records instead is learned), or of the records to skip. */
export interface CountedPaging<Style extends 'page' | 'offset'> {
  readonly style: Style;
  /** The number of the first page, or of the first record. Default: learned. */
  readonly first?: 0 | 1 | undefined;
  /** Dotted path of the flag that is false on the last page; behind an exclamation mark, of one that is true there. */
  readonly hasMore?: string | undefined;
  /** Dotted path of the number of all rows that the query finds. */
  readonly total?: string | undefined;
}

/** By an address: that of `rel="next"` in the `Link` header, or what the response holds at the dotted path `from`. */
export interface LinkPaging {
  readonly style: 'link';
  readonly from: string | null;
  /** An address at another host is asked for at the feed's own host: only its path and query count. */
  readonly followPath?: boolean | undefined;
}

/** By a text that is sent as the query parameter `parameter`. The declaration has either `from` or `lastRow`. */
export interface CursorPaging {
  readonly style: 'cursor';
  readonly parameter: string;
  /** The text that asks for the first page. Default: the parameter is left out. */
  readonly start?: string | undefined;
  /** Dotted path of the text in the response. */
  readonly from?: string | undefined;
  /** Dotted path of the text in the last row of the page, most often the id. */
  readonly lastRow?: string | undefined;
  /** As in `CountedPaging`. Without it, the end is an answer without a cursor, or without rows. */
  readonly hasMore?: string | undefined;
}

export interface QueryParameters {
  /** For the styles `page` and `offset`; null: the endpoint has no such parameter. */
  readonly page: string | null;
  /** Null: the endpoint decides how long a page is. */
  readonly pageSize: string | null;
  /** Inclusive, in the form of `updatedSinceFormat`. Null: the endpoint has no such filter, and each poll reads everything. */
  readonly updatedSince: string | null;
  /** The end of that range, inclusive. Missing or null: there is none. */
  readonly updatedUntil?: string | null;
  /**
   * First and last calendar date of the records, both included. A backfill reads by windows of dates, or by `updated` if these are
   * missing or null. Only for an endpoint whose records all have a full date.
   */
  readonly dateFrom?: string | null;
  readonly dateTo?: string | null;
}

export interface UnknownValues {
  /** `""` means unknown for every text and date field. */
  readonly emptyText: boolean;
  /** Dotted vendor paths where 0 cannot be a value. */
  readonly zero: readonly string[];
  /** Field → companion: 0 is unknown if the companion is unknown (`last_yr_income` without its year). */
  readonly zeroWithout: Readonly<Record<string, string>>;
}

/** A declared move that is published as its own event. */
export type TransitionDefinition = FieldTransition | LatestInGroupTransition;

interface TransitionBase {
  /** Avro name of the event type within the feed's namespace: `DealStatusChanged`. */
  readonly type: string;
  /** File below `schemas/`. */
  readonly schema: string;
  /** Topic without prefix. */
  readonly topic: string;
  /** CloudEvents type: `marketdata.ipos.deal-status-changed`. */
  readonly eventType: string;
  /** Appended to the causing event's id: `:deal_status`. */
  readonly idSuffix: string;
  /** Event field → `before.<avro path>` or `after.<avro path>`. `event_id`, `caused_by`, `origin`, `ts_ms` are always there. */
  readonly fields: Readonly<Record<string, `before.${string}` | `after.${string}`>>;
  readonly display?: TransitionDisplay | undefined;
}

/** A field moves on a known record, or a created record has it for the first time. Keyed by record id. */
export interface FieldTransition extends TransitionBase {
  readonly kind: 'field';
  readonly field: string;
}

/** The newest record of a group differs from the one it replaces. Keyed by the group, parts joined by `|`. */
export interface LatestInGroupTransition extends TransitionBase {
  readonly kind: 'latest-in-group';
  /** Avro paths that make the group; all must be non-empty. */
  readonly group: readonly string[];
  /** Avro paths compared in turn, greatest is newest; ties are broken by id. */
  readonly newestBy: readonly string[];
  /** Avro paths of which at least one must differ; decimals compare as numbers. */
  readonly differs: readonly string[];
  /** Event field → Avro path: true when before and after hold the same non-null value there (`correction` by `rating_id`). */
  readonly same: Readonly<Record<string, string>>;
}

/** The shape of the built-in feeds' API. A definition may differ from it. */
export const usualShape = {
  apiUrl: null,
  auth: null,
  headers: {},
  idField: 'id',
  updatedField: 'updated',
  updatedFormat: 'seconds',
  paging: { style: 'page' },
  omit: [],
  ignore: [],
  display: {},
} as const satisfies Partial<FeedDefinition>;
