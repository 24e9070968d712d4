import type { Mistake } from '../mistake';

export interface ConfigFile {
  /** As it is called in errors. */
  readonly name: string;
  /** Scalars are the text that was written; each setting reads its own type from it. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly mistakes: readonly Mistake[];
  /** `highwater.yaml, line 7`: the line of a key, or of the nearest one above it. */
  where(path: readonly PropertyKey[]): string;
}

export function mistakeIn(file: ConfigFile, path: readonly PropertyKey[], problem: string): Mistake {
  return { key: path.join('.'), where: file.where(path), problem };
}

/** Without any settings. */
export function emptyConfig(name: string, problem?: string): ConfigFile {
  return {
    name,
    values: {},
    mistakes: problem === undefined ? [] : [{ key: 'config', where: name, problem }],
    where: () => name,
  };
}
