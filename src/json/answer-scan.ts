import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import { shortText } from '../format/short-text';
import { faultsOf, type JsonFault } from './json-fault';
import { jsonText } from './json-text';
import { type AnswerLimits, MOST_ROW_VALUES } from './limits';
import { jsonOf, parseJson } from './parse-json';
import { TEXT_NOT_KEPT, UnreadableRow } from './unreadable-row';

/** Why an answer was not read. `beside`: the members other than the rows are too large. */
export type Unread = 'truncated' | 'damaged' | 'rows' | 'nodes' | 'beside';

export type ScannedAnswer =
  | { readonly kind: 'read'; readonly value: unknown }
  /** `at`: where the fault is, in bytes. */
  | { readonly kind: 'unread'; readonly why: Unread; readonly at: number };

export interface AnswerScanOptions {
  /** Dotted path of the member that holds the rows, when the answer is an object. */
  readonly key: string;
  /** Dotted paths of the members that identify and date a row, for a row that is too large to parse. */
  readonly idPaths: readonly string[];
  readonly updatedPath: string;
  readonly limits: AnswerLimits;
  /** Applied to every text before it is parsed. */
  readonly clean: (text: string) => string;
  /** True: nothing of the text of an unreadable row is kept or quoted. */
  readonly hidesText?: boolean;
}

/**
 * Parses a list, or an object that holds the list of rows, one row at a time. The result is that of `parseJson`, but for any text
 * the memory is bounded by its length. A very long member other than the rows is replaced by an empty value of its kind. A row that
 * is not JSON only for a value within it, such as `NaN`, becomes an `UnreadableRow`. Yields every few KB, so that the caller can let
 * others have their turn.
 * @param bytes UTF-8; nothing may change them meanwhile
 */
export function* scanAnswer(bytes: Buffer, options: AnswerScanOptions): Generator<void, ScannedAnswer> {
  const scan = new AnswerScan(bytes, options);
  try {
    const value = yield* scan.answer();
    return { kind: 'read', value };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { kind: 'unread', why: error.why, at: error.at };
  }
}

/** Parses one row by the limits of an answer; undefined if it is not JSON. */
export function parseRow(text: string): unknown {
  const limits = { rows: 1, nodes: MOST_ROW_VALUES };
  const options = { key: '', idPaths: ['id'], updatedPath: 'updated', limits, clean: (part: string) => part };
  const steps = scanAnswer(Buffer.from(`[${text}]`), options);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value.kind === 'read' ? (value.value as unknown[])[0] : undefined;
  }
}

/** Whether `scanAnswer` can read an answer, as far as its first byte tells. */
export function isListOrObject(bytes: Buffer): boolean {
  const first = bytes[endOfSpace(bytes, beginOf(bytes))];
  return first === OPEN_LIST || first === OPEN_OBJECT;
}

class Refused extends Error {
  constructor(
    readonly why: Unread,
    readonly at: number,
  ) {
    super(why);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Between two yields. */
const STEP_BYTES = 64 * 1024;
/** A member other than the rows that is longer is replaced by an empty value of its kind. */
const MOST_MEMBER_BYTES = 64 * 1024;
const MOST_BESIDE = 1024 * 1024;
/** Bytes kept of an unreadable row. */
const KEPT_BYTES = 64 * 1024;
/** So far is looked for the place of a fault. */
const MOST_EXAMINED_BYTES = 1024 * 1024;
/** A longer value is not an id. */
const MOST_ID_BYTES = 64 * 1024;
/** One escaped character of a name: `\u0069`. */
const ESCAPE_BYTES = 6;

/** Handles one member of an object. When it returns, `at` is behind the value. */
type OnMember = (keyFrom: number, keyTo: number) => Generator<void, void>;

class AnswerScan {
  private at: number;
  private pauseAt = STEP_BYTES;
  /** Lists and objects, and commas, in the value that was passed last. */
  private nodes = 0;
  private commas = 0;
  private nodesOfRows = 0;
  /** Length of the kept text of the members other than the rows. */
  private besides = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly options: AnswerScanOptions,
  ) {
    this.at = endOfSpace(bytes, beginOf(bytes));
  }

  *answer(): Generator<void, unknown> {
    const isList = this.bytes[this.at] === OPEN_LIST;
    const answer = yield* isList ? this.rows() : this.object(this.options.key);
    this.expectEnd();
    return answer;
  }

  /** The object that begins here. @param key dotted path of the rows within it */
  private *object(key: string): Generator<void, object> {
    /** Members that are read by themselves: the rows, and the objects on the way to them. */
    const within = new Map<string, unknown>();
    let beside = '';
    const scan = this;
    yield* this.members(function* (keyFrom, keyTo) {
      const text = scan.text(keyFrom, keyTo);
      const name = String(scan.parse(text, keyFrom));
      const from = scan.at;
      const first = scan.bytes[from];
      let value = 'null';
      // When a member comes twice, the later one counts, as in JSON.parse.
      within.delete(name);
      if (name === key && first === OPEN_LIST) {
        within.set(name, yield* scan.rows());
      } else if (first === OPEN_OBJECT && key.startsWith(`${name}.`)) {
        within.set(name, yield* scan.object(key.slice(name.length + 1)));
      } else {
        yield* scan.pass();
        value = scan.at - from > MOST_MEMBER_BYTES ? kindOf(first) : scan.text(from, scan.at);
        // Parsed by itself, so that the place of a fault is known.
        scan.parse(value, from);
      }
      const member = `${beside === '' ? '' : ','}${text}:${value}`;
      beside += member;
      scan.besides += member.length;
      if (scan.besides > MOST_BESIDE) throw new Refused('beside', scan.at);
    });
    const object = this.parse(`{${beside}}`, this.at) as object;
    for (const [name, value] of within)
      Object.defineProperty(object, name, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    return object;
  }

  private *rows(): Generator<void, unknown[]> {
    const rows: unknown[] = [];
    this.at = endOfSpace(this.bytes, this.at + 1);
    if (this.bytes[this.at] === CLOSE_LIST) {
      this.at++;
      return rows;
    }
    for (;;) {
      if (rows.length === this.options.limits.rows) throw new Refused('rows', this.at);
      const from = this.at;
      yield* this.pass();
      rows.push(yield* this.row(from, this.at, rows.length));
      if (this.endsAfterItem(CLOSE_LIST)) return rows;
    }
  }

  private *row(from: number, to: number, index: number): Generator<void, unknown> {
    if (this.nodes + this.commas > MOST_ROW_VALUES)
      return yield* this.unreadable(
        from,
        to,
        Math.min(KEPT_BYTES, to - from),
        () => `the row holds more than ${MOST_ROW_VALUES} values`,
      );
    this.nodesOfRows += this.nodes;
    if (this.nodesOfRows > this.options.limits.nodes) throw new Refused('nodes', this.at);
    const text = this.text(from, to);
    try {
      return parseJson(text);
    } catch {
      const faults = faultsOf(text);
      const { structure, value } = faults;
      // A word in the place of a row may be a message of the API.
      const isRow = this.bytes[from] === OPEN_OBJECT;
      if (!isRow || structure !== null || value === null)
        throw new Refused('damaged', from + faultIn(text, faults));
      const fault = this.options.hidesText ? { ...value, token: 'a value that is not shown' } : value;
      return yield* this.unreadable(from, to, to - from, (id) => reasonOf(fault, id, index));
    }
  }

  /** @param keptBytes of its text */
  private *unreadable(
    from: number,
    to: number,
    keptBytes: number,
    reason: (id: unknown) => string,
  ): Generator<void, UnreadableRow> {
    const found = new Map<string, unknown>();
    const { idPaths, updatedPath, hidesText = false } = this.options;
    const paths = [...idPaths, updatedPath];
    this.at = from;
    if (this.bytes[from] === OPEN_OBJECT) yield* this.find(paths, '', found);
    this.at = to;
    const hash = createHash('sha256');
    for (let at = from; at < to; at += STEP_BYTES) {
      hash.update(this.bytes.subarray(at, Math.min(at + STEP_BYTES, to)));
      yield;
    }
    const row = new UnreadableRow(
      found.get(idPaths[0]!),
      found.get(updatedPath),
      reason(found.get(idPaths[0]!)) + (hidesText ? TEXT_NOT_KEPT : ''),
      this.options.clean(
        new StringDecoder('utf8').write(this.bytes.subarray(from, hidesText ? from : from + keptBytes)),
      ),
      { sha256: hash.digest('hex'), bytes: to - from },
    );
    // The keys of a row are read under the feed's own names.
    for (const path of paths)
      if (!Object.hasOwn(row, path)) Object.defineProperty(row, path, { value: found.get(path) });
    return row;
  }

  /**
   * Notes the values at these paths of the object that begins here. A member with the whole path as its name goes first.
   * @param within the path of the object, with a dot behind it
   */
  private *find(
    paths: readonly string[],
    within: string,
    found: Map<string, unknown>,
  ): Generator<void, void> {
    const longestName = ESCAPE_BYTES * Math.max(...paths.map((path) => path.length)) + 2;
    const named = new Set<string>();
    const scan = this;
    yield* this.members(function* (keyFrom, keyTo) {
      const valueFrom = scan.at;
      const name =
        keyTo - keyFrom > longestName ? null : String(scan.parse(scan.text(keyFrom, keyTo), keyFrom));
      const inner = paths.filter((path) => path.startsWith(`${name}.`) && !named.has(path));
      if (inner.length > 0 && scan.bytes[valueFrom] === OPEN_OBJECT) {
        const steps = inner.map((path) => path.slice(name!.length + 1));
        yield* scan.find(steps, `${within}${name}.`, found);
        return;
      }
      yield* scan.pass();
      if (name === null || !paths.includes(name) || scan.at - valueFrom > MOST_ID_BYTES) return;
      named.add(name);
      found.set(within + name, jsonOf(scan.text(valueFrom, scan.at)));
    });
  }

  /** Walks through the object that begins here. */
  private *members(onMember: OnMember): Generator<void, void> {
    this.at = endOfSpace(this.bytes, this.at + 1);
    if (this.bytes[this.at] === CLOSE_OBJECT) {
      this.at++;
      return;
    }
    for (;;) {
      this.expect(QUOTE);
      const keyFrom = this.at;
      yield* this.pass();
      const keyTo = this.at;
      this.at = endOfSpace(this.bytes, this.at);
      this.expect(COLON);
      this.at = endOfSpace(this.bytes, this.at + 1);
      yield* onMember(keyFrom, keyTo);
      if (this.endsAfterItem(CLOSE_OBJECT)) return;
    }
  }

  /** Goes on behind a comma, or behind the end of the list or object. */
  private endsAfterItem(close: number): boolean {
    this.at = endOfSpace(this.bytes, this.at);
    const byte = this.bytes[this.at];
    if (byte !== close) this.expect(COMMA);
    this.at++;
    if (byte === close) return true;
    this.at = endOfSpace(this.bytes, this.at);
    return false;
  }

  /** Goes behind the value that begins here. Whether it is JSON is left to JSON.parse. */
  private *pass(): Generator<void, void> {
    const from = this.at;
    const walk = new ValueWalk(this.bytes, from);
    while (!walk.advance(this.pauseAt)) {
      if (walk.at >= this.bytes.length) throw this.unended(from);
      this.pauseAt = walk.at + STEP_BYTES;
      yield;
    }
    this.at = walk.at;
    if (this.at === from) throw new Refused('damaged', this.at);
    this.nodes = walk.nodes;
    this.commas = walk.commas;
  }

  /** A value without an end: the answer breaks off, or a quote or a bracket too many hides the end. */
  private unended(from: number): Refused {
    const text = this.text(from, Math.min(from + MOST_EXAMINED_BYTES, this.bytes.length));
    const { structure } = faultsOf(text);
    return structure === null || structure.at + structure.token.length >= text.length
      ? new Refused('truncated', this.bytes.length)
      : new Refused('damaged', from + Buffer.byteLength(text.slice(0, structure.at)));
  }

  private expect(byte: number): void {
    if (this.at >= this.bytes.length) throw new Refused('truncated', this.at);
    if (this.bytes[this.at] !== byte) throw new Refused('damaged', this.at);
  }

  private expectEnd(): void {
    if (endOfSpace(this.bytes, this.at) < this.bytes.length) throw new Refused('damaged', this.at);
  }

  private text(from: number, to: number): string {
    return this.options.clean(this.bytes.toString('utf8', from, to));
  }

  /** @param from where the text begins in the answer, in bytes */
  private parse(text: string, from: number): unknown {
    try {
      return parseJson(text);
    } catch {
      throw new Refused('damaged', from + faultIn(text));
    }
  }
}

/** Where the first fault of a text is, in bytes of UTF-8. */
function faultIn(text: string, { structure, value } = faultsOf(text)): number {
  return Buffer.byteLength(text.slice(0, Math.min(structure?.at ?? text.length, value?.at ?? text.length)));
}

/** Finds the end of one value, in several steps. */
class ValueWalk {
  nodes = 0;
  commas = 0;
  private depth = 0;
  private isInText = false;

  constructor(
    private readonly bytes: Buffer,
    public at: number,
  ) {}

  /** @returns whether the value has ended, at `at`; else `at` is no less than `until`, or than the length */
  advance(until: number): boolean {
    const { bytes } = this;
    const end = Math.min(until, bytes.length);
    let { at, depth, isInText } = this;
    let isOver = false;
    while (at < end && !isOver) {
      const byte = bytes[at]!;
      if (isInText) {
        at += byte === BACKSLASH ? 2 : 1;
        if (byte !== QUOTE) continue;
        isInText = false;
        isOver = depth === 0;
      } else if (byte === QUOTE) {
        at++;
        isInText = true;
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        at++;
        depth++;
        this.nodes++;
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        // A number or a word ends before the bracket that closes the list or object around it.
        isOver = depth <= 1;
        if (depth > 0) at++;
        depth--;
      } else if (depth === 0 && (byte === COMMA || isSpace(byte))) {
        isOver = true;
      } else {
        if (byte === COMMA) this.commas++;
        at++;
      }
    }
    this.at = at;
    this.depth = depth;
    this.isInText = isInText;
    return isOver;
  }
}

function reasonOf({ token, path }: JsonFault, id: unknown, index: number): string {
  const named = id === undefined ? '' : ` (id ${shortText(jsonText(id), MOST_SHOWN)})`;
  return `row ${index + 1} of the page${named} is not JSON: ${shortText(token, MOST_SHOWN)} at ${shortText(path, MOST_SHOWN)}`;
}

const MOST_SHOWN = 80;

/** An empty value of the same kind, as JSON text. */
function kindOf(first: number | undefined): string {
  if (first === OPEN_OBJECT) return '{}';
  if (first === OPEN_LIST) return '[null]';
  return first === QUOTE ? '"…"' : '0';
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function endOfSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at++;
  return at;
}

/** Behind a byte order mark. */
function beginOf(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}
