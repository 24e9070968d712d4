import { isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from 'yaml';
import type { Mistake } from './mistake';
import { readText } from './read-text';

export interface ConfigFile {
  /** As it is called in errors. */
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly mistakes: readonly Mistake[];
  /** `highwater.yaml, line 7`: the line of a key, or of the nearest one above it. */
  where(path: readonly PropertyKey[]): string;
}

/**
 * @param name as the person wrote it
 * @param required whether its absence is a mistake
 */
export function readConfigFile(file: string, name: string, required: boolean): ConfigFile {
  const none = (problem?: string): ConfigFile => ({
    name,
    values: {},
    mistakes: problem === undefined ? [] : [{ key: 'config', where: name, problem }],
    where: () => name,
  });
  const read = readText(file);
  if ('failure' in read) {
    return read.failure === 'ENOENT' && !required ? none() : none(`cannot be read (${read.failure})`);
  }

  const lines = new LineCounter();
  // Without code frames: those would show the line with the token.
  const document = parseDocument(read.text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    const mistakes = document.errors.map(({ code, pos }) => ({
      key: 'config',
      where: `${name}, line ${lines.linePos(pos[0]).line}`,
      problem: `is not valid YAML (${code.toLowerCase().replaceAll('_', ' ')})`,
    }));
    return { ...none(), mistakes };
  }
  const values = toPlain(document);
  if (values === undefined) return none('uses YAML aliases in a way that cannot be resolved');
  if (values === null) return none();
  if (typeof values !== 'object' || Array.isArray(values)) {
    return none('holds no settings, expected lines such as `pollInterval: 60s`');
  }
  return {
    name,
    values: values as Readonly<Record<string, unknown>>,
    mistakes: [],
    where(path) {
      const offset = offsetOf(document.contents, path);
      return offset === null ? name : `${name}, line ${lines.linePos(offset).line}`;
    },
  };
}

function toPlain(document: { toJS(): unknown }): unknown {
  try {
    return document.toJS() ?? null;
  } catch {
    return undefined;
  }
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
