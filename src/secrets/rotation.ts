import { statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../logging/logger';
import { type Command, type Read, runCommand } from './secret-command';
import { type TokenDoubt, TokenDoubts } from './token-doubt';

/** A value that may change while the program runs. */
export interface Live<T> {
  /** The value to use now. */
  readonly value: T;
}

/** A token or a password that can be read again. It is empty until it can be read for the first time. */
export interface Secret extends Live<string> {
  /** The setting that names its source: `feeds.orders.auth.tokenFile`. */
  readonly name: string;
  /** The file or the command. */
  readonly source: string;
  /** Why the last try to read it again failed. */
  readonly problem: string | null;
  /**
   * Reads it again because a server refused it.
   * @param doubt the server may have refused something else. Then it is read again seldom, and used until there is another one.
   * @returns whether the value is another one now, or will be when it is needed
   */
  isReplaced(refused: string, doubt?: TokenDoubt): Promise<boolean>;
}

interface Source {
  /** The name of the setting: `apiTokenFile`. */
  readonly name: string;
  /** Earlier values and the current one. They stay hidden. */
  readonly recent: string[];
  look(now: boolean): unknown;
}

/** Files are looked at no more often than this, in ms. */
const LOOK_MS = 1_000;
/** A command whose value is still refused is run no more often than this, in ms. */
const RUN_MS = 60_000;
/** The same while there is no value yet. */
const FIRST_RUN_MS = 10_000;
const TELL_AFTER_MS = 10_000;
const RECENT_VALUES = 10;

/** All secrets and certificates of one configuration, and how they are read again. */
export class Rotation {
  /** All secrets, including earlier values. A redactor follows the list as it changes. */
  readonly known: string[] = [];
  /** How often a value was replaced. */
  changes = 0;
  /** Called with the names of the sources that were read again. */
  logger: Logger | null = null;
  private readonly fixed: string[] = [];
  private readonly sources: Source[] = [];

  /** Hides values that do not come from a source, or were the first of one. */
  hide(secrets: readonly string[]): void {
    this.fixed.push(...secrets.filter((secret) => secret !== ''));
    this.refresh();
  }

  /** Whether a setting of such a name comes from a file or a command. */
  reads(names: RegExp): boolean {
    return this.sources.some(({ name }) => names.test(name));
  }

  /** @returns hides one more token of a server. The last ones stay hidden; unlike other new values, they wake no parked feed. */
  granted(name: string): (token: string) => void {
    const recent: string[] = [];
    this.sources.push({ name, recent, look: () => undefined });
    return (token) => this.keep(recent, [token]);
  }

  /**
   * Looks at every source.
   * @param now also at a source that was looked at a moment ago: somebody says that it is repaired
   * @returns `changes`
   */
  async look(now = false): Promise<number> {
    for (const source of this.sources) await source.look(now);
    return this.changes;
  }

  /**
   * A value made of files. If the files change, but hold nothing usable, the value stays and they are looked at again.
   * @param name for people: `apiTokenFile`
   * @param first the value that `read` gave at the start
   * @param secretsIn what nobody may see of a value; by default nothing is hidden
   */
  files<T>(
    name: string,
    paths: readonly string[],
    first: T,
    read: () => Read<T>,
    secretsIn: (value: T) => readonly string[] = () => [],
  ): Live<T> & Pick<Secret, 'problem'> & { look(now?: boolean): void } {
    const recent: string[] = [];
    let [current, seen, lookedAt] = [first, '', performance.now()];
    const trouble = this.troubleOf(name);
    const look = (now = false): void => {
      lookedAt = performance.now();
      const stamp = paths.map(stampOf).join();
      if (!now && stamp === seen) return;
      const found = read();
      if ('problem' in found) {
        trouble.met(found.problem);
        return;
      }
      trouble.over();
      seen = stamp;
      if (isDeepStrictEqual(found.value, current)) return;
      this.replaced(name, recent, secretsIn(found.value));
      current = found.value;
    };
    this.sources.push({ name, recent, look });
    return {
      get value() {
        if (performance.now() - lookedAt >= LOOK_MS) look();
        return current;
      },
      get problem() {
        return trouble.problem;
      },
      look,
    };
  }

  /** A secret that one file holds. @param path absolute */
  file(
    name: string,
    path: string,
    first: string,
    read: () => Read<string>,
    secretsIn: (value: string) => readonly string[] = (value) => [value],
  ): Secret {
    const live = this.files(name, [path], first, read, secretsIn);
    const isReplaced = async (refused: string) => {
      live.look(true);
      return live.value !== refused;
    };
    return Object.assign(live, { name, source: `file ${path}`, isReplaced });
  }

  /** A secret that a command prints. The command is run again only when the secret is refused. */
  command(name: string, command: Command, first: string, read: (printed: string) => Read<string>): Secret {
    const recent: string[] = [];
    let [current, ranAt] = [first, Number.NEGATIVE_INFINITY];
    const gotAt = performance.now();
    const doubts = new TokenDoubts();
    let refused: string | null = null;
    const trouble = this.troubleOf(name, () => current !== '');
    let running: Promise<void> | null = null;
    const run = async (): Promise<void> => {
      ranAt = performance.now();
      const printed = await runCommand(command, this.known);
      const found = 'problem' in printed ? printed : read(printed.value);
      if ('problem' in found) {
        trouble.met(found.problem);
        return;
      }
      trouble.over();
      if (found.value === current) return;
      this.replaced(name, recent, [found.value]);
      current = found.value;
    };
    const runOnce = async (isDue: () => boolean): Promise<boolean> => {
      if (running === null && !isDue()) return false;
      running ??= run().finally(() => {
        running = null;
      });
      await running;
      return true;
    };
    const look = async (now = false): Promise<void> => {
      const pauseMs = current === '' ? FIRST_RUN_MS : RUN_MS;
      // One that runs already may have begun before the repair.
      if (now) await running;
      if (current === refused) await runOnce(() => now || performance.now() - ranAt >= pauseMs);
    };
    this.sources.push({ name, recent, look });
    return {
      ...{ name, source: `command ${JSON.stringify(command)}` },
      get value() {
        return current;
      },
      get problem() {
        return trouble.problem;
      },
      async isReplaced(value, doubt) {
        if (doubt === undefined) {
          refused = value;
          await look();
        } else if (current === value && (await runOnce(() => doubts.isDue(doubt, Math.max(gotAt, ranAt))))) {
          doubt.isVain = trouble.problem === null;
        }
        return current !== value;
      },
    };
  }

  /**
   * The error that keeps a source from being read again. Somebody may be writing its files one after the other, so it is told late.
   */
  private troubleOf(name: string, hasValue = () => true) {
    let since: number | null = null;
    let isTold = false;
    const trouble = {
      problem: null as string | null,
      met: (problem: string): void => {
        trouble.problem = problem;
        since ??= performance.now();
        // A feed that waits for its first value says so itself.
        if (isTold || !hasValue() || performance.now() - since < TELL_AFTER_MS) return;
        isTold = true;
        this.logger?.warn(`${name} cannot be read again: ${problem}.`, {
          now: 'The value of before is used.',
          remedy: 'Correct it. It is tried again by itself.',
        });
      },
      over(): void {
        trouble.problem = since = null;
        isTold = false;
      },
    };
    return trouble;
  }

  /** Hides the new values before they are used. */
  private replaced(name: string, recent: string[], values: readonly string[]): void {
    this.keep(recent, values);
    this.changes++;
    this.logger?.info(`${name} has a new value, which is used from now on.`);
  }

  private keep(recent: string[], values: readonly string[]): void {
    recent.push(...values);
    recent.splice(0, recent.length - RECENT_VALUES);
    this.refresh();
  }

  private refresh(): void {
    const all = [...this.fixed, ...this.sources.flatMap(({ recent }) => recent)];
    this.known.splice(0, this.known.length, ...new Set(all));
  }
}

/** Changes when the file is written or replaced, also by another target of a symbolic link. */
function stampOf(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return 'none';
  }
}
