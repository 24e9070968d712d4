import {
  type AuthenticationProviderArgs,
  KafkaJSConnectionError,
  type KafkaJSError,
  KafkaJSNonRetriableError,
  KafkaJSProtocolError,
  type Mechanism,
} from 'kafkajs';
import { HighwaterError } from '../../../errors';

/** A login by bearer tokens (SASL OAUTHBEARER). */
export interface TokenLogin {
  readonly mechanism: 'oauthbearer';
  readonly username?: never;
  readonly password?: never;
  /** Asked for each login, as kafkajs asks. */
  oauthBearerProvider(): Promise<{
    readonly value: string;
    readonly extensions?: Readonly<Record<string, string>>;
  }>;
  /** @returns whether there may be another token after the brokers refused this one */
  isReplaced?(refused: string): Promise<boolean>;
}

/** Stands between the parts of a message, and is the whole of the message by which a client ends its login (RFC 7628, 3.1). */
const SEPARATOR = '\u0001';

/**
 * In place of kafkajs's own OAUTHBEARER, which takes the brokers' refusal of a token for a success, and leaves a connection in the
 * middle of a login if there is no token.
 */
export function tokenMechanism(login: TokenLogin): Mechanism {
  return {
    mechanism: 'OAUTHBEARER',
    authenticationProvider: (connection) => ({ authenticate: () => logIn(login, connection) }),
  };
}

/** @throws KafkaJSError whose cause is a HighwaterError KAFKA_* */
async function logIn(login: TokenLogin, connection: AuthenticationProviderArgs): Promise<void> {
  const { host, port, saslAuthenticate } = connection;
  /** @returns what the broker has against the token; empty: nothing */
  const send = async (message: string) =>
    saslAuthenticate<string>({
      request: { encode: () => withLength(message) },
      response: { decode: (answer) => answer, parse: (answer) => answer.toString('utf8', LENGTH_BYTES) },
    });
  let token: Awaited<ReturnType<TokenLogin['oauthBearerProvider']>>;
  try {
    token = await login.oauthBearerProvider();
  } catch (error) {
    // The broker then closes the connection, on which it would take nothing but the rest of the login.
    await send(SEPARATOR).catch(() => undefined);
    if (error instanceof HighwaterError) throw asKafkajs(error);
    const what = `oauthBearerProvider gave no token: ${error instanceof Error ? error.message : error}`;
    throw asKafkajs(new HighwaterError('KAFKA_UNREACHABLE', what, { cause: error }));
  }
  const { value, extensions = {} } = token;
  const refusal = await send(firstMessage(value, extensions))
    .then((says) => (says ? send(SEPARATOR).then(() => says) : ''))
    .catch((error: Error) => {
      if (error instanceof KafkaJSProtocolError) return error.message;
      throw error;
    });
  if (!refusal) return;
  const what = `the brokers refused the token (SASL OAUTHBEARER): ${refusal}`;
  if (await login.isReplaced?.(value)) throw new KafkaJSConnectionError(what, { broker: `${host}:${port}` });
  throw asKafkajs(new HighwaterError('KAFKA_UNAUTHENTICATED', what));
}

/** kafkajs does not try it again: nobody would learn for a minute that a token server does not answer. */
function asKafkajs(error: HighwaterError): KafkaJSError {
  return Object.assign(new KafkaJSNonRetriableError(error), { cause: error });
}

function firstMessage(token: string, extensions: Readonly<Record<string, string>>): string {
  const pairs = Object.entries({ auth: `Bearer ${token}`, ...extensions });
  return `n,,${SEPARATOR}${pairs.map(([name, value]) => `${name}=${value}${SEPARATOR}`).join('')}${SEPARATOR}`;
}

const LENGTH_BYTES = 4;

function withLength(message: string): Buffer {
  const bytes = Buffer.from(`\0\0\0\0${message}`);
  bytes.writeInt32BE(bytes.length - LENGTH_BYTES);
  return bytes;
}
