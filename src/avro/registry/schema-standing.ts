import { isDeepStrictEqual } from 'node:util';
import { incompatibility, type SchemaVersion } from './compatibility';
import type { AvroSchema, SchemaStanding } from './registry';

export interface RegisteredVersion extends SchemaVersion {
  readonly id: number;
}

/** How a schema stands to all versions of a subject, in ascending order. */
export function schemaStanding(schema: AvroSchema, versions: readonly RegisteredVersion[]): SchemaStanding {
  const latest = versions.at(-1);
  if (latest === undefined) {
    const reason = incompatibility(schema, []);
    return reason === null ? { state: 'new' } : { state: 'incompatible', reason };
  }
  const same = versions.find((one) => isSameSchema(one.schema, schema));
  if (same !== undefined) return { state: 'registered', id: same.id, version: same.version };
  const reason = incompatibility(schema, versions);
  return reason === null
    ? { state: 'compatible', latest: latest.version }
    : { state: 'incompatible', reason };
}

/** The order of attributes says nothing in JSON, so it makes no other schema. */
export function isSameSchema(a: AvroSchema, b: AvroSchema): boolean {
  return isDeepStrictEqual(a, b);
}
