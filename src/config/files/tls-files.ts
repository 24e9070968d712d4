import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { readText } from '../../bytes/read-text';
import type { TlsTexts } from '../../net/certificate-failures';
import type { Live } from '../../secrets/rotation';
import { type Mistake, shown } from '../mistake';
import { type Loading, whereSet } from '../raw-settings';
import { type SettingKey, settings } from '../settings';
import { readSecret } from './secrets';

interface TlsProblem {
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

type Server = 'kafkaSsl' | 'schemaRegistry';

/** The settings of the files of one server. */
interface TlsSettings {
  readonly ca: 'apiCaFile' | `${Server}CaFile`;
  readonly cert?: `${Server}CertFile`;
  readonly key?: `${Server}KeyFile`;
  readonly passphrase?: `${Server}KeyPassword`;
}

/** The authorities to trust at the API, as they are now. */
export function readApiCa(loading: Loading): Live<TlsTexts> {
  return liveTexts('apiCaFile', { ca: 'apiCaFile' }, loading);
}

/** The files of one server: their texts as they are now. */
export function readTls(server: Server, loading: Loading): Live<TlsTexts> {
  const of = <Part extends string>(part: Part) => `${server}${part}` as const;
  const keys = { ca: of('CaFile'), cert: of('CertFile'), key: of('KeyFile'), passphrase: of('KeyPassword') };
  return liveTexts(server, keys, loading);
}

/** The latest texts without a mistake. */
function liveTexts(name: string, keys: TlsSettings, loading: Loading): Live<TlsTexts> {
  const { values, cwd, rotation } = loading;
  const prefix = settings[keys.ca].env.replace(/_CA_FILE$/, '');
  const password = keys.passphrase === undefined ? null : readSecret(loading, keys.passphrase);
  const readNow = (mistakes: Mistake[]): TlsTexts => {
    const add = (key: SettingKey, problem: string): void =>
      void mistakes.push({ key, where: whereSet(loading, key), problem });
    const pem = (key: Exclude<TlsSettings['ca' | 'cert' | 'key'], undefined> | undefined): string | null => {
      const file = key === undefined ? null : values[key];
      if (file === null) return null;
      const content = readText(resolve(cwd, file));
      if ('text' in content) return content.text;
      add(key!, `the file ${shown(file)} cannot be read (${content.failure})`);
      return null;
    };
    const tls: TlsTexts = {
      ca: pem(keys.ca),
      cert: pem(keys.cert),
      key: pem(keys.key),
      passphrase: password?.value ?? null,
    };
    const unusable = tlsProblem(tls, prefix);
    if (unusable === null) return tls;
    const key = keys[unusable.of]!;
    const file = unusable.of === 'passphrase' ? '' : `the file ${shown(values[key])} `;
    add(key, `${file}${unusable.problem}`);
    return tls;
  };
  const first = readNow(loading.mistakes);
  const passwordFile = keys.passphrase && values[`${keys.passphrase}File`];
  const files = [values[keys.ca], keys.cert && values[keys.cert], keys.key && values[keys.key], passwordFile];
  const paths = files.flatMap((file) => (file ? [resolve(cwd, file)] : []));
  if (paths.length === 0) return { value: first };
  return rotation.files(name, paths, first, () => {
    const mistakes: Mistake[] = [];
    const value = readNow(mistakes);
    const [mistake] = mistakes;
    return mistake === undefined ? { value } : { problem: mistake.problem };
  });
}
