import type { TlsTexts } from '../net/certificate-failures';
import type { Live } from '../secrets/rotation';
import type { Grant } from '../source/api-access';
import type { GrantedToken } from '../source/granted-token';
import { readSecret } from './files/secrets';
import { type Loading, whereSet } from './raw-settings';

/** The clients of token servers, by the beginning of the names of their settings. */
const clients = {
  schemaRegistryBearerAuth: {
    url: 'schemaRegistryBearerAuthIssuerEndpointUrl',
    tokens: 'tokens of the registry',
    leastMarginMs: 0,
  },
  kafkaSaslOauthbearer: {
    url: 'kafkaSaslOauthbearerTokenEndpointUrl',
    tokens: 'tokens of the brokers',
    // A session ends with its token. kafkajs logs in again 10 s before that, and at each request if the session is shorter.
    leastMarginMs: 20_000,
  },
} as const;

/** Null if the settings of the token server are not complete. */
export function readGrant(
  loading: Loading,
  client: keyof typeof clients,
  tls: Live<TlsTexts>,
): GrantedToken | null {
  const { values, rotation } = loading;
  const { url, tokens, leastMarginMs } = clients[client];
  const key = `${client}ClientSecret` as const;
  const found = readSecret(loading, key);
  const [tokenUrl, clientId] = [values[url], values[`${client}ClientId`]];
  if (found === null || tokenUrl === null || clientId === null) return null;
  const grant: Grant = {
    ...{ scheme: 'oauth2', id: client, tokenUrl, clientId, parameters: {}, clientAuth: 'basic' },
    scope: values[`${client}Scope`] ?? undefined,
    ...{ key: whereSet(loading, key) ?? `${key}File`, clientSecret: found.value, secret: found.secret },
    leastMarginMs,
    hide: rotation.granted(tokens),
  };
  const trust = {
    get ca() {
      return tls.value.ca;
    },
  };
  // Loaded only if needed, as all clients of servers are.
  const { grantedToken }: typeof import('../source/granted-token') = require('../source/granted-token');
  return grantedToken(grant, trust, Number.POSITIVE_INFINITY);
}
