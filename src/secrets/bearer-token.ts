import { type ErrorCode, HighwaterError } from '../errors';

/** A bearer token that is set, or is fetched and renewed. */
export interface BearerToken {
  readonly value: string;
  /** Fetches the token unless there is one. @returns why there is none */
  ready?(signal: AbortSignal): Promise<{ readonly code: string; readonly what: string } | null>;
  /** @returns whether there is another token, or one can be fetched, after a server refused this one */
  isReplaced?(refused: string): Promise<boolean>;
  /** The server takes the token. */
  accepted?(): void;
}

/**
 * The token to use now.
 * @param codes of errors of the server that it is for
 * @param remedy for `unavailable`, instead of that of the code
 * @throws HighwaterError the token server is not trusted, refuses the client, or gives no token for now
 */
export async function readyToken(
  token: BearerToken,
  signal: AbortSignal,
  codes: Readonly<Record<'certificate' | 'refused' | 'unavailable', ErrorCode>>,
  remedy?: string,
): Promise<string> {
  const failed = await token.ready?.(signal);
  if (!failed) return token.value;
  const { code, what } = failed;
  if (code === 'SOURCE_CERTIFICATE') throw new HighwaterError(codes.certificate, what);
  if (code === 'SOURCE_TOKEN_REFUSED') throw new HighwaterError(codes.refused, what);
  throw new HighwaterError(codes.unavailable, what, remedy === undefined ? {} : { remedy });
}
