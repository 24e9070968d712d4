import { counted } from '../../format/counted';
import type { Logger } from '../../logging/logger';

/** Requests with a wrong token: somebody guesses, or a program has the token of before. */
export interface WrongTokens {
  /** @param address of the client */
  count(address: string): void;
  /** Warns of the requests that no warning has counted. */
  close(): void;
}

const WARN_EVERY_MS = 60_000;
const MOST_ADDRESSES = 5;

/** The first request is warned of at once; later ones are counted and warned of together, so that nobody fills the log. */
export function wrongTokens(logger: Logger): WrongTokens {
  const addresses = new Set<string>();
  let requests = 0;
  let timer: NodeJS.Timeout | undefined;

  function warn(): void {
    timer = undefined;
    if (requests === 0) return;
    logger.warn(`Dashboard and metrics refused ${counted(requests, 'request')} with a wrong token.`, {
      addresses: [...addresses],
      now: 'Each of them was answered with 401.',
      remedy:
        'Give the program that asks the right token (HIGHWATER_HTTP_TOKEN), or keep the address away from the port.',
    });
    requests = 0;
    addresses.clear();
    timer = setTimeout(warn, WARN_EVERY_MS).unref();
  }

  return {
    count(address) {
      requests++;
      if (addresses.size < MOST_ADDRESSES) addresses.add(address);
      if (timer === undefined) warn();
    },
    close() {
      clearTimeout(timer);
      warn();
      clearTimeout(timer);
    },
  };
}
