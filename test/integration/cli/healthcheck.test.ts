import { writeFileSync } from 'node:fs';
import { freePort } from '../../../tools/servers/ports';
import { type CliProcess, commandsInFolder } from '../../support/cli';
import { startHttpServer } from '../../support/http-server';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { until } from '../../support/until';

const { file, start, done } = commandsInFolder();

/** Exit code and output. */
async function check(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const { code, said } = await done(['healthcheck', ...args], env);
  return { code, said };
}

describe('highwater healthcheck', () => {
  const api = simulatedApi({ insights: 20, analysts: 20, ipos: 20 });

  /** A publisher at a free port. */
  async function publisher(env: Readonly<Record<string, string>> = {}): Promise<[CliProcess, string]> {
    const port = String(await freePort());
    const settings = {
      ...apiEnv(api()),
      HIGHWATER_REQUESTS_PER_SECOND: '1000',
      HIGHWATER_POLL_INTERVAL: '1s',
      HIGHWATER_HTTP_PORT: port,
    };
    const started = start(['run'], { ...settings, ...env });
    await started.sees(/health at/, 'stderr');
    return [started, port];
  }

  it('ends with 0 when every feed is up to date, and with 1 when nobody answers any more', async () => {
    const [one, port] = await publisher();
    const env = { HIGHWATER_HTTP_PORT: port };
    expect(await check(['--live'], env)).toEqual({ code: 0, said: 'live\n' });
    await one.sees(/ipos.*snapshot complete|snapshot complete.*ipos/, 'stderr');
    await until(async () => (await check([], env)).code === 0);
    expect(await check(['--http-port', port])).toEqual({ code: 0, said: 'ready\n' });
    await one.stop();
    expect(await check([], env)).toEqual({
      code: 1,
      said: `no answer from http://127.0.0.1:${port}/readyz: connect ECONNREFUSED 127.0.0.1:${port}\n`,
    });
  });

  it('names each feed that is not up to date, and needs no token where the publisher has one', async () => {
    const env = {
      HIGHWATER_API_TOKEN: 'wrong',
      HIGHWATER_HTTP_HOST: '0.0.0.0',
      HIGHWATER_HTTP_TOKEN: 'secret',
    };
    const [one, port] = await publisher(env);
    await one.sees(/SOURCE_UNAUTHORIZED/, 'stderr');
    const { HIGHWATER_HTTP_HOST } = env;
    const asked = { HIGHWATER_HTTP_PORT: port, HIGHWATER_HTTP_HOST };
    await until(
      async () => (await check([], asked)).said.split('parked by SOURCE_UNAUTHORIZED').length === 4,
    );
    const { code, said } = await check([], asked);
    expect(code).toBe(1);
    expect(said).toMatch(/^not ready: ipos: parked by SOURCE_UNAUTHORIZED, tried again slowly$/m);
    // A new process would meet the same.
    expect(await check(['--live'], asked)).toEqual({ code: 0, said: 'live\n' });
  });

  it('finds the port in highwater.yaml, and says of other servers that they are none of ours', async () => {
    const server = await startHttpServer((_, response) =>
      response.writeHead(404).end('<h1>\u001b[31mnot found'),
    );
    const { port } = new URL(server.url);
    writeFileSync(file('highwater.yaml'), `httpPort: ${port}\nkafkaBrokers: nonsense with blanks\n`);
    const { code, said } = await check();
    await server.stop();
    expect([code, said]).toEqual([1, `http://127.0.0.1:${port}/readyz answers 404: is it a publisher?\n`]);
  });

  it.each([
    ['is not set, expected the port of the publisher', {}],
    ['is any free port, expected the one to ask', { HIGHWATER_HTTP_PORT: '0' }],
    ['found "http", expected', { HIGHWATER_HTTP_PORT: 'http' }],
  ])('ends with 2 when it cannot know whom to ask: %s', async (problem, env) => {
    const { code, said } = await check([], env as Record<string, string>);
    expect(code).toBe(2);
    expect(said).toContain('CONFIG_INVALID');
    expect(said).toContain(problem);
  });
});
