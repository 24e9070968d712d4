import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** A server in a process of its own, which never outlives the one that started it. */
export interface ServerProcess {
  readonly pid: number;
  /** Whether it has ended, for whatever reason. */
  readonly hasEnded: boolean;
  /** The last lines that it wrote. */
  output(): string;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** SIGTERM, after a minute SIGKILL; resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGSTOP, until all of its threads have stopped: its connections stay open and nothing is answered. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
}

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** File for what it writes to stdout and stderr. */
  readonly output: string;
  /** Removed, when the parent process dies without having stopped the server. */
  readonly folder: string | null;
}

/**
 * The guard: a shell that reads the pipe which only this process holds open. At its end without a line the parent is dead,
 * however it died, and the guard kills the server, which a frozen one could not do for itself. It is in place before the
 * shell turns into the server (exec keeps the pid), so that no moment is left uncovered.
 */
const guarded = `
folder=$1; shift
{
  read -r _ <&3 || {
    kill -9 $$
    if [ -n "$folder" ]; then
      for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 $$ 2>/dev/null || break; sleep 0.1; done
      rm -rf "$folder"
    fi
  }
} >/dev/null 2>&1 </dev/null &
exec 3<&-
exec "$@"`;

const STOP_MS = 60_000;

/** Starts a server. That it runs doesn't keep this process alive. */
export function startProcess(start: ServerCommand): ServerProcess {
  const { command, args, cwd, env, output, folder } = start;
  const file = openSync(output, 'a');
  let child: ChildProcess;
  try {
    child = spawn('/bin/sh', ['-c', guarded, 'guard', folder ?? '', command, ...args], {
      cwd,
      env,
      stdio: ['ignore', file, file, 'pipe'],
      // A group of its own: Ctrl-C in a terminal is for the parent, which stops its servers in order.
      detached: true,
    });
  } finally {
    closeSync(file);
  }
  if (child.pid === undefined) throw new Error(`/bin/sh cannot be started, so ${command} was not`);
  const pid = child.pid;
  const guard = child.stdio[3] as Socket;
  guard.on('error', () => undefined);
  guard.unref();
  child.unref();
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      hasEnded = true;
      // The guard's work is done: from now on the pid may be anybody's.
      guard.end('\n', () => guard.destroy());
      resolve();
    });
  });
  const signal = (name: NodeJS.Signals): void => {
    if (!hasEnded) child.kill(name);
  };
  const end = async (name: NodeJS.Signals): Promise<void> => {
    child.ref();
    signal(name);
    // A frozen process takes no notice of SIGTERM.
    signal('SIGCONT');
    const late = setTimeout(() => signal('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
  };
  return {
    pid,
    get hasEnded() {
      return hasEnded;
    },
    output: () => readFileSync(output, 'utf8').trimEnd().split('\n').slice(-40).join('\n'),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze() {
      signal('SIGSTOP');
      for (let n = 0; n < STOP_MS && !hasStopped(pid); n++) sleep(1);
    },
    thaw: () => signal('SIGCONT'),
  };
}

/**
 * Waits until a server answers, stopping nothing.
 * @param answers resolves when it does, else throws why not
 * @throws with what the server wrote, when it ends first or at the deadline
 */
export async function ready(
  name: string,
  server: ServerProcess,
  answers: () => Promise<void>,
  withinMs: number,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    if (server.hasEnded) throw new Error(`${name} ended while it started:\n${server.output()}`);
    try {
      return await answers();
    } catch (error) {
      if (Date.now() > deadline) {
        throw new Error(`${name} does not answer within ${withinMs} ms:\n${server.output()}`, {
          cause: error,
        });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A thread that is at work stops only when it leaves the kernel, or has a processor again. Unknown without `/proc`: then true. */
function hasStopped(pid: number): boolean {
  try {
    const threads = `/proc/${pid}/task`;
    return readdirSync(threads).every((id) =>
      /\) [TtZX] [^)]*$/.test(readFileSync(`${threads}/${id}/stat`, 'utf8')),
    );
  } catch {
    return true;
  }
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
