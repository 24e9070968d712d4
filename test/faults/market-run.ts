import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type FeedName, feedNames } from '../../src/simulator/endpoints';
import { createRandom, type Random } from '../../src/simulator/random';
import { judge } from '../support/judge/judge';
import type { JudgedLog } from '../support/judge/log';
import { checkAtomic } from '../support/judge/observe';
import { describeVerdict, type Verdict } from '../support/judge/verdict';
import { DEADLINE_MS, until } from '../support/until';
import { type CliProcess, cliStarter } from './cli-process';
import { observed } from './crash-run';
import { type MarketOptions, type MarketWeeks, startMarketWeeks } from './market-weeks';
import type { PublisherLog } from './publisher-log';
import { partOfQuarter, type Sample, startSampling } from './resources';

export interface MarketRunOptions extends MarketOptions {
  /** How long the market moves and operators and kills come. */
  readonly ms: number;
  /** Look at the publisher's resources all the time, and kill nothing in the last third of each quarter: processes grow old there. */
  readonly sampled?: boolean;
  /** Settings of the publisher besides those of its log. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Empty. */
  readonly log: PublisherLog;
  /** Belongs to the test; the publishers run there. */
  readonly folder: string;
  readonly say?: (text: string) => void;
}

export interface MarketReport {
  readonly days: number;
  readonly polls: number;
  readonly requests: number;
  readonly faults: number;
  readonly writes: Readonly<Record<string, number>>;
  /** Changes of the token, and backups of the log. */
  readonly rotations: number;
  readonly backups: number;
  readonly kills: number;
  /** Kills while a publisher carried out a command. */
  readonly killsInCommands: number;
  /** Asked for, by kind; and how they ended: `done` or a code. */
  readonly commands: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Output of commands that ended in a way that kills and other commands do not explain. */
  readonly surprises: readonly string[];
  /** Exit code of the last publisher, ended by SIGTERM. */
  readonly exitCode: number | null;
  /** Empty unless they were asked for. */
  readonly samples: readonly Sample[];
  readonly verdict: Verdict;
}

const pollIntervalMs = 200;
const pageSizes: Record<FeedName, number> = { insights: 100, analysts: 60, ipos: 300 };

function publisherEnv(
  { sim, overlapSeconds }: MarketWeeks,
  { log, folder, settings }: MarketRunOptions,
): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  const every: Record<FeedName, string> = { insights: 'never', analysts: '10s', ipos: '15s' };
  const feeds = feedNames.map(
    (feed) =>
      `  ${feed}: { pageSize: ${pageSizes[feed]}, overlap: ${overlapSeconds}s, wideOverlap: 24h, ` +
      `widePollEvery: 5s, reconcileEvery: ${every[feed]} }\n`,
  );
  writeFileSync(path.join(folder, 'highwater.yaml'), `feeds:\n${feeds.join('')}`);
  writeToken(folder, sim.token);
  return {
    HIGHWATER_API_URL: sim.url,
    HIGHWATER_API_TOKEN_FILE: tokenFile(folder),
    HIGHWATER_POLL_INTERVAL: `${pollIntervalMs}ms`,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_CONCURRENT_REQUESTS: '6',
    HIGHWATER_LOG_FORMAT: 'json',
    HIGHWATER_LOG_LEVEL: 'debug',
    ...log.env,
    ...settings,
  };
}

const tokenFile = (folder: string): string => path.join(folder, 'api-token');

/** In one step: a publisher that starts at this moment would refuse an empty file. */
function writeToken(folder: string, token: string): void {
  writeFileSync(`${tokenFile(folder)}.new`, token);
  renameSync(`${tokenFile(folder)}.new`, tokenFile(folder));
}

/** How a command may end where owners are killed and others ask as well; `left`: its asker went. */
const expected = /^(done|left|COMMAND_[A-Z_]+|LOG_OWNED|LOG_FENCED|SOURCE_UNAUTHORIZED)$/;

/** Errors that a run of faults, kills and operators never explains. */
const fatal = /a fault in highwater itself|UNEXPECTED|STATE_DAMAGED|LOG_OUTCOME_UNKNOWN|SCHEMA_INCOMPATIBLE/;

/**
 * Weeks at the market under the real program, with operators' commands of all kinds and kills at any moment, also in the middle of
 * a command. Ends with a reconcile of each feed and the judge's verdict.
 * @throws Error when a publisher ends by itself, or a kill leaves a log in which position, events and images do not agree
 */
export async function runMarket(options: MarketRunOptions): Promise<MarketReport> {
  const { log, folder, seed, say = () => undefined } = options;
  const cli = await cliStarter();
  const market = await startMarketWeeks(options);
  const env = publisherEnv(market, options);
  const publisher = supervise(() => cli.start(['run'], { env, cwd: folder }), createRandom(seed + 1));
  const ofOperators = { ...env, HIGHWATER_LOG_LEVEL: 'error' };
  const operate = (args: readonly string[]) => cli.start(args, { env: ofOperators, cwd: folder });
  const operators = operatorsOf(operate, market);
  const counts = { rotations: 0, backups: 0 };
  let sampling: ReturnType<typeof startSampling> | null = null;
  try {
    await publisher.until(() => hasSnapshots(log), DEADLINE_MS);
    const begin = Date.now();
    const end = begin + options.ms;
    if (options.sampled) sampling = startSampling(publisher.process, folder, options.ms);
    const commands = [2, 3].map((n) => operators.work(createRandom(seed + n), end, publisher));
    const isSpared = () =>
      options.sampled === true && partOfQuarter((Date.now() - begin) / options.ms) > 2 / 3;
    const kills = killNowAndThen(createRandom(seed + 4), end, isSpared);
    const care = [
      rotateNowAndThen(createRandom(seed + 5), end),
      backUpNowAndThen(createRandom(seed + 6), end),
    ];
    await Promise.race([Promise.all([...commands, kills, ...care]), publisher.failed]);

    const samples = sampling?.stop() ?? [];
    const stillAt = market.calm();
    const days = market.days();
    await until(() => Date.now() > stillAt);
    for (const feed of feedNames) await operators.insist(['resume', feed]);
    await publisher.until(() => hasSnapshots(log), DEADLINE_MS);
    // However few the market has removed: one at least is for the last reconcile to prove.
    const known = await log.read(trackedIpos);
    if (!known.some((key) => market.sim.stores.ipos.remove(key)))
      throw new Error(`the API shows none of ${known.length} IPOs that the log has`);
    // Something newer than all that is gone: a row at the very end is deleted only when the API shows that it does not lag.
    for (const { keys, touch } of [market.sim.stores.insights, market.sim.stores.ipos])
      for (const key of keys().slice(0, 3)) touch(key);
    for (const feed of feedNames) await operators.insist(['reconcile', feed, '--allow-deletes', '1000000']);
    const exitCode = await publisher.stop();
    const truth = market.truth();
    const { overlapSeconds } = market;
    const circumstances = { snapshots: operators.snapshots, goneForMs: pollIntervalMs, overlapSeconds };
    const verdict = await log.read((seen) => judge(seen, truth, circumstances));
    const { requests, byFault } = market.sim.counters;
    return {
      days,
      requests,
      exitCode,
      samples,
      verdict,
      polls: publisher.polls(),
      faults: Object.values(byFault).reduce((sum, count) => sum + count, 0),
      writes: market.writes(),
      ...publisher.counts,
      ...counts,
      commands: operators.asked,
      outcomes: operators.outcomes,
      surprises: operators.surprises,
    };
  } finally {
    sampling?.stop();
    publisher.leave();
    await cli.killAll();
    await market.stop();
  }

  /** The API takes another token, and somebody writes it into the file a moment earlier or later. */
  async function rotateNowAndThen(random: Random, until: number): Promise<void> {
    while (Date.now() < until) {
      await delay(Math.min(random.int(2_000, 12_000), until - Date.now()));
      const token = `token-${++counts.rotations}`;
      const isEarly = random.chance(0.5);
      if (isEarly) writeToken(folder, token);
      await delay(random.int(0, 500));
      market.accept(token);
      await delay(random.int(0, 500));
      if (!isEarly) writeToken(folder, token);
    }
  }

  /** Only the embedded log has backups. Each is checked by the command, which ends with 0 then. */
  async function backUpNowAndThen(random: Random, until: number): Promise<void> {
    if (log.env.HIGHWATER_DATA_DIR === undefined) return;
    while (Date.now() < until) {
      await delay(Math.min(random.int(2_000, 20_000), until - Date.now()));
      const one = operate(['backup', path.join(folder, 'backup.db'), '--overwrite']);
      if ((await one.exited) !== 0) throw new Error(`a backup failed: ${one.output()}`);
      counts.backups++;
    }
  }

  async function killNowAndThen(random: Random, until: number, isSpared: () => boolean): Promise<void> {
    for (;;) {
      const pauseMs = random.int(1_000, 9_000);
      // One comes, however slow the machine.
      if (publisher.counts.kills > 0 && Date.now() + pauseMs > until) return;
      await delay(pauseMs);
      // Half of them in the middle of a command, if one comes.
      if (random.chance(0.6)) await operators.accepted(3_000);
      if (random.chance(0.5)) await delay(random.int(0, 150));
      if (isSpared()) continue;
      await publisher.kill(operators.isCarriedOut());
      operators.giveUp();
      if (log.visibleMs === 0 && publisher.counts.kills % 3 === 0) {
        const torn = await log.read((seen) => checkAtomic(seen, feedNames, true));
        if (torn.length > 0)
          throw new Error(`kill ${publisher.counts.kills}: ${describeVerdict({ violations: torn })}`);
      }
      const { kills } = publisher.counts;
      if (kills % 10 === 0) say(`${kills} kills, day ${Math.floor(market.days())}`);
    }
  }
}

async function hasSnapshots(log: PublisherLog): Promise<boolean> {
  const seen = await observed(log);
  return feedNames.every((feed) => seen[feed]?.snapshot === 'complete');
}

function trackedIpos(log: JudgedLog): string[] {
  const images = new Map(log.rows('ipos.current').map(({ key, value }) => [key, value]));
  return [...images].filter(([, image]) => image !== null).map(([key]) => key);
}

interface Supervised {
  /** Null: there is none at the moment. */
  process(): CliProcess | null;
  readonly counts: { kills: number; killsInCommands: number };
  polls(): number;
  /** Rejects when the publisher ends by itself. */
  readonly failed: Promise<never>;
  kill(inCommand: boolean): Promise<void>;
  /** @returns exit code after SIGTERM */
  stop(): Promise<number | null>;
  /** Nothing is started any more. */
  leave(): void;
  until(condition: () => Promise<boolean>, deadlineMs: number): Promise<void>;
}

/** Keeps a publisher running; after a kill there is none for a moment. */
function supervise(start: () => CliProcess, random: Random): Supervised {
  let isEnding = false;
  let isKilled = false;
  let polls = 0;
  let running: CliProcess | null = null;
  const counts = { kills: 0, killsInCommands: 0 };

  async function live(): Promise<number | null> {
    for (;;) {
      running = start();
      const one = running;
      const code = await one.exited;
      const output = one.output();
      polls += output.match(/"message":"polled"/g)?.length ?? 0;
      const bad = output.split('\n').find((line) => fatal.test(line));
      if (bad !== undefined) throw new Error(`the publisher said ${bad}`);
      if (isEnding) return code;
      running = null;
      if (isKilled) await delay(random.chance(0.3) ? random.int(500, 3_000) : random.int(0, 200));
      // A command that found no publisher has acquired the feed.
      else if (/LOG_OWNED/.test(output)) await delay(200);
      else throw new Error(`the publisher ended with ${code}: ${output.slice(-2_000)}`);
      isKilled = false;
      if (isEnding) return null;
    }
  }

  const living = live();
  const failed = living.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  const running_ = (): Promise<CliProcess> =>
    Promise.race([until(() => running !== null && !running.hasExited()).then(() => running!), failed]);
  return {
    counts,
    failed,
    process: () => running,
    polls: () => polls,
    async kill(inCommand) {
      const one = await running_();
      isKilled = true;
      one.signal('SIGKILL');
      await one.exited;
      counts.kills++;
      if (inCommand) counts.killsInCommands++;
    },
    async stop() {
      // It says something once it listens to signals; it may have been started only now, after a command that acquired a feed.
      const listens = () => running !== null && !running.hasExited() && running.output() !== '';
      await Promise.race([until(listens), failed]);
      isEnding = true;
      running!.signal('SIGTERM');
      return living;
    },
    leave() {
      isEnding = true;
      living.catch(() => undefined);
    },
    // Looks seldom: a look may read the whole log.
    until: (condition, deadlineMs) =>
      Promise.race([until(async () => isEnding || (await condition()), deadlineMs, 200), failed]),
  };
}

interface Operators {
  readonly asked: Record<string, number>;
  readonly outcomes: Record<string, number>;
  readonly snapshots: Record<string, number>;
  readonly surprises: readonly string[];
  /** One operator: asks for one thing after the other. */
  work(random: Random, untilMs: number, publisher: Supervised): Promise<void>;
  /** Asks until it is done. */
  insist(args: readonly string[]): Promise<void>;
  /** A publisher has accepted a command and not answered it yet. */
  isCarriedOut(): boolean;
  /** The publisher that accepted is dead, so nobody waits for its answer. */
  giveUp(): void;
  /** Until a command is accepted, or so many ms. */
  accepted(withinMs: number): Promise<void>;
}

const DAY_MS = 86_400_000;

function operatorsOf(start: (args: readonly string[]) => CliProcess, market: MarketWeeks): Operators {
  const asked: Record<string, number> = {};
  const outcomes: Record<string, number> = {};
  const snapshots: Record<string, number> = {};
  const surprises: string[] = [];
  const open = new Set<CliProcess>();
  const isAccepted = (one: CliProcess): boolean =>
    !one.hasExited() &&
    /"kind":"accepted"/.test(one.output()) &&
    !/"kind":"(done|failed)"/.test(one.output());

  /** @returns `done`, or the code of what went wrong */
  async function ask(args: readonly string[], patienceMs: number): Promise<string> {
    const [name, ...rest] = args;
    const kind =
      name === 'reconcile' ? [name, ...rest.filter((arg) => arg.startsWith('--'))].join(' ') : name!;
    asked[kind] = (asked[kind] ?? 0) + 1;
    if (name === 'snapshot') snapshots[rest[0]!] = (snapshots[rest[0]!] ?? 0) + 1;
    const one = start([...args, '--json', '--wait', '4s']);
    open.add(one);
    const leave = setTimeout(() => one.signal('SIGTERM'), patienceMs);
    const kill = setTimeout(() => one.signal('SIGKILL'), patienceMs + 30_000);
    await one.exited;
    for (const timer of [leave, kill]) clearTimeout(timer);
    open.delete(one);
    const output = one.output();
    const outcome = /"kind":"done"/.test(output) ? 'done' : (/^error ([A-Z_]+)/m.exec(output)?.[1] ?? 'left');
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    if (!expected.test(outcome)) surprises.push(`${args.join(' ')}: ${output.slice(-2_000)}`);
    if (fatal.test(output)) throw new Error(`${args.join(' ')}: ${output}`);
    return outcome;
  }

  return {
    asked,
    outcomes,
    snapshots,
    surprises,
    async work(random, untilMs) {
      while (Date.now() < untilMs) {
        const args = drawCommand(random, market);
        await ask(args, 15_000);
        if (args[0] === 'pause') {
          await delay(random.int(0, 1_500));
          await ask(['resume', args[1]!], 15_000);
        }
        await delay(random.int(0, 800));
      }
    },
    async insist(args) {
      for (let i = 0; i < 5; i++) if ((await ask(args, 60_000)) === 'done') return;
      throw new Error(`${args.join(' ')} is never done: ${JSON.stringify(outcomes)}`);
    },
    isCarriedOut: () => [...open].some(isAccepted),
    giveUp() {
      for (const one of open) if (isAccepted(one)) one.signal('SIGTERM');
    },
    async accepted(withinMs) {
      await until(() => [...open].some(isAccepted), withinMs).catch(() => undefined);
    },
  };
}

function drawCommand(random: Random, market: MarketWeeks): string[] {
  const feed = random.pick(feedNames);
  const date = (daysAgo: number): string =>
    new Date(market.nowMs() - daysAgo * DAY_MS).toISOString().slice(0, 10);
  const from = random.int(0, 60);
  const commands: readonly [number, string[]][] = [
    [8, ['reconcile', feed]],
    [4, ['reconcile', feed, '--dry-run']],
    [6, ['reconcile', feed, '--allow-deletes', String(random.int(0, 500))]],
    [2, ['snapshot', feed]],
    [6, ['backfill', feed, '--from', date(from), '--to', date(random.int(0, from))]],
    [4, ['pause', feed]],
    [4, ['dead-letters', 'retry', feed]],
    [3, ['reset', feed, '--yes']],
  ];
  return random.pick(commands.flatMap(([weight, command]) => Array<string[]>(weight).fill(command)));
}
