import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 15_000;
const given = new Set<number>();

/**
 * A port on 127.0.0.1 that nothing listens on, never the same twice, and outside the range that the system takes ports of
 * outgoing connections from: a server that is down would else find its port taken when it starts again.
 */
export async function freePort(): Promise<number> {
  const highest = firstOutgoingPort() - 1;
  for (let tries = 0; tries < 1_000; tries++) {
    const port = LOWEST + Math.floor(Math.random() * (highest - LOWEST + 1));
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
  throw new Error(`no free port from ${LOWEST} to ${highest}`);
}

/** The given port when it is free, else the next that is. */
export async function freePortFrom(port: number): Promise<number> {
  for (let next = port; next < port + 1_000; next++) {
    if (!given.has(next) && (await isFree(next))) {
      given.add(next);
      return next;
    }
  }
  throw new Error(`no free port from ${port} to ${port + 999}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

function firstOutgoingPort(): number {
  try {
    const first = Number(
      readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/)[0],
    );
    return first > LOWEST + 1_000 ? first : 32_768;
  } catch {
    // Not Linux: others begin above what Linux does.
    return 32_768;
  }
}
