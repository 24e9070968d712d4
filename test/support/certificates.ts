import { createPrivateKey } from 'node:crypto';
import { generate } from 'selfsigned';
import type { Certificate } from '../../tools/servers/listeners';

export interface Identity {
  readonly name: string;
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** Its time is over. */
  readonly expired?: boolean;
}

/** An authority of its own, which nobody trusts unless told. */
export interface Authority {
  /** In PEM. */
  readonly cert: string;
  /** For servers and clients alike. */
  sign(identity: Identity): Promise<Certificate>;
}

const day = 86_400_000;

export async function authority(name: string): Promise<Authority> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - 30 * day),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  return {
    cert,
    async sign({ name: commonName, host = '127.0.0.1', expired = false }) {
      const signed = await generate([{ name: 'commonName', value: commonName }], {
        keyType: 'ec',
        algorithm: 'sha256',
        ca: { key, cert },
        notBeforeDate: new Date(Date.now() - (expired ? 2 : 1) * day),
        notAfterDate: new Date(Date.now() + (expired ? -1 : 1) * day),
        extensions: [
          { name: 'basicConstraints', cA: false },
          { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
          {
            name: 'subjectAltName',
            altNames: [/^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host }],
          },
        ],
      });
      return { cert: signed.cert, key: signed.private };
    },
  };
}

/** A key as the password alone opens it. */
export function encrypted(key: string, passphrase: string): string {
  const cipher = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase } as const;
  return createPrivateKey(key).export(cipher).toString();
}
