import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type FeedName, feedNames } from '../../src/simulator/endpoints';
import { createRandom } from '../../src/simulator/random';
import { judge } from '../support/judge/judge';
import { checkAtomic, checkForward, type Observation, observe } from '../support/judge/observe';
import { describeVerdict, type Verdict, type Violation } from '../support/judge/verdict';
import { until } from '../support/until';
import { type CliProcess, cliStarter } from './cli-process';
import { type KillMoment, killAt } from './kill-moment';
import type { PublisherLog } from './publisher-log';
import { type MarketSize, type RestlessMarket, startRestlessMarket } from './restless-market';

export interface CrashRunOptions {
  readonly seed: number;
  readonly kills: number;
  /** So many kills are to hit a commit: there are more kills if fewer do, up to ten times as many. */
  readonly leastTorn?: number;
  /** The first so many come soon after the start, to hit first snapshots. */
  readonly earlyKills: number;
  readonly size: MarketSize;
  /** Empty. */
  readonly log: PublisherLog;
  /** Belongs to the test; the publishers run there. */
  readonly folder: string;
  /** No further kill after this time. */
  readonly killUntilMs?: number;
  readonly onKill?: (kill: Kill) => void;
  /** Each time before a publisher is started. */
  readonly onStart?: () => void;
  /** Faults around the last publisher, which must survive them while the market still moves. */
  readonly strikes?: (publisher: CliProcess) => Promise<void>;
}

/** A publisher that is asked to stop has let go of its feeds, and kept their images, within about so long. */
const MOST_STOP_MS = 200;

/** One SIGKILL and its moment. */
export interface Kill {
  readonly number: number;
  readonly moment: KillMoment;
  /** Transactions that this life committed, over all feeds. */
  readonly commits: number;
  /** It hit the middle of a commit. */
  readonly tornCommit: boolean;
  /** Feeds whose first snapshot was under way. */
  readonly snapshots: readonly FeedName[];
  /** Feeds whose images the next publisher may go on with. */
  readonly kept: number;
}

export interface CrashReport {
  readonly kills: readonly Kill[];
  readonly restarts: number;
  readonly writes: number;
  readonly lateWritesAtEnd: number;
  /** Exit code of the last publisher, ended by SIGTERM. */
  readonly exitCode: number | null;
  readonly verdict: Verdict;
}

/** Small pages, so that a scan takes many; one feed with large ones, so that a commit takes long. */
const pageSizes: Record<FeedName, number> = { insights: 100, analysts: 60, ipos: 300 };

/** Settings of the program; the folder gets its `highwater.yaml`. */
export function publisherEnv(
  { sim }: RestlessMarket,
  log: PublisherLog,
  folder: string,
): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  const feeds = feedNames.map((feed) => `  ${feed}: { pageSize: ${pageSizes[feed]} }\n`).join('');
  writeFileSync(path.join(folder, 'highwater.yaml'), `feeds:\n${feeds}`);
  return {
    HIGHWATER_API_URL: sim.url,
    HIGHWATER_API_TOKEN: sim.token,
    HIGHWATER_POLL_INTERVAL: '50ms',
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_CONCURRENT_REQUESTS: '6',
    HIGHWATER_LOG_FORMAT: 'json',
    HIGHWATER_LOG_LEVEL: 'warn',
    ...log.env,
  };
}

/**
 * Kills and restarts the real program while the market moves, lets it come to rest, and has the log judged.
 * @throws Error when a kill leaves a log in which position, events and images do not agree, or something went back
 */
export async function runCrashes(options: CrashRunOptions): Promise<CrashReport> {
  const { log, folder, seed } = options;
  const random = createRandom(seed);
  const cli = await cliStarter();
  const market = await startRestlessMarket(seed, options.size);
  try {
    const env = publisherEnv(market, log, folder);
    const start = (): CliProcess => {
      options.onStart?.();
      return cli.start(['run'], { env, cwd: folder });
    };
    const kills: Kill[] = [];
    let before: Observation = {};
    const began = Date.now();
    const areMoreWanted = () => {
      const { length } = kills.filter(({ tornCommit }) => tornCommit);
      return length < (options.leastTorn ?? 0) && kills.length < 10 * options.kills;
    };
    while (
      (kills.length < options.kills || areMoreWanted()) &&
      Date.now() - began < (options.killUntilMs ?? Number.POSITIVE_INFINITY)
    ) {
      const drawn = log.drawMoment(random, kills.length < options.earlyKills);
      const moment = random.chance(0.3) ? { ...drawn, stopMs: random.int(0, MOST_STOP_MS) } : drawn;
      const publisher = start();
      // However slow the machine: one life gets past the first snapshots, so that the later kills hit polls.
      if (kills.length === options.earlyKills) await until(() => hasSnapshots(log));
      await killAt(moment, publisher, { sim: market.sim, log });
      const tornCommit = log.diedCommitting(moment);
      const torn = await tornFeeds(log);
      const after = await observed(log);
      const kill: Kill = {
        number: kills.length + 1,
        moment,
        commits: totalCommits(after) - totalCommits(before),
        tornCommit,
        snapshots: feedNames.filter((feed) => after[feed]?.snapshot !== 'complete'),
        kept: filesIn(folder).filter((name) => name.endsWith('.table')).length,
      };
      kills.push(kill);
      const violations = [...torn, ...checkForward(before, after)];
      if (violations.length > 0)
        throw new Error(
          `kill ${kill.number} (${JSON.stringify(moment)}): ${describeVerdict({ violations })}`,
        );
      options.onKill?.(kill);
      before = after;
    }

    const last = start();
    await options.strikes?.(last);
    const lateWritesAtEnd = await settle(last, market, log);
    last.signal('SIGTERM');
    const exitCode = await last.exited;
    const truth = market.truth();
    const verdict = await log.read((seen) => judge(seen, truth));
    return {
      kills,
      restarts: kills.length,
      writes: market.writes(),
      lateWritesAtEnd,
      exitCode,
      verdict,
    };
  } finally {
    await cli.killAll();
    await market.stop();
  }
}

const filesIn = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' });

/** Where each feed stands, as readers see it. */
export function observed(log: PublisherLog): Promise<Observation> {
  return log.read((seen) => observe(seen, feedNames));
}

/** Contradictions in the log, at a time when all commits must be visible and nobody writes. */
async function tornFeeds(log: PublisherLog): Promise<Violation[]> {
  const end = Date.now() + log.visibleMs;
  for (;;) {
    const torn = await log.read((seen) => checkAtomic(seen, feedNames));
    if (torn.length === 0 || Date.now() >= end) return torn;
    await delay(20);
  }
}

async function hasSnapshots(log: PublisherLog): Promise<boolean> {
  const seen = await observed(log);
  return feedNames.every((feed) => seen[feed]?.snapshot === 'complete');
}

export function totalCommits(observation: Observation): number {
  return Object.values(observation).reduce((sum, { commit }) => sum + commit, 0);
}

/**
 * Lets the market go on for a while under a publisher that is past its first, far-reaching poll, so that late rows have to
 * be found by the overlap alone; then stills it and waits for a whole scan of each feed that began after that.
 * @returns how many late rows came in that while
 */
export async function settle(
  publisher: CliProcess,
  market: RestlessMarket,
  log: PublisherLog,
): Promise<number> {
  await scannedAfter(Date.now(), publisher, log);
  const late = market.lateWrites();
  const wanted = late + 40;
  await until(() => market.lateWrites() >= wanted);
  const stillAt = market.calm();
  await scannedAfter(stillAt, publisher, log);
  return market.lateWrites() - late;
}

/** Waits for two ends of a scan after the moment: the second scan has begun after it, too. */
export async function scannedAfter(
  momentMs: number,
  publisher: CliProcess,
  log: PublisherLog,
): Promise<void> {
  const ends = new Map(feedNames.map((feed) => [feed, new Set<number>()]));
  const hasScanned = async (): Promise<boolean> => {
    if (publisher.hasExited()) throw new Error('the publisher has ended');
    for (const [feed, seen] of Object.entries(await observed(log))) {
      const end = seen.snapshot === 'complete' ? (seen.last_complete_scan_ms ?? 0) : 0;
      if (end > momentMs) ends.get(feed as FeedName)!.add(end);
    }
    return [...ends.values()].every(({ size }) => size >= 2);
  };
  await until(hasScanned).catch((cause: unknown) => {
    const counts = [...ends].map(([feed, { size }]) => `${feed} ${size}`);
    throw new Error(`no two complete scans of each feed, but ${counts}: ${publisher.output()}`, { cause });
  });
}
