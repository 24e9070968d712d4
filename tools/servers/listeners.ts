import { writeFileSync } from 'node:fs';
import path from 'node:path';

/** Name and password of a user. */
export interface User {
  readonly username: string;
  readonly password: string;
}

/** Texts in PEM. */
export interface Certificate {
  readonly cert: string;
  /** PKCS #8, not encrypted. */
  readonly key: string;
}

export type Mechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER';

/** How clients come in by a port of its own; neither TLS nor a login where nothing is given. */
export interface Listener {
  readonly tls?: {
    /** What the broker shows. */
    readonly server: Certificate;
    /** Set, clients are asked for a certificate that this authority signed, in PEM. */
    readonly clientCa?: string;
  };
  readonly login?: {
    readonly mechanisms: readonly Mechanism[];
    /** Who may, by any of the mechanisms. With OAUTHBEARER, anybody whose token names a subject: it needs no signature. */
    readonly users: readonly User[];
  };
}

/** By names of small letters. */
export type Listeners = Readonly<Record<string, Listener>>;

const loginModules = 'org.apache.kafka.common.security';

/** As Kafka names it: `SASL_SSL`. */
export function securityProtocol({ tls, login }: Listener): string {
  if (login === undefined) return tls === undefined ? 'PLAINTEXT' : 'SSL';
  return tls === undefined ? 'SASL_PLAINTEXT' : 'SASL_SSL';
}

/** Of server.properties. Certificates land in the folder. */
export function listenerProperties(name: string, listener: Listener, folder: string): Record<string, string> {
  const { tls, login } = listener;
  const properties: Record<string, string> = {};
  const set = (key: string, value: string): void => {
    properties[`listener.name.${name}.${key}`] = value;
  };
  const setStore = (store: 'keystore' | 'truststore', pem: string): void => {
    const file = path.join(folder, `${name}.${store}.pem`);
    writeFileSync(file, pem, { mode: 0o600 });
    set(`ssl.${store}.type`, 'PEM');
    set(`ssl.${store}.location`, file);
  };
  if (tls !== undefined) {
    setStore('keystore', `${tls.server.key}\n${tls.server.cert}`);
    if (tls.clientCa !== undefined) {
      setStore('truststore', tls.clientCa);
      set('ssl.client.auth', 'required');
    }
  }
  if (login !== undefined) {
    set('sasl.enabled.mechanisms', login.mechanisms.join(','));
    for (const mechanism of login.mechanisms) {
      set(`${mechanism.toLowerCase()}.sasl.jaas.config`, jaas(mechanism, login.users));
    }
  }
  return properties;
}

/** Passwords of SCRAM lie in the metadata instead: see `scramArguments`. */
function jaas(mechanism: Mechanism, users: readonly User[]): string {
  if (mechanism === 'OAUTHBEARER') return `${loginModules}.oauthbearer.OAuthBearerLoginModule required;`;
  if (mechanism !== 'PLAIN') return `${loginModules}.scram.ScramLoginModule required;`;
  const known = users.map(({ username, password }) => ` user_${username}="${password}"`);
  return `${loginModules}.plain.PlainLoginModule required${known.join('')};`;
}

/** For `kafka-storage format`, which gives a cluster its first users. */
export function scramArguments(listeners: Listeners): string[] {
  const credentials = Object.values(listeners).flatMap(({ login }) =>
    (login?.mechanisms ?? [])
      .filter((mechanism) => mechanism.startsWith('SCRAM'))
      .flatMap((mechanism) =>
        login!.users.map(
          ({ username, password }) => `${mechanism}=[name=${username},password=${password},iterations=4096]`,
        ),
      ),
  );
  return [...new Set(credentials)].flatMap((one) => ['--add-scram', one]);
}
