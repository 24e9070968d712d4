import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import { freePort } from '../../../tools/servers/ports';
import { build } from '../../support/build';
import { until } from '../../support/until';
import { run } from '../command';

/** The program in a process of its own, on the embedded log, and the API that it reads. */
export interface Publisher {
  readonly url: string;
  readonly api: Simulator;
  start(): Promise<void>;
  /** SIGKILL: it says no goodbye. */
  kill(): Promise<void>;
  /** Records of a topic as `highwater tail --json` has them. */
  // biome-ignore lint/suspicious/noExplicitAny: as loose as a reader's JSON
  log(topic: string): Promise<readonly Record<string, any>[]>;
  stop(): Promise<void>;
}

const START_MS = 30_000;

/** @param token that the page is asked for */
export async function startPublisher(folder: string, token?: string): Promise<Publisher> {
  const main = path.join(await build(), 'cli', 'main.js');
  mkdirSync(folder, { recursive: true });
  const api = await startSimulator({ records: { insights: 60, analysts: 40, ipos: 60 } });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const { PATH, HOME, TMPDIR } = process.env;
  const env = {
    PATH,
    HOME,
    TMPDIR,
    HIGHWATER_API_URL: api.url,
    HIGHWATER_API_TOKEN: api.token,
    HIGHWATER_POLL_INTERVAL: '1s',
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_HTTP_PORT: String(port),
    ...(token !== undefined && { HIGHWATER_HTTP_TOKEN: token }),
  };
  let end = async () => {};

  const publisher: Publisher = {
    url,
    api,
    async start() {
      const child = spawn(process.execPath, [main, 'run'], {
        cwd: folder,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      const exited = once(child, 'exit');
      end = async () => {
        child.kill('SIGKILL');
        await exited;
      };
      const answers = () =>
        fetch(url).then(
          ({ ok }) => ok,
          () => false,
        );
      await until(answers, START_MS).catch((cause: Error) => {
        throw new Error(`the publisher does not serve the page:\n${said}`, { cause });
      });
    },
    kill: () => end(),
    async log(topic) {
      const args = [main, 'tail', topic, '--json', '--no-follow', '--from-beginning'];
      const { stdout } = await run(process.execPath, args, { cwd: folder, env, withinMs: START_MS });
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    },
    async stop() {
      await end();
      await api.stop();
    },
  };
  await publisher.start().catch(async (error) => {
    await publisher.stop();
    throw error;
  });
  return publisher;
}
