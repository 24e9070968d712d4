import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Schema, Type } from 'avsc';
import type { PublishedTopic } from '../../src/avro/published-topics';
import { fullName } from '../../src/avro/schemas';
import { eventHeaders } from './event-headers';

/** A record as `highwater tail --json` prints it. */
export interface EventExample {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Path in the repository of the example of an Avro type. */
export function exampleFile(type: string): string {
  return `docs/events/examples/${type}.json`;
}

/**
 * What `npm run generate -- --record` recorded last.
 * @throws Error when the schema or the headers have changed since
 */
export function readExample(topic: PublishedTopic): EventExample {
  const file = exampleFile(fullName(topic.schema));
  const example = JSON.parse(readFileSync(path.join(__dirname, '..', '..', file), 'utf8')) as EventExample;
  const misfits = [...valueMisfits(example, topic), ...headerMisfits(example, topic)];
  if (misfits.length > 0)
    throw new Error(`${file} is stale (${misfits.join(', ')}): run \`npm run generate -- --record\``);
  return example;
}

function valueMisfits({ value }: EventExample, { schema }: PublishedTopic): string[] {
  const misfits: string[] = [];
  const errorHook = (at: string[], found: unknown) => void misfits.push(`${at.join('.')}: ${typeof found}`);
  const type = Type.forSchema(schema as unknown as Schema, { registry: {}, wrapUnions: false });
  type.isValid(value, { noUndeclaredFields: true, errorHook });
  // A field with a default may be missing for avsc.
  const missing = schema.fields.filter(({ name }) => !(name in value));
  return [...misfits, ...missing.map(({ name }) => `no field ${name}`)];
}

function headerMisfits({ headers }: EventExample, topic: PublishedTopic): string[] {
  const known = eventHeaders(topic);
  const missing = known.filter(({ name, isOptional }) => !isOptional && !(name in headers));
  const unknown = Object.keys(headers).filter((name) => !known.some((header) => header.name === name));
  return [...missing.map(({ name }) => `no header ${name}`), ...unknown.map((name) => `header ${name}`)];
}
