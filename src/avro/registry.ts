/** Where schemas get their ids. Adapters: the embedded log's own table, and a Confluent-compatible server. */
export interface SchemaRegistry {
  /**
   * The id of a schema under a subject, registering it when it is new there. The same schema has the same id everywhere.
   * @throws HighwaterError SCHEMA_INCOMPATIBLE when an earlier version of the subject could not be read, or could not
   * read it (FULL_TRANSITIVE)
   */
  register(subject: string, schema: AvroSchema): Promise<number>;
  /** @throws HighwaterError SCHEMA_UNKNOWN */
  schemaById(id: number): Promise<AvroSchema>;
}

/** An Avro schema as parsed JSON. */
export type AvroSchema = string | { readonly [attribute: string]: unknown } | readonly AvroSchema[];
