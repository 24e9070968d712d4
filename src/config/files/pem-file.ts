import { resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import type { Live, Rotation } from '../../secrets/rotation';
import { type Mistake, shown } from '../mistake';
import type { ReadSettings } from '../raw-settings';
import { tlsProblem } from './tls-files';

type PemSetting =
  | 'apiCaFile'
  | `kafkaSsl${'Ca' | 'Cert' | 'Key'}File`
  | `schemaRegistry${'Ca' | 'Cert' | 'Key'}File`;

/** The text of a file that a setting names; null, and perhaps a mistake, if there is none. */
export function readPem(
  { values, origins }: ReadSettings,
  cwd: string,
  key: PemSetting,
  mistakes: Mistake[],
): string | null {
  const file = values[key];
  if (file === null) return null;
  const content = readText(resolve(cwd, file));
  if ('text' in content) return content.text;
  const problem = `the file ${shown(file)} cannot be read (${content.failure})`;
  mistakes.push({ key, where: origins.get(key)?.where ?? null, problem });
  return null;
}

/** The authorities to trust at the API. */
export function readApiCa(
  read: ReadSettings,
  cwd: string,
  rotation: Rotation,
): { readonly ca: Live<string | null>; readonly mistakes: readonly Mistake[] } {
  const key = 'apiCaFile';
  const readNow = (mistakes: Mistake[]): string | null => {
    const ca = readPem(read, cwd, key, mistakes);
    const unusable = tlsProblem({ ca, cert: null, key: null, passphrase: null });
    if (unusable === null) return ca;
    const problem = `the file ${shown(read.values[key])} ${unusable.problem}`;
    mistakes.push({ key, where: read.origins.get(key)?.where ?? null, problem });
    return null;
  };
  const mistakes: Mistake[] = [];
  const value = readNow(mistakes);
  const ca =
    value === null ? { value } : liveFiles(key, [read.values[key]], value, readNow, { cwd, rotation });
  return { ca, mistakes };
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
  { cwd, rotation }: { readonly cwd: string; readonly rotation: Rotation },
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
