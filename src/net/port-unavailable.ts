import { HighwaterError } from '../errors';

/** The error of a server that cannot listen; null if it failed for another reason. */
export function portUnavailable(error: unknown, host: string, port: number): HighwaterError | null {
  const why = refusals[(error as NodeJS.ErrnoException).code ?? ''];
  if (why === undefined) return null;
  return new HighwaterError('PORT_UNAVAILABLE', `port ${port} of ${host} cannot be used: ${why}`, {
    cause: error,
  });
}

const refusals: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine does not have the address',
  ENOTFOUND: 'nobody knows the name',
};
