import { type AvroSchema, FULL_TRANSITIVE, type SchemaRegistry } from '../../src/avro/registry/registry';

/** A registry in memory, for tests below the log. */
export function memoryRegistry(): SchemaRegistry {
  const ids = new Map<string, number>();
  const schemas: AvroSchema[] = [];
  return {
    isPartOfLog: true,
    async register(_subject, schema) {
      const text = JSON.stringify(schema);
      const id = ids.get(text) ?? schemas.push(schema);
      ids.set(text, id);
      return id;
    },
    async inspect(_subject, schema) {
      const id = ids.get(JSON.stringify(schema));
      const level = FULL_TRANSITIVE;
      return id === undefined
        ? { state: 'new', level: null }
        : { state: 'registered', id, version: 1, level };
    },
    versions: async () => schemas.map((schema, i) => ({ id: i + 1, version: i + 1, schema })),
    async schemaById(id) {
      return schemas[id - 1]!;
    },
  };
}
