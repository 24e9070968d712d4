import { resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import { type Mistake, shown } from '../mistake';
import type { ReadSettings } from '../raw-settings';
import { tlsProblem } from './tls-files';

type PemSetting = 'apiCaFile' | 'kafkaSslCaFile' | 'kafkaSslCertFile' | 'kafkaSslKeyFile';

/** The text of a file that a setting names; null, and perhaps a mistake, where there is none. */
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
): { readonly ca: string | null; readonly mistakes: readonly Mistake[] } {
  const mistakes: Mistake[] = [];
  const key = 'apiCaFile';
  const ca = readPem(read, cwd, key, mistakes);
  const unusable = tlsProblem({ ca, cert: null, key: null, passphrase: null });
  if (unusable === null) return { ca, mistakes };
  const problem = `the file ${shown(read.values[key])} ${unusable.problem}`;
  mistakes.push({ key, where: read.origins.get(key)?.where ?? null, problem });
  return { ca: null, mistakes };
}
