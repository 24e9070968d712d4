import type { AvroSchema, SchemaRegistry } from '../../src/avro/registry';

/** A registry in memory, for tests below the log. */
export function memoryRegistry(): SchemaRegistry {
  const ids = new Map<string, number>();
  const schemas: AvroSchema[] = [];
  return {
    async register(_subject, schema) {
      const text = JSON.stringify(schema);
      const id = ids.get(text) ?? schemas.push(schema);
      ids.set(text, id);
      return id;
    },
    async schemaById(id) {
      return schemas[id - 1]!;
    },
  };
}
