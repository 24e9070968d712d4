import type { Auth, AuthScheme, ClientCredentials } from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import type { Rotation } from '../../secrets/rotation';
import { type ApiAccess, usualAuth } from '../../source/api-access';
import { type SecretPlace, type SetSecret, secretFrom } from '../files/secrets';
import type { Mistake } from '../mistake';
import type { Loading } from '../raw-settings';
import { settings } from '../settings';

export interface ReadAccess {
  /** By feed; feeds that lack something are left out. */
  readonly access: ReadonlyMap<string, ApiAccess>;
  /** Feed → its missing setting, for people. */
  readonly lacking: ReadonlyMap<string, string>;
  /** Missing settings that a command needs to read the API. */
  readonly missing: readonly Mistake[];
  /** Wrong settings. */
  readonly mistakes: readonly Mistake[];
}

type FoundToken = Pick<ApiAccess, 'token' | 'secret'>;
type Found = FoundToken | { readonly lacks: Mistake } | { readonly wrong: Mistake };

/**
 * Reads where each feed is asked, and its token.
 * @param token the general one, for feeds without their own API
 * @param runs whether commands are run; else the feeds whose tokens they print lack them
 */
export function readAccess(
  feeds: readonly Feed[],
  loading: Loading,
  token: SetSecret | null,
  env: Readonly<Record<string, string | undefined>>,
  runs: boolean,
  where: (path: readonly PropertyKey[]) => string,
): ReadAccess {
  const { apiUrl } = loading.values;
  const access = new Map<string, ApiAccess>();
  const lacking = new Map<string, string>();
  const [missing, mistakes]: [Mistake[], Mistake[]] = [[], []];
  for (const feed of feeds) {
    const auth = feed.auth ?? usualAuth;
    const baseUrl = feed.apiUrl ?? apiUrl;
    const isGeneral = needsToken(feed);
    const found = isGeneral ? generalToken(feed) : tokenOf(feed);
    if ('wrong' in found) mistakes.push(found.wrong);
    else if ('lacks' in found) {
      missing.push(found.lacks);
      lacking.set(feed.name, `${found.lacks.key} (${found.lacks.where}): ${found.lacks.problem}`);
    } else if (baseUrl !== null && (!isGeneral || found.token !== '' || found.secret !== undefined)) {
      const { rotation } = loading;
      const credentials = auth.scheme === 'oauth2' ? grantedAccess(feed.name, auth, found, rotation) : found;
      access.set(feed.name, { ...credentials, baseUrl, auth: schemeOf(auth) });
    }
  }
  return { access, lacking, missing, mistakes };

  /** The general token goes to the host it was set for. `''`: it is not set. */
  function generalToken({ name, apiUrl: own }: Feed): Found {
    const isElsewhere = own !== null && apiUrl !== null && new URL(own).origin !== new URL(apiUrl).origin;
    if (!isElsewhere) return { token: token?.value ?? '', ...(token?.secret && { secret: token.secret }) };
    const problem = `names no token of its own, and the general token is for ${new URL(apiUrl).origin}, not for ${new URL(own).origin}; expected auth with tokenEnv, tokenFile or tokenCommand, or with scheme none`;
    return { wrong: { key: `feeds.${name}.auth`, where: where(['feeds', name, 'auth']), problem } };
  }

  /** As the general token is read: from a variable, from a file below the working directory, or from a command. */
  function tokenOf({ name, auth }: Feed): Found {
    if (auth === null || auth.scheme === 'none') return { token: '' };
    const [place, other] = placesOf(auth) as [Place, Place?];
    const path = ['feeds', name, 'auth', place.key];
    const mistake = (problem: string): Mistake => ({ key: path.join('.'), where: where(path), problem });
    if (other !== undefined) return { wrong: mistake(`and ${other.key} are both set, expected one of them`) };
    if ('env' in place) {
      const given = env[place.env] ?? '';
      const variable = variableCalled(place.env);
      const what = auth.scheme === 'oauth2' ? 'client secret' : 'token';
      if (given === '') return { lacks: mistake(`${variable} is not set, expected the ${what} in it`) };
      const expected = expectedInstead(given, auth);
      return expected === null
        ? { token: given }
        : { wrong: mistake(`${variable} holds something else, expected ${expected}`) };
    }
    if ('command' in place && !runs) return { lacks: mistake('is not run by this command') };
    const expected = (content: string) => expectedInstead(content, auth);
    const found = secretFrom(path.join('.'), place, expected, { ...loading, mayComeLate: true });
    return 'problem' in found
      ? { wrong: mistake(found.problem) }
      : { token: found.token, secret: found.live };
  }
}

/** Whether a feed has no token of its own, and needs the general one. */
export const needsToken = ({ auth }: Pick<Feed, 'auth'>): boolean =>
  auth === null || (auth.scheme !== 'none' && placesOf(auth).length === 0);

type Place = { readonly key: string } & (SecretPlace | { readonly env: string });

/** The settings that say where the token comes from, or the secret of a client. */
function placesOf(auth: Auth): Place[] {
  const secret = auth.scheme === 'oauth2' ? 'clientSecret' : 'token';
  return Object.entries({ Env: 'env', File: 'file', Command: 'command' }).flatMap(([ending, kind]) => {
    const key = `${secret}${ending}`;
    const given = (auth as Readonly<Record<string, unknown>>)[key];
    return given === undefined ? [] : [{ key, [kind]: given } as unknown as Place];
  });
}

/** The form of a token for this scheme; null: the text may be one. */
function expectedInstead(token: string, { scheme }: Auth): string | null {
  const parsed = settings.apiToken.schema.safeParse(token);
  if (!parsed.success) return parsed.error.issues[0]?.message ?? 'a token';
  const isHeader = scheme === 'bearer' || scheme === 'header';
  return isHeader && /[^\x21-\x7e]/.test(token) ? 'ASCII, since a header carries the token' : null;
}

/** A long name that does not look like a variable may be the token itself, set in place of the name. */
export function variableCalled(name: string): string {
  const isName = /^[A-Z][A-Z0-9_]*$/.test(name) && (name.includes('_') || name.length < 16);
  return isName ? `the variable ${name}` : 'the variable of that name';
}

/** The secret of a client in the place of a token: tokens come from the token server. */
function grantedAccess(
  feed: string,
  auth: ClientCredentials,
  { token: clientSecret, secret }: FoundToken,
  rotation: Rotation,
): Pick<ApiAccess, 'token' | 'grant'> {
  rotation.hide([clientSecret]);
  const section = `feeds.${feed}.auth`;
  const key = `${section}.${placesOf(auth)[0]!.key}`;
  const hide = rotation.granted(`${section}.tokenUrl`);
  return { token: '', grant: { ...auth, id: JSON.stringify(auth), key, clientSecret, secret, hide } };
}

/** Without the places of the token. */
function schemeOf(auth: Auth): AuthScheme {
  switch (auth.scheme) {
    case 'query':
    case 'header':
      return { scheme: auth.scheme, name: auth.name };
    case 'basic':
      return { scheme: 'basic', user: auth.user };
    case 'oauth2':
      return { scheme: 'bearer' };
    default:
      return { scheme: auth.scheme };
  }
}
