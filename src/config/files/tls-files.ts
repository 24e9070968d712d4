import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { readText } from '../../bytes/read-text';
import type { TlsTexts } from '../../net/certificate-failures';
import type { Live } from '../../secrets/rotation';
import { type Mistake, shown } from '../mistake';
import { type Loading, whereSet } from '../raw-settings';

export interface TlsProblem {
  readonly of: keyof TlsTexts;
  /** The problem of the file or the password, for people: `holds no certificate in PEM`. */
  readonly problem: string;
}

/**
 * A problem of the files themselves, which a connection would only show as a failure of OpenSSL. Whether a certificate
 * is still valid is left to the servers: a server that asks for none does not care.
 * @param prefix of the variables: `KAFKA_SSL`
 */
export function tlsProblem({ ca, cert, key, passphrase }: TlsTexts, prefix = 'KAFKA_SSL'): TlsProblem | null {
  for (const [of, text] of [['ca', ca] as const, ['cert', cert] as const]) {
    const problem = text === null ? null : certificateProblem(text);
    if (problem !== null) return { of, problem };
  }
  if (cert === null || key === null) return null;
  const opened = openKey(key, passphrase, prefix);
  if ('problem' in opened) return opened;
  if (!new X509Certificate(cert).checkPrivateKey(opened.key)) {
    return { of: 'key', problem: `is not the key of the certificate in ${prefix}_CERT_FILE` };
  }
  try {
    createSecureContext({ cert, key, ...(passphrase !== null && { passphrase }) });
    return null;
  } catch (error) {
    return { of: 'cert', problem: `cannot be used (${reason(error)})` };
  }
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** OpenSSL ignores unknown content, and then trusts nobody. */
function certificateProblem(text: string): string | null {
  const blocks = text.match(certificateBlock) ?? [];
  if (blocks.length === 0) return 'holds no certificate in PEM (-----BEGIN CERTIFICATE-----)';
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch (error) {
      return `holds a certificate that cannot be read, number ${index + 1} (${reason(error)})`;
    }
  }
  return null;
}

function openKey(
  text: string,
  passphrase: string | null,
  prefix: string,
): { readonly key: KeyObject } | TlsProblem {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    return { of: 'key', problem: 'holds no private key in PEM (-----BEGIN PRIVATE KEY-----)' };
  }
  const isEncrypted = /BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: 4,ENCRYPTED/m.test(text);
  if (isEncrypted && passphrase === null) {
    return {
      of: 'passphrase',
      problem: `is not set, expected ${prefix}_KEY_PASSWORD, since the key in ${prefix}_KEY_FILE is encrypted`,
    };
  }
  try {
    return { key: createPrivateKey({ key: text, ...(passphrase !== null && { passphrase }) }) };
  } catch (error) {
    const why = reason(error);
    // One wrong password in some hundred decrypts the key to something that is none: OpenSSL calls that "unsupported".
    return isEncrypted && /decrypt|mac verify|unsupported|asn1|decoder/i.test(why)
      ? { of: 'passphrase', problem: `does not open the key in ${prefix}_KEY_FILE` }
      : { of: 'key', problem: `holds a private key that cannot be read (${why})` };
  }
}

/** OpenSSL's words without its numbers: `bad decrypt`. They hold nothing of the file. */
function reason(error: unknown): string {
  return (error as Error).message.replace(/^.*::?/, '');
}

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
