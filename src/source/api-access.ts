import type { Auth, AuthScheme, ClientCredentials } from '../feeds/definition';
import type { Secret } from '../secrets/rotation';

/** How requests reach one API. */
export interface ApiAccess {
  /** http or https, perhaps with a path; no query, no user. */
  readonly baseUrl: string;
  /** Empty when the scheme is `none`. */
  readonly token: string;
  readonly auth: AuthScheme;
  /** The source of the token, and its present value. Left out: it cannot change. */
  readonly secret?: Secret | undefined;
  /** A token server gives the tokens. `token` is empty, and the scheme is `bearer`. */
  readonly grant?: Grant | undefined;
}

/** The way to the tokens of one client. */
export interface Grant extends ClientCredentials {
  /** Feeds of the same grant share its token and its request budget. */
  readonly id: string;
  /** The setting of the client's secret, for people: `feeds.orders.auth.clientSecretEnv`. */
  readonly key: string;
  readonly clientSecret: string;
  /** The source of the client's secret. Left out: it cannot change. */
  readonly secret?: Secret | undefined;
  /** A token is renewed so long before it expires, if its life does not ask for more, ms. Default: 0. */
  readonly leastMarginMs?: number;
  /** From then on nobody sees this token. */
  hide(token: string): void;
}

/** The scheme of the general API, and of each feed that declares no other scheme. */
export const usualAuth = { scheme: 'query', name: 'token' } as const satisfies AuthScheme;

export function isUsual(auth: AuthScheme): boolean {
  return auth.scheme === usualAuth.scheme && auth.name === usualAuth.name;
}

type Credentials = Pick<ApiAccess, 'auth' | 'token'>;

/** The token in each form in which a request carries it. */
export function secretsOf({ auth, token }: Credentials): string[] {
  if (token === '') return [];
  return auth.scheme === 'basic' ? [token, inBasic(auth.user, token)] : [token];
}

export function authHeaders({ auth, token }: Credentials): Readonly<Record<string, string>> {
  switch (auth.scheme) {
    case 'bearer':
      return { Authorization: `Bearer ${token}` };
    case 'basic':
      return { Authorization: `Basic ${inBasic(auth.user, token)}` };
    case 'header':
      return { [auth.name]: token };
    case 'query':
    case 'none':
      return {};
  }
}

/** Name of the query parameter that carries the token; null when none does. */
export function tokenParameter(auth: Auth): string | null {
  return auth.scheme === 'query' ? auth.name : null;
}

/** For people: `as a bearer token`. */
export function carriedAs(auth: AuthScheme): string {
  switch (auth.scheme) {
    case 'query':
      return `in the query parameter "${auth.name}"`;
    case 'bearer':
      return 'as a bearer token (header Authorization)';
    case 'basic':
      return auth.user === null
        ? 'as the user of basic authentication'
        : `as the password of the user "${auth.user}" (basic authentication)`;
    case 'header':
      return `in the header ${auth.name}`;
    case 'none':
      return 'with no request: the scheme is none';
  }
}

function inBasic(user: string | null, token: string): string {
  return Buffer.from(user === null ? `${token}:` : `${user}:${token}`).toString('base64');
}
