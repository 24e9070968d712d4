import { type RecordShape, recordShape, recordWithin, type Shape } from '../../avro/record-shape';
import type { RecordSchema } from '../../avro/schemas';
import type { FeedDefinition } from '../../feeds/definition';
import type { Logger } from '../../logging/logger';
import type { RecordValues } from '../../types';
import { memberNames } from './member-path';

/** Values of a feed that its schema does not describe. Each path is logged once, and counted until the process ends. */
export interface Drift {
  /** Notes the `extra` of a published record. */
  note(extra: RecordValues['extra'], schema: RecordSchema): void;
  found(): DriftReport;
  /** The first members that were met, for the source offset. */
  first(): readonly DriftedPath[];
}

export interface DriftReport {
  /** In the order in which they were found. */
  readonly paths: readonly DriftedPath[];
  /** Values at all further paths together. */
  readonly others: number;
}

export interface DriftedPath {
  /** The key in `extra`: the vendor's names, dotted. Only the beginning of a very long path. */
  readonly path: string;
  /** The Avro type in the schema; null for a member that the schema does not have. */
  readonly expected: string | null;
  /** Type of the first value. */
  readonly type: JsonType;
  /** Published changes that have it. */
  readonly count: number;
}

export type JsonType = 'null' | 'text' | 'number' | 'boolean' | 'list' | 'object';

/** A vendor may use ids as names of members, so further paths are counted together. */
const MOST_PATHS = 100;
const LONGEST_PATH = 200;
/** A source offset is written with every commit. */
const STORED_PATHS = 10;
/** As `decode.ts` names the items of lists and maps. */
const PLACES = /\[(\d+|"(?:[^"\\]|\\.)*")\]/g;

export function createDrift(
  { name: feed, updatedField }: Pick<FeedDefinition, 'name' | 'updatedField'>,
  logger: Logger,
): Drift {
  const known = new Map<string, { -readonly [field in keyof DriftedPath]: DriftedPath[field] }>();
  let others = 0;

  function meet(path: string, text: string, shape: RecordShape): void {
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
    const expected = expectedAt(shape, path);
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
    note(extra, schema) {
      for (const full in extra) {
        // Items of one list differ only in their position.
        const whole = full.replace(PLACES, '[]');
        const path = whole.length > LONGEST_PATH ? `${whole.slice(0, LONGEST_PATH).toWellFormed()}…` : whole;
        const met = known.get(path);
        if (met !== undefined) met.count++;
        else if (!isEmpty(extra[full]!) || expectedAt(recordShape(schema), path) !== null)
          meet(path, extra[full]!, recordShape(schema));
      }
    },
    first: () => (known.size === 0 ? [] : [...known.values()].slice(0, STORED_PATHS)),
    found: () => ({ paths: [...known.values()].map((path) => ({ ...path })), others }),
  };
}

/** An unknown member without a value is nothing that a reader of the schema misses, and its type is not known yet. */
function isEmpty(text: string): boolean {
  return text === 'null' || text === '[]' || text === '{}';
}

/** Looks only at the first character of the JSON text, because a value may be long. */
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

/** Avro type at a dotted vendor path, without null; null if the schema has no field there. */
function expectedAt(shape: RecordShape, path: string): string | null {
  const nameInPath = memberNames(shape.fields);
  for (const { vendorName, value } of shape.fields) {
    const name = nameInPath(vendorName);
    if (path === name) return typeName(value);
    const within = path.startsWith(name) ? recordWithin(value) : null;
    const rest = /^(?:\[\])*\.(.*)$/s.exec(path.slice(name.length))?.[1];
    if (within !== null && rest !== undefined) return expectedAt(within, rest);
  }
  return null;
}

function typeName(shape: Shape): string {
  return shape.kind === 'plain' ? shape.type : shape.kind;
}
