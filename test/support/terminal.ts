import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Terminal as Emulator } from '@xterm/headless';
import { build } from './build';
import { DEADLINE_MS, until } from './until';

/** The command line in a real pseudo-terminal, and the screen of a terminal of that size. */
export interface TerminalSession {
  /** The lines on the screen and above it, without empty lines at the end. */
  screen(): string;
  /** All that was written, escape sequences and all. */
  raw(): string;
  isCursorShown(): boolean;
  /** Resolves as soon as the screen fits. @throws with the screen, at the deadline or the end */
  sees(pattern: RegExp, withinMs?: number): Promise<void>;
  /** As typed: `\u0003` is Ctrl-C. */
  type(text: string): void;
  /** Closes the terminal: the command gets SIGHUP. Resolves when it has ended. */
  hangUp(): Promise<void>;
  /** Exit code, once it has ended. */
  ended(withinMs?: number): Promise<number | null>;
}

export interface TerminalOptions {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const ROWS = 30;

/** `script` of util-linux makes the pseudo-terminal; Debian and Ubuntu always have it. */
export const hasScript = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
);

/** Starts command lines in terminals for the tests of the file it is called in. After each test it ends those still running. */
export function terminals(): (args: readonly string[], options: TerminalOptions) => TerminalSession {
  const running = new Set<TerminalSession & { readonly child: ChildProcess }>();
  let dist = '';
  beforeAll(async () => {
    if (!hasScript) throw new Error('these tests need `script` of util-linux');
    dist = await build();
  });
  afterEach(async () => {
    for (const { child, hangUp } of running) {
      if (child.exitCode === null && child.signalCode === null) await hangUp();
    }
    running.clear();
  });
  return (args, options) => {
    const session = start([process.execPath, path.join(dist, 'cli', 'main.js'), ...args], options);
    running.add(session);
    return session;
  };
}

/** Of a file that may be gone by now: empty then. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function start(
  command: readonly string[],
  { columns = 100, env = {}, cwd }: TerminalOptions,
): TerminalSession & { readonly child: ChildProcess } {
  const emulator = new Emulator({ cols: columns, rows: ROWS, scrollback: 1_000, allowProposedApi: true });
  const line = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const { PATH, HOME, TMPDIR } = process.env;
  const own = Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined);
  const child = spawn('script', ['-qec', `stty cols ${columns} rows ${ROWS}; exec ${line}`, '/dev/null'], {
    cwd,
    env: { ...Object.fromEntries(own), TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let raw = '';
  let isClosed = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    raw += text;
    emulator.write(text);
  });
  const closed = once(child, 'close').then(() => {
    isClosed = true;
  });
  // It may be gone already when something is typed.
  child.stdin.on('error', () => undefined);

  function screen(): string {
    const { active } = emulator.buffer;
    const lines = Array.from({ length: active.length }, (_, i) => active.getLine(i)!.translateToString(true));
    return lines.join('\n').trimEnd();
  }
  /** The written output is on the screen. */
  const settled = () => new Promise<void>((resolve) => emulator.write('', resolve));

  return {
    child,
    screen,
    raw: () => raw,
    isCursorShown: () => raw.lastIndexOf('\u001b[?25h') >= raw.lastIndexOf('\u001b[?25l'),
    async sees(pattern, withinMs = DEADLINE_MS) {
      const deadline = Date.now() + withinMs;
      for (;;) {
        const last = isClosed;
        await settled();
        if (pattern.test(screen())) return;
        if (last || Date.now() > deadline) throw new Error(`no ${pattern} on the screen:\n${screen()}`);
        await delay(10);
      }
    },
    type: (text) => void child.stdin.write(text),
    async hangUp() {
      // The command outlives `script`, and still writes into its folder for a while.
      const commands = readText(`/proc/${child.pid}/task/${child.pid}/children`).split(' ').filter(Boolean);
      child.kill('SIGKILL');
      await closed;
      // A zombie has ended: the first process of a container may never ask for it.
      await until(() => commands.every((pid) => !/\) [^ZX] /.test(readText(`/proc/${pid}/stat`))));
    },
    async ended(withinMs = DEADLINE_MS) {
      const late = delay(withinMs, 'late', { ref: false });
      if ((await Promise.race([closed, late])) === 'late') throw new Error(`still running:\n${screen()}`);
      await settled();
      return child.exitCode;
    },
  };
}
