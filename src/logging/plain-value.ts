import { types } from 'node:util';
import { HighwaterError } from '../errors';
import type { Redact } from '../secrets/redaction';

const deepest = 8;

/**
 * Any value as data that JSON can hold, with secrets replaced in every text, also in keys, errors and their causes.
 * Cycles and what lies too deep become a word.
 */
export function plainValue(value: unknown, redact: Redact): unknown {
  return plain(value, redact, []);
}

function plain(value: unknown, redact: Redact, above: readonly object[]): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value === 'bigint') return redact(String(value));
  if (typeof value === 'number') return plainNumber(value, redact);
  if (typeof value === 'function' || typeof value === 'symbol') return redact(String(value).slice(0, 60));
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '[circular]';
  if (above.length >= deepest) return '[deeper]';
  const within = [...above, value];
  if (types.isNativeError(value)) return plainError(value, redact, within);
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? 'no date' : value.toISOString();
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof URL || value instanceof URLSearchParams) return redact(value.toString());
  if (types.isMap(value)) return plain([...value.entries()], redact, within);
  if (types.isSet(value)) return plain([...value], redact, within);
  if (Array.isArray(value)) return value.map((item) => plain(item, redact, within));
  return plainMembers(Object.entries(value), redact, within);
}

function plainNumber(value: number, redact: Redact): unknown {
  if (!Number.isFinite(value)) return String(value);
  const text = String(value);
  const clean = redact(text);
  return clean === text ? value : clean;
}

/** Our own errors are reduced to what a person needs; their stack tells nothing that the code does not. */
function plainError(error: Error, redact: Redact, above: readonly object[]): unknown {
  const known = error instanceof HighwaterError;
  const { name: _, message: __, stack: ___, cause: ____, ...own } = error as Error & Record<string, unknown>;
  const members: [string, unknown][] = [
    ...(known ? [] : [['name', error.name] as [string, unknown]]),
    ['message', error.message],
    ...Object.entries(own),
    ...(error.cause === undefined ? [] : [['cause', error.cause] as [string, unknown]]),
    ...(known ? [] : [['stack', error.stack] as [string, unknown]]),
  ];
  return plainMembers(members, redact, above);
}

function plainMembers(
  members: readonly (readonly [string, unknown])[],
  redact: Redact,
  above: readonly object[],
): unknown {
  return Object.fromEntries(members.map(([key, item]) => [redact(key), plain(item, redact, above)]));
}
