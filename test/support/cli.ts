import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { runProgram } from '../../src/cli/program';
import { build, root } from './build';
import { tempFolder } from './temp-folder';
import { DEADLINE_MS } from './until';

/** A command line at work, in a process of its own or in that of the tests. */
export interface CommandRun {
  stdout(): string;
  stderr(): string;
  hasEnded(): boolean;
  /** Resolves with the match as soon as the output matches. @throws with the whole output, at the deadline or the end */
  sees(pattern: RegExp, stream?: 'stdout' | 'stderr', withinMs?: number): Promise<RegExpExecArray>;
  signal(name: 'SIGINT' | 'SIGTERM'): void;
  /** Resolves when it has ended; code and signal as Node tells them. */
  ended(withinMs?: number): Promise<Ended>;
  /** Sends a signal, SIGTERM unless another one is named, and resolves as `ended`. */
  stop(name?: 'SIGINT' | 'SIGTERM'): Promise<Ended>;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface CliProcess extends CommandRun {
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
  stop(name?: NodeJS.Signals): Promise<Ended>;
  /** Resolves when its stdout, left unread, holds something. */
  printing(): Promise<void>;
  /** Nobody reads it from here on. */
  close(stream: 'stdout' | 'stderr'): void;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface CliOptions extends RunOptions {
  /** A command line that becomes the process, such as `nohup`; the command follows as its arguments. */
  readonly under?: readonly string[];
  /** Leaves its stdout unread, so that the pipe fills up. */
  readonly stalled?: boolean;
}

/** How a command ended, and its output. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** All that it printed. */
  readonly said: string;
}

export async function outcome(run: CommandRun): Promise<Outcome> {
  const { code } = await run.ended();
  const [out, err] = [run.stdout(), run.stderr()];
  return { code, out, err, said: out + err };
}

/** Values that a command printed as JSON, one a line. */
export function jsonLines<Line>(out: string): Line[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

type StartProcess = (args: readonly string[], options?: CliOptions) => CliProcess;

type Env = Readonly<Record<string, string>>;

/**
 * Command lines in the process of the tests, in a folder that is new for each test of the file it is called in.
 * @param usual the settings of each, unless it is called with others
 */
export function commandsHere(usual: () => Env = () => ({})) {
  const cli = commandLineHere();
  const folder = tempFolder();
  const here = (args: readonly string[], env = usual()) => cli(args, { cwd: folder(), env });
  return {
    folder,
    /** The path of a file or a folder in it. */
    file: (...names: readonly string[]) => path.join(folder(), ...names),
    here,
    /** To its end. */
    done: (args: readonly string[], env?: Env) => outcome(here(args, env)),
  };
}

/** The same, and `start` for those in a process of their own. */
export function commandsInFolder(usual: () => Env = () => ({})) {
  const cli = commandLine();
  const commands = commandsHere(usual);
  const start = (args: readonly string[], env = usual(), options: CliOptions = {}) =>
    cli(args, { ...options, cwd: commands.folder(), env });
  return { ...commands, start };
}

/** Starts command lines, as `processes` does. */
export function commandLine(): StartProcess {
  return processes((dist) => [path.join(dist, 'cli', 'main.js')]);
}

/**
 * Runs command lines of `src/` in the process of the tests, which is several times faster. After each test it ends commands that
 * still run. A signal has the effect of the first signal in a process of its own.
 */
export function commandLineHere(): (args: readonly string[], options?: RunOptions) => CommandRun {
  const running = new Set<CommandRun>();
  let listeners = 0;
  beforeEach(() => {
    listeners = processListeners();
  });
  afterEach(async () => {
    for (const one of running) one.signal('SIGTERM');
    await Promise.all([...running].map((one) => one.ended()));
    running.clear();
    expect(processListeners()).toBe(listeners);
  });
  return (args, options) => {
    const started = startHere(args, options);
    running.add(started);
    return started;
  };
}

function processListeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
}

/**
 * Starts TypeScript programs of the examples, named from their folder, as `processes` does: with the built package, not with src/.
 */
export function examplePrograms(): StartProcess {
  const loader = pathToFileURL(require.resolve('tsx')).href;
  const start = processes(() => ['--import', loader]);
  return ([program, ...args], options) => start([path.join(root, 'examples', program!), ...args], options);
}

/** Starts programs of Node, as `processes` does. `DIST` in their environment is the folder of the built package. */
export function nodePrograms(): StartProcess {
  let dist = '';
  const start = processes((built) => {
    dist = built;
    return [];
  });
  return (args, options) => start(args, { ...options, env: { ...options?.env, DIST: dist } });
}

/**
 * Starts Node processes for the tests of the file it is called in. After each test it kills processes that still run. They see no
 * settings but those given.
 * @param before what goes before the arguments
 */
function processes(before: (dist: string) => readonly string[]): StartProcess {
  const running = new Set<CliProcess>();
  let first: readonly string[] = [];
  beforeAll(async () => {
    first = before(await build());
  });
  afterEach(async () => {
    for (const one of running) one.signal('SIGKILL');
    await Promise.all([...running].map((one) => one.ended()));
    running.clear();
  });
  return (args, options = {}) => {
    const started = start([...first, ...args], options);
    running.add(started);
    return started;
  };
}

/** Read by Node.js or libraries themselves, from the environment of their process. */
const READ_BY_OTHERS = /^(NODE_|TMPDIR$|HOME$|PATH$)|_proxy$/i;

function startHere(args: readonly string[], { env = {}, cwd = root }: RunOptions = {}): CommandRun {
  const foreign = Object.keys(env).filter((name) => READ_BY_OTHERS.test(name));
  if (foreign.length > 0) throw new Error(`${foreign} takes a process of its own`);
  const printed = { stdout: '', stderr: '' };
  const writing = (name: keyof typeof printed) =>
    new Writable({
      decodeStrings: false,
      write(text: string | Buffer, _encoding, done) {
        printed[name] += String(text);
        done();
      },
    });
  const interrupted = new AbortController();
  const cleanUps: (() => void)[] = [];
  const closed = runProgram({
    ...{ args, cwd, env: { ...ownEnvironment(), ...env } },
    ...{ stdin: () => Readable.from([]), stdout: writing('stdout'), stderr: writing('stderr') },
    interruption: () => ({
      signal: interrupted.signal,
      code: () => 130,
      beforeExit: (cleanUp) => void cleanUps.push(cleanUp),
    }),
  }).finally(() => {
    for (const cleanUp of cleanUps) cleanUp();
  });
  const run: CommandRun = {
    ...watched(printed, closed),
    signal: () => interrupted.abort(),
    ended: async (withinMs) => ({ code: await inTime(closed, printed, withinMs), signal: null }),
    stop() {
      interrupted.abort();
      return run.ended();
    },
  };
  return run;
}

function ownEnvironment(): Record<string, string> {
  const { PATH, TMPDIR, HOME } = process.env;
  return Object.fromEntries(
    Object.entries({ PATH, TMPDIR, HOME }).filter((one): one is [string, string] => one[1] !== undefined),
  );
}

function start(
  args: readonly string[],
  { env = {}, cwd, under = [], stalled = false }: CliOptions,
): CliProcess {
  const [program, ...rest] = [...under, process.execPath, ...args];
  const child = spawn(program!, rest, {
    cwd,
    env: { ...ownEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    if (stalled && name === 'stdout') continue;
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  }
  // A pipe that nobody reads never closes.
  const closed = once(child, stalled ? 'exit' : 'close');
  const run: CliProcess = {
    pid: child.pid!,
    ...watched(printed, closed),
    async printing() {
      await once(child.stdout, 'readable');
    },
    signal: (name) => void child.kill(name),
    close: (stream) => void child[stream].destroy(),
    async ended(withinMs) {
      await inTime(closed, printed, withinMs);
      return { code: child.exitCode, signal: child.signalCode };
    },
    stop(name = 'SIGTERM') {
      child.kill(name);
      return run.ended();
    },
  };
  return run;
}

type Printed = Readonly<Record<'stdout' | 'stderr', string>>;

function watched(
  printed: Printed,
  closed: Promise<unknown>,
): Pick<CommandRun, 'stdout' | 'stderr' | 'hasEnded' | 'sees'> {
  let isClosed = false;
  const onClose = (): void => {
    isClosed = true;
  };
  void closed.then(onClose, onClose);
  return {
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    hasEnded: () => isClosed,
    async sees(pattern, stream = 'stdout', withinMs = DEADLINE_MS) {
      const deadline = Date.now() + withinMs;
      for (;;) {
        const last = isClosed;
        const match = pattern.exec(printed[stream]);
        if (match !== null) return match;
        if (last || Date.now() > deadline) throw new Error(`no ${pattern} on ${stream}\n${said(printed)}`);
        await delay(10);
      }
    },
  };
}

async function inTime<Result>(
  closed: Promise<Result>,
  printed: Printed,
  withinMs = DEADLINE_MS,
): Promise<Result> {
  const late = delay(withinMs, 'late' as const, { ref: false });
  const first = await Promise.race([closed, late]);
  if (first === 'late') throw new Error(`still running after ${withinMs} ms\n${said(printed)}`);
  return first;
}

function said({ stdout, stderr }: Printed): string {
  return `stdout:\n${stdout}\nstderr:\n${stderr}`;
}
