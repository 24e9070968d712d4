import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findJava } from '../../tools/servers/java';
import { ready, type ServerProcess, startProcess } from '../../tools/servers/server-process';

/** What it was asked for and served. Times are Unix milliseconds with fractions; 0: not yet. */
export interface ApiStats {
  readonly requests: number;
  /** Answers without a record. */
  readonly empty: number;
  /** Records. */
  readonly served: number;
  /** Of bodies. */
  readonly bytes: number;
  readonly firstRequestMs: number;
  readonly lastRequestMs: number;
  /** The latest answer was handed to the system. */
  readonly lastAnswerMs: number;
  /** The first answer that held the newest of the touched records was handed to the system. */
  readonly touchAnsweredMs: number;
}

export interface Touched {
  /** Unix seconds. */
  readonly updated: number;
  readonly ids: readonly string[];
}

/** The API that all contenders read, in a process of its own. */
export interface ApiServer {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** Mean length of a record's JSON in bytes. */
  readonly recordBytes: number;
  stats(): Promise<ApiStats>;
  /** Counts from 0 again. */
  reset(): Promise<void>;
  /**
   * Changes records as the vendor would: their `updated` is the present second, and of each with an even number the status
   * of the deal moves too.
   * @param from number of the first one, from 0
   */
  touch(from: number, count: number): Promise<Touched>;
  stop(): Promise<void>;
}

const START_MS = 120_000;

/**
 * Starts the API with so many IPO records.
 * @throws MissingToolError without Java; Error when it is no JDK, or with what the API wrote
 */
export async function startApi({ records }: { readonly records: number }): Promise<ApiServer> {
  const java = await findJava();
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-bench-api-'));
  // The records lie outside the heap; arrays of numbers and references to them within.
  const direct = Math.ceil((Math.min(records, 2_000_000) * 2_000) / 2 ** 20) + 64;
  const heap = Math.ceil((records * 64) / 2 ** 20) + 192;
  const server = startProcess({
    command: java,
    args: [
      `-Xmx${heap}m`,
      `-XX:MaxDirectMemorySize=${direct}m`,
      '-XX:+UseSerialGC',
      path.join(__dirname, 'Api.java'),
      '--records',
      String(records),
    ],
    output: path.join(folder, 'api.out'),
    folder,
  });
  const stop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { port, recordBytes } = await firstLine(server);
    const url = `http://127.0.0.1:${port}`;
    const token = 'a4f09c1e7b2d4d58a3c6e19f8b07d2c5'; // as long as vendors' are: pages are searched for it
    await warmUp(url, token);
    return {
      ...{ url, token, pid: server.pid, recordBytes, stop },
      stats: () => get<ApiStats>(`${url}/stats`),
      reset: () => get(`${url}/reset`).then(() => undefined),
      touch: (from, count) => get<Touched>(`${url}/touch?from=${from}&count=${count}`),
    };
  } catch (error) {
    await stop();
    throw withoutCompiler(error as Error) ?? error;
  }
}

interface FirstLine {
  readonly port: number;
  readonly recordBytes: number;
}

async function firstLine(server: ServerProcess): Promise<FirstLine> {
  let line = '';
  const written = async () => {
    line = server.output().split('\n')[0] ?? '';
    JSON.parse(line);
  };
  await ready('the API of the benchmarks', server, written, START_MS);
  return JSON.parse(line) as FirstLine;
}

/** Java compiles while it runs: the first contender would otherwise meet a slower API than the last. */
async function warmUp(url: string, token: string): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const answer = await fetch(`${url}/api/v2.1/calendar/ipos?token=${token}&pagesize=1000`);
    await answer.arrayBuffer();
  }
  await get(`${url}/reset`);
}

async function get<Value>(url: string): Promise<Value> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return (await answer.json()) as Value;
}

/** A JRE runs programs and compiles none. */
function withoutCompiler(error: Error): Error | null {
  if (!/jdk\.compiler|com\.sun\.tools\.javac/.test(error.message)) return null;
  const what = 'The Java of this machine is a JRE, which cannot start a program from its source.';
  return new Error(`${what}\n  Install a JDK, 17 or later, or set JAVA_HOME to one.`, { cause: error });
}
