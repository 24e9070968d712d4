import { vendorNameOf } from '../../avro/record-shape';
import type { AvroSchema } from '../../avro/registry/registry';
import type { FieldSchema, RecordSchema } from '../../avro/schemas';
import { recordWithin } from '../../avro/value-shape';
import type { FeedDefinition } from '../../feeds/definition';
import type { Logger } from '../../logging/logger';
import type { RecordValues } from '../../types';

/** What the API sends of a feed that its schema does not say: counted, and named once. For as long as the process lives. */
export interface Drift {
  /** Takes note of what a published record has in `extra`. */
  note(record: Pick<RecordValues, 'extra'>, schema: RecordSchema): void;
  found(): DriftReport;
}

export interface DriftReport {
  /** In the order in which they were met. */
  readonly paths: readonly DriftedPath[];
  /** Values at further paths, which are not told apart. */
  readonly others: number;
}

export interface DriftedPath {
  /** Dotted, of the vendor's names; the key in `extra`. Its beginning, when it is very long. */
  readonly path: string;
  /** What the schema has there; null for a member that it does not know. */
  readonly expected: string | null;
  /** Of the first value. */
  readonly type: JsonType;
  /** Changes published with it. */
  readonly count: number;
}

export type JsonType = 'null' | 'text' | 'number' | 'boolean' | 'list' | 'object';

/** A vendor may use ids as names of members: more than this are not told apart. */
const MOST_PATHS = 100;
const LONGEST_PATH = 200;
/** As `decode.ts` names the items of lists and maps. */
const PLACES = /\[(\d+|"(?:[^"\\]|\\.)*")\]/g;

export function createDrift(
  { name: feed, updatedField }: Pick<FeedDefinition, 'name' | 'updatedField'>,
  logger: Logger,
): Drift {
  const known = new Map<string, { -readonly [field in keyof DriftedPath]: DriftedPath[field] }>();
  let others = 0;

  function meet(path: string, text: string, schema: RecordSchema): void {
    if (known.size === MOST_PATHS) {
      others++;
      if (others > 1) return;
      logger.warn(
        `Feed ${feed}: the API sends more than ${MOST_PATHS} members that the schema does not have.`,
        {
          feed,
          now: 'All are published as JSON text in extra. Further ones are counted together and not named.',
        },
      );
      return;
    }
    const type = jsonType(text);
    const expected = expectedAt(schema, path);
    known.set(path, { path, expected, type, count: 1 });
    const facts = { feed, path, type };
    if (expected === null) {
      const now = 'Its values are published as JSON text in extra.';
      logger.info(`Feed ${feed}: the API sends ${path}, which the schema does not have.`, {
        ...facts,
        now,
      });
    } else {
      const now =
        path === updatedField
          ? 'The field has whole seconds; extra has the value as it came.'
          : 'The field is null there; the value is published as JSON text in extra.';
      logger.warn(`Feed ${feed}: ${path} came as ${type}, where the schema has ${expected}.`, {
        ...facts,
        expected,
        now,
      });
    }
  }

  return {
    note({ extra }, schema) {
      for (const full in extra) {
        // Items of one list differ in their place only.
        const whole = full.replace(PLACES, '[]');
        const path = whole.length > LONGEST_PATH ? `${whole.slice(0, LONGEST_PATH).toWellFormed()}…` : whole;
        const met = known.get(path);
        if (met === undefined) meet(path, extra[full]!, schema);
        else met.count++;
      }
    },
    found: () => ({ paths: [...known.values()].map((path) => ({ ...path })), others }),
  };
}

/** Of JSON text, by its first character: a value may be long. */
function jsonType(text: string): JsonType {
  switch (text[0]) {
    case '"':
      return 'text';
    case '{':
      return 'object';
    case '[':
      return 'list';
    case 'n':
      return 'null';
    case 't':
    case 'f':
      return 'boolean';
    default:
      return 'number';
  }
}

/** Avro type at a dotted vendor path, without null; null where the schema has nothing. */
function expectedAt(schema: RecordSchema, path: string): string | null {
  for (const field of schema.fields) {
    const name = vendorNameOf(field);
    if (path === name) return typeName(field);
    const within = recordWithin(field.type);
    const rest =
      within !== null && path.startsWith(name) ? /^(?:\[\])*\.(.*)$/s.exec(path.slice(name.length)) : null;
    if (rest !== null) return expectedAt(within!, rest[1]!);
  }
  return null;
}

function typeName({ type }: FieldSchema): string {
  const branches = (Array.isArray(type) ? type : [type]) as readonly AvroSchema[];
  const branch = branches.find((one) => one !== 'null');
  return typeof branch === 'object' && 'type' in branch ? String(branch.type) : String(branch);
}
