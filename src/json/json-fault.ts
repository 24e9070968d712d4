import { closingQuote, isJsonNumber } from './parse-json';

/** A place at which a text is not JSON. */
export interface JsonFault {
  /** Index of its first character; the length of the text if it breaks off. */
  readonly at: number;
  readonly token: string;
  /** Dotted path of the value that stands there, or begins before it; empty at the top. */
  readonly path: string;
}

/** The first fault of each kind; null if there is none. */
export interface JsonFaults {
  /** A word or a text in the place of a value that is not JSON: `NaN`, `01`. Where the value ends is certain. */
  readonly value: JsonFault | null;
  /** Anything else: nobody can tell what belongs to what. */
  readonly structure: JsonFault | null;
}

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing';

interface Frame {
  readonly isList: boolean;
  /** A list counts its values by it, an object its members. */
  index: number;
  name: string;
}

/** Finds out why JSON.parse refuses a text. It takes more time than JSON.parse, so ask it only then. */
export function faultsOf(text: string): JsonFaults {
  const frames: Frame[] = [];
  let expected: Expected = 'value';
  let value: JsonFault | null = null;
  let end = 0;
  for (let at = endOfSpace(text, 0); at < text.length; at = endOfSpace(text, end)) {
    end = endOfToken(text, at);
    const token = text.slice(at, end);
    const frame = frames.at(-1);
    const takesValue = expected === 'value' || expected === 'value or end';
    const behindValue = frames.length === 0 ? 'nothing' : 'comma or end';
    if (takesValue && (token === '{' || token === '[')) {
      frames.push({ isList: token === '[', index: 0, name: '' });
      expected = token === '[' ? 'value or end' : 'name or end';
    } else if (takesValue && !/^[\]},:]$/.test(token)) {
      if (!isScalar(token)) value ??= { at, token, path: pathOf(frames) };
      expected = behindValue;
    } else if ((expected === 'name' || expected === 'name or end') && token[0] === '"' && isScalar(token)) {
      frame!.name = JSON.parse(token) as string;
      expected = 'colon';
    } else if (expected === 'colon' && token === ':') {
      expected = 'value';
    } else if (expected === 'comma or end' && token === ',') {
      frame!.index++;
      expected = frame!.isList ? 'value' : 'name';
    } else if (expected.endsWith('or end') && token === (frame!.isList ? ']' : '}')) {
      frames.pop();
      expected = frames.length === 0 ? 'nothing' : 'comma or end';
    } else {
      return { value, structure: { at, token, path: pathOf(frames) } };
    }
  }
  const isWhole = expected === 'nothing';
  return { value, structure: isWhole ? null : { at: text.length, token: '', path: pathOf(frames) } };
}

function isScalar(token: string): boolean {
  if (token[0] !== '"') return /^(?:true|false|null)$/.test(token) || isJsonNumber(token);
  try {
    JSON.parse(token);
    return true;
  } catch {
    return false;
  }
}

function pathOf(frames: readonly Frame[]): string {
  const path = frames.map(({ isList, index, name }) => (isList ? `[${index}]` : `.${name}`)).join('');
  return path.startsWith('.') ? path.slice(1) : path;
}

function endOfToken(text: string, at: number): number {
  if (text[at] === '"') return Math.min(text.length, closingQuote(text, at) + 1);
  WORD.lastIndex = at;
  return WORD.test(text) ? WORD.lastIndex : at + 1;
}

const WORD = /[^\s{}[\],:"]+/y;

function endOfSpace(text: string, from: number): number {
  SPACE.lastIndex = from;
  SPACE.test(text);
  return Math.max(from, SPACE.lastIndex);
}

const SPACE = /[ \t\r\n]*/y;
