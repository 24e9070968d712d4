import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type ScalarTag,
  visit,
} from 'yaml';
import { type ConfigFile, emptyConfig } from './config-file';

/** The only scalars that are not text: without quotes `null`, `~`, and no value at all. */
const nothing: ScalarTag = {
  tag: 'tag:yaml.org,2002:null',
  default: true,
  test: /^(?:~|null)?$/,
  resolve: () => null,
};

/** YAML by itself makes numbers, booleans and dates of texts: a token `0012` and a filter `1.10` would become others. */
const asWritten: NonNullable<Parameters<typeof parseDocument>[1]> = {
  schema: 'failsafe',
  customTags: [nothing],
  resolveKnownTags: false,
  stringKeys: true,
  // Without code frames: those would show the line with the token.
  prettyErrors: false,
};

/** @param name of the file, as the person wrote it */
export function parseConfig(text: string, name: string): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...asWritten, lineCounter: lines });
  const lineAt = (offset: number): string => `${name}, line ${lines.linePos(offset).line}`;
  // A tag such as `!!int`, which would change the written text, is only a warning to the parser.
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    const mistakes = problems.map(({ code, pos }) => ({
      key: 'config',
      where: lineAt(pos[0]),
      problem: `is not valid YAML (${code.toLowerCase().replaceAll('_', ' ')})`,
    }));
    return { ...emptyConfig(name), mistakes };
  }
  readBodies(document);
  const values = toPlain(document);
  if (values === undefined) return emptyConfig(name, 'uses YAML aliases in a way that cannot be resolved');
  if (values === null) return emptyConfig(name);
  if (typeof values !== 'object' || Array.isArray(values)) {
    return emptyConfig(name, 'holds no settings, expected lines such as `pollInterval: 60s`');
  }
  return {
    name,
    values: values as Readonly<Record<string, unknown>>,
    mistakes: [
      ...reservedKeys(document).map((offset) => ({
        key: 'config',
        where: lineAt(offset),
        problem: 'has the key __proto__, which nothing can be called',
      })),
      ...writtenNulls(document.contents).map(({ key, offset }) => ({
        key,
        where: lineAt(offset),
        problem:
          'is null, which sets nothing: leave the line out, or put it into quotes if the text is meant',
      })),
    ],
    where(path) {
      const offset = offsetOf(document.contents, path);
      return offset === null ? name : lineAt(offset);
    },
  };
}

/** In a JSON body, numbers and booleans are such, unless they are in quotes. */
function readBodies(document: Document.Parsed): void {
  const feeds = isMap(document.contents) ? document.get('feeds') : null;
  for (const feed of isMap(feeds) ? feeds.items : []) {
    const body = isMap(feed.value) ? feed.value.get('body', true) : undefined;
    if (!isNode(body)) continue;
    visit(body, {
      Scalar(key, scalar) {
        const { type, value } = scalar;
        if (key === 'key' || type !== 'PLAIN' || typeof value !== 'string' || !jsonScalar.test(value)) return;
        const read: unknown = JSON.parse(value);
        // A number of too many digits stays a text: it would become another one.
        if (!(Math.abs(Number(read)) > Number.MAX_SAFE_INTEGER)) scalar.value = read;
      },
    });
  }
}

const jsonScalar = /^(true|false|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/;

function toPlain(document: { toJS(): unknown }): unknown {
  try {
    return document.toJS() ?? null;
  } catch {
    return undefined;
  }
}

/** Places of keys that get lost without a word, since every object of JavaScript has a member of that name. */
function reservedKeys(document: Document.Parsed): readonly number[] {
  const offsets: number[] = [];
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) && key.value === '__proto__') offsets.push(key.range?.[0] ?? 0);
    },
  });
  return offsets;
}

/** Settings with a `null` or `~` that may be meant as text: it must not get lost without a word. */
function writtenNulls(root: ParsedNode | null): readonly { readonly key: string; readonly offset: number }[] {
  if (!isMap(root)) return [];
  return root.items.flatMap(({ key, value }) =>
    isScalar(key) && isScalar(value) && value.value === null && value.source !== ''
      ? [{ key: String(key.value), offset: key.range?.[0] ?? 0 }]
      : [],
  );
}

function offsetOf(root: ParsedNode | null, path: readonly PropertyKey[]): number | null {
  let node: unknown = root;
  let offset: number | null = null;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      if (isScalar(node) || isMap(node)) offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}
