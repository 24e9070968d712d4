/**
 * What highwater has to know about one vendor collection. Pure data: a definition may come from a source file beside this
 * one or, field by field, from `highwater.yaml`. A new endpoint is one definition and one Avro schema.
 */
export interface FeedDefinition {
  /** Short name, used in topics, metrics and commands: `ipos`. */
  readonly name: string;
  /** Path of the GET endpoint below the API's base address. */
  readonly path: string;
  /** Top-level key of the response that holds the array of records. */
  readonly responseKey: string;
  /** File below `schemas/` with the Avro schema of one record. */
  readonly schema: string;
  /** Topic of the change events, without prefix; `<topic>.current` and the others derive from the feed's name. */
  readonly topic: string;
  /** How the endpoint spells its query parameters. */
  readonly parameters: QueryParameters;
  /** Fixed query parameters, sent with every request: date ranges, filters. They are part of the scope. */
  readonly query: Readonly<Record<string, string>>;
  /** Records asked for in one request. */
  readonly pageSize: number;
  /** Greatest record position that the endpoint's paging reaches within one window. */
  readonly pagingLimit: number;
  /** Dotted Avro path of the ticker symbol, carried in the `symbol` header; null when records have none. */
  readonly symbolField: string | null;
  /** Values by which the vendor says "unknown". They become null. */
  readonly unknowns: UnknownValues;
  readonly transitions: readonly TransitionDefinition[];
}

export interface QueryParameters {
  readonly page: string;
  readonly pageSize: string;
  /** Unix seconds, inclusive. */
  readonly updatedSince: string;
  /**
   * First and last calendar date of the records, both included: a backfill reads by windows of them. Without them, or with
   * null, it reads by `updated`. Only for an endpoint whose records all have a whole date.
   */
  readonly dateFrom?: string | null;
  readonly dateTo?: string | null;
}

export interface UnknownValues {
  /** `""` means unknown for every text and date field. */
  readonly emptyText: boolean;
  /** Dotted vendor paths where 0 cannot be a value. */
  readonly zero: readonly string[];
  /** Field → companion: 0 is unknown where the companion is unknown (`last_yr_income` without its year). */
  readonly zeroWithout: Readonly<Record<string, string>>;
}

/** A declared move that is an event of its own. `fields` maps event field → where its value comes from. */
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
