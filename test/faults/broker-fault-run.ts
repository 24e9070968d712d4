import path from 'node:path';
import { feedNames } from '../../src/simulator/endpoints';
import { createRandom } from '../../src/simulator/random';
import { judge } from '../support/judge/judge';
import type { Verdict } from '../support/judge/verdict';
import { partitionLeaders } from '../support/partition-leaders';
import type { ProxiedBrokers } from '../support/proxied-brokers';
import { until } from '../support/until';
import { type BrokerFault, strikeBrokers } from './broker-faults';
import { type CliProcess, cliStarter } from './cli-process';
import { watchCommits } from './commit-watch';
import { publisherEnv, settle } from './crash-run';
import type { KafkaPublisherLog } from './kafka-publisher-log';
import { type MarketSize, startRestlessMarket } from './restless-market';

export interface BrokerFaultRunOptions {
  readonly seed: number;
  readonly size: MarketSize;
  readonly brokers: ProxiedBrokers;
  readonly registryUrl: string;
  readonly prefix: string;
  /** Empty, on these brokers. */
  readonly log: KafkaPublisherLog;
  /** Belongs to the test; the publishers run there. */
  readonly folder: string;
  /** One after the other. */
  readonly faults: readonly BrokerFault[];
  /** No further one after this time. */
  readonly untilMs?: number;
  readonly onFault?: (report: FaultReport) => void;
}

export interface FaultReport {
  readonly fault: BrokerFault;
  /** From the blow, or the return of brokers without which nothing can be published, until every feed had committed again, ms. */
  readonly recoveredMs: number;
  /** The longest that any feed went from one commit to the next since just before the fault, ms. */
  readonly pauseMs: number;
}

export interface BrokerFaultRun {
  readonly reports: readonly FaultReport[];
  readonly verdict: Verdict;
  /** Exit codes of both publishers, ended by SIGTERM. */
  readonly exitCodes: readonly (number | null)[];
}

/** The program's default name. */
const appId = 'highwater';
const RECOVERY_MS = 90_000;
const START_MS = 90_000;

/**
 * Two real publishers share the feeds of a market that moves all the time, on three brokers to which faults happen. One of
 * them is behind the proxies; the other one meets the brokers directly, where one that is dead refuses connections.
 * @throws Error when a publisher ends, or some feed does not come back by itself
 */
export async function runBrokerFaults(options: BrokerFaultRunOptions): Promise<BrokerFaultRun> {
  const { seed, brokers, registryUrl, prefix, log, folder } = options;
  const random = createRandom(seed);
  const leaders = partitionLeaders(brokers.direct);
  const cli = await cliStarter();
  const market = await startRestlessMarket(seed, options.size);
  const commits = await watchCommits({ brokers: brokers.direct, registryUrl, prefix });
  try {
    const publishers = [brokers.proxied, brokers.direct].map((addresses, i): CliProcess => {
      const home = path.join(folder, `publisher-${i}`);
      const env = { ...publisherEnv(market, log, home), KAFKA_BROKERS: addresses };
      return cli.start(['run'], { env, cwd: home });
    });
    const met = async (what: string, condition: () => boolean | Promise<boolean>, deadlineMs: number) => {
      const isMet = async (): Promise<boolean> => {
        const ended = publishers.find((one) => one.hasExited());
        if (ended !== undefined) throw new Error(`a publisher has ended: ${ended.output().slice(-4_000)}`);
        return condition();
      };
      await until(isMet, deadlineMs).catch((cause: unknown) => {
        const last = feedNames.map(
          (feed) => `${feed} ${Date.now() - (commits.times(feed).at(-1) ?? 0)} ms ago`,
        );
        const said = publishers.map((one) => one.output().slice(-4_000)).join('\n---\n');
        const looked = commits.failure() ?? 'the last look did not fail';
        throw new Error(`${what}; last commits: ${last.join(', ')}; ${looked}: ${said}`, { cause });
      });
    };
    const bothOwn = async (): Promise<boolean> => {
      const owners = [...(await commits.owners()).values()];
      const own = publishers.map(({ pid }) => owners.filter((owner) => owner.endsWith(`:${pid}`)).length);
      return owners.length === feedNames.length && own.every((count) => count > 0);
    };

    await met('the feeds do not spread over both', bothOwn, START_MS);
    await leaders.inSync();
    const reports: FaultReport[] = [];
    const began = Date.now();
    for (const fault of options.faults) {
      if (Date.now() - began >= (options.untilMs ?? Number.POSITIVE_INFINITY)) break;
      const before = new Map(feedNames.map((feed) => [feed, commits.times(feed).at(-1) ?? 0]));
      await strikeBrokers(
        fault,
        { brokers, leaders, appId, prefix, random },
        {
          async recovered() {
            const from = Date.now();
            // The second page was read when the first one was committed.
            const second = () =>
              feedNames.map((feed) => commits.times(feed).filter((time) => time > from)[1] ?? null);
            await met(
              `${fault}: not every feed came back`,
              () => second().every((time) => time !== null),
              RECOVERY_MS,
            );
            const backAt = second().map((time) => time!);
            const pauses = feedNames.map((feed, i) =>
              longestPause(
                commits.times(feed).filter((time) => time >= before.get(feed)! && time <= backAt[i]!),
              ),
            );
            const report = {
              fault,
              recoveredMs: Math.max(...backAt) - from,
              pauseMs: Math.max(...pauses),
            };
            reports.push(report);
            options.onFault?.(report);
          },
        },
      );
    }

    await settle(publishers[0]!, market, log);
    await met('at the end some feed is not owned, or one publisher is idle', bothOwn, START_MS);
    for (const one of publishers) one.signal('SIGTERM');
    const exitCodes = await Promise.all(publishers.map(({ exited }) => exited));
    const truth = market.truth();
    const verdict = await log.read((seen) => judge(seen, truth));
    return { reports, verdict, exitCodes };
  } finally {
    await cli.killAll();
    await commits.stop();
    await market.stop();
  }
}

function longestPause(times: readonly number[]): number {
  return times.slice(1).reduce((longest, time, i) => Math.max(longest, time - times[i]!), 0);
}
