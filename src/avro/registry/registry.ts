/** Where schemas get their ids. Adapters: the embedded log's own table, and a Confluent-compatible server. */
export interface SchemaRegistry {
  /** It lies in the log itself, so that only the log's owner may register. Else any instance may ask it at any time. */
  readonly isPartOfLog: boolean;
  /**
   * The id of a schema under a subject, registering it when it is new there. The same schema has the same id everywhere.
   * @throws HighwaterError SCHEMA_INCOMPATIBLE when an earlier version of the subject could not be read, or could not
   * read it (FULL_TRANSITIVE); SCHEMA_UNREGISTERED when it is new and nothing is to be registered; REGISTRY_* when a server
   * gives no answer to go by
   */
  register(subject: string, schema: AvroSchema): Promise<number>;
  /**
   * How a schema stands to what is registered under a subject. Changes nothing.
   * @throws HighwaterError REGISTRY_*
   */
  inspect(subject: string, schema: AvroSchema): Promise<SchemaStatus>;
  /** @throws HighwaterError SCHEMA_UNKNOWN, REGISTRY_* */
  schemaById(id: number): Promise<AvroSchema>;
}

/** An Avro schema as parsed JSON. */
export type AvroSchema = string | { readonly [attribute: string]: unknown } | readonly AvroSchema[];

export type SchemaStatus = SchemaStanding & {
  /** What the registry itself holds new versions to: `FULL_TRANSITIVE`, `NONE`; null while there is no such subject. */
  readonly level: string | null;
};

export type SchemaStanding =
  /** The subject has no version yet. */
  | { readonly state: 'new' }
  | { readonly state: 'registered'; readonly id: number; readonly version: number }
  /** Not registered, and may become the next version. */
  | { readonly state: 'compatible'; readonly latest: number }
  | { readonly state: 'incompatible'; readonly reason: Incompatibility };

/** Why a schema cannot become a version of its subject. */
export interface Incompatibility {
  /** The earlier version that it breaks with; null when it is no schema at all. */
  readonly version: number | null;
  /** Dotted path of the field; empty for the whole schema. */
  readonly field: string;
  /** Naming version and field, without subject. */
  readonly problem: string;
}

/** What every subject of highwater is held to: each version can read, and can be read by, all others. */
export const FULL_TRANSITIVE = 'FULL_TRANSITIVE';
