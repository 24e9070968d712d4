/** Gives the schemas by which values were written. */
export interface SchemaLookup {
  /** @throws HighwaterError SCHEMA_UNKNOWN, REGISTRY_* */
  schemaById(id: number): Promise<AvroSchema>;
  /** All versions of a subject, ascending; none if there is no such subject. @throws HighwaterError REGISTRY_* */
  versions(subject: string): Promise<readonly RegisteredVersion[]>;
}

/** Gives schemas their ids. Adapters: the embedded log's own table, and a Confluent-compatible server. */
export interface SchemaRegistry extends SchemaLookup {
  /** Whether it is part of the log. Then only the log's owner may register. Otherwise any instance may call it at any time. */
  readonly isPartOfLog: boolean;
  /**
   * The id of a schema under a subject. Registers the schema if it is new there. The same schema has the same id everywhere.
   * @throws HighwaterError SCHEMA_INCOMPATIBLE if an earlier version of the subject and the schema cannot read each other's values
   * (FULL_TRANSITIVE); SCHEMA_UNREGISTERED if it is new and must not be registered; REGISTRY_* if a server gives no usable answer
   */
  register(subject: string, schema: AvroSchema): Promise<number>;
  /**
   * Result of comparing a schema with the registered versions of a subject. Changes nothing.
   * @throws HighwaterError REGISTRY_*
   */
  inspect(subject: string, schema: AvroSchema): Promise<SchemaStatus>;
  /**
   * Looks, once in a while, whether ids that `register` gave still stand for their schemas. Left out where the registry is part of the
   * log. It passes if the registry gives no answer.
   * @throws HighwaterError SCHEMA_LOST
   */
  confirm?(given: ReadonlyMap<number, AvroSchema>): Promise<void>;
  /** How far the own clock is ahead of the server's, by its last answer, in ms; null: not told. Left out without a server. */
  clockAheadMs?(): number | null;
}

export interface SchemaVersion {
  /** From 1, +1 per version of the subject. */
  readonly version: number;
  readonly schema: AvroSchema;
}

export interface RegisteredVersion extends SchemaVersion {
  readonly id: number;
}

/** An Avro schema as parsed JSON. */
export type AvroSchema = string | { readonly [attribute: string]: unknown } | readonly AvroSchema[];

export type SchemaStatus = SchemaStanding & {
  /** The compatibility level that the registry enforces: `FULL_TRANSITIVE`, `NONE`; null if the subject does not exist. */
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
  /** The earlier version that it is incompatible with; null if it is not a schema. */
  readonly version: number | null;
  /** Dotted path of the field; empty for the whole schema. */
  readonly field: string;
  /** Names version and field, but not the subject. */
  readonly problem: string;
}

/** The compatibility of every subject of highwater: all versions can read each other's values. */
export const FULL_TRANSITIVE = 'FULL_TRANSITIVE';
