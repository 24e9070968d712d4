import { resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import type { Live } from '../../secrets/rotation';
import { type Mistake, shown } from '../mistake';
import { type Loading, whereSet } from '../raw-settings';
import { tlsProblem } from './tls-files';

type PemSetting =
  | 'apiCaFile'
  | `kafkaSsl${'Ca' | 'Cert' | 'Key'}File`
  | `schemaRegistry${'Ca' | 'Cert' | 'Key'}File`;

/** The text of a file that a setting names; null, and perhaps a mistake, if there is none. */
export function readPem(loading: Loading, key: PemSetting, mistakes: Mistake[]): string | null {
  const file = loading.values[key];
  if (file === null) return null;
  const content = readText(resolve(loading.cwd, file));
  if ('text' in content) return content.text;
  const problem = `the file ${shown(file)} cannot be read (${content.failure})`;
  mistakes.push({ key, where: whereSet(loading, key), problem });
  return null;
}

/** The authorities to trust at the API. */
export function readApiCa(loading: Loading): Live<string | null> {
  const key = 'apiCaFile';
  const { values } = loading;
  const readNow = (mistakes: Mistake[]): string | null => {
    const ca = readPem(loading, key, mistakes);
    const unusable = tlsProblem({ ca, cert: null, key: null, passphrase: null });
    if (unusable === null) return ca;
    const problem = `the file ${shown(values[key])} ${unusable.problem}`;
    mistakes.push({ key, where: whereSet(loading, key), problem });
    return null;
  };
  const value = readNow(loading.mistakes);
  return value === null ? { value } : liveFiles(key, [values[key]], value, readNow, loading);
}

/**
 * The latest result of `readNow` without a mistake.
 * @param files null: not set
 */
export function liveFiles<T>(
  name: string,
  files: readonly (string | null)[],
  first: T,
  readNow: (mistakes: Mistake[]) => T,
  { cwd, rotation }: Pick<Loading, 'cwd' | 'rotation'>,
): Live<T> {
  const paths = files.flatMap((file) => (file === null ? [] : [resolve(cwd, file)]));
  if (paths.length === 0) return { value: first };
  return rotation.files(name, paths, first, () => {
    const mistakes: Mistake[] = [];
    const value = readNow(mistakes);
    const [mistake] = mistakes;
    return mistake === undefined ? { value } : { problem: mistake.problem };
  });
}
