import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { feedNames } from '../../src/simulator/endpoints';
import { judge } from '../support/judge/judge';
import type { Verdict } from '../support/judge/verdict';
import { publisherLog } from '../support/kafka-world';
import type { KafkaBehindProxies } from '../support/proxied-kafka';
import { DEADLINE_MS, until } from '../support/until';
import { type CliProcess, cliStarter } from './cli-process';
import { publisherEnv, settle } from './crash-run';
import type { KafkaPublisherLog } from './kafka-publisher-log';
import { type MarketSize, startRestlessMarket } from './restless-market';

/**
 * Faults of an instance that owns feeds. `kill`: SIGKILL. `stop`: SIGTERM. `freeze`: SIGSTOP until others have its feeds, then
 * SIGCONT. `cut`: nothing passes between it and the broker until then.
 */
export type Blow = 'kill' | 'stop' | 'freeze' | 'cut';

export interface Failover {
  readonly blow: Blow;
  /** Feeds that the instance had. */
  readonly feeds: readonly string[];
  /** From the blow until each of its feeds had a commit of another instance, ms. */
  readonly ms: number;
}

export interface FailoverOptions {
  readonly seed: number;
  readonly size: MarketSize;
  readonly kafka: KafkaBehindProxies;
  readonly log: KafkaPublisherLog;
  readonly registryUrl: string;
  readonly prefix: string;
  readonly folder: string;
  readonly sessionTimeoutMs: number;
  /** One after the other. */
  readonly blows: readonly Blow[];
  /** Before each of them: after more than ten seconds the instances that wait have copies of the feeds (`HIGHWATER_STANDBY`). */
  readonly restMs?: number;
  readonly onFailover?: (failover: Failover) => void;
}

export interface FailoverReport {
  readonly failovers: readonly Failover[];
  readonly verdict: Verdict;
  /** Lines of the instances without a fault, about feeds that were taken from them against the group's will. */
  readonly thefts: readonly string[];
  readonly exitCodes: readonly (number | null)[];
}

/** An instance behind a proxy of its own. */
interface Instance {
  readonly index: number;
  readonly process: CliProcess;
}

/**
 * As many real publishers as there are proxies share the feeds of a market that moves all the time, and are struck one after
 * the other; at the end the market rests, and the log is judged.
 * @throws Error when nobody takes over in time, or an instance ends by itself
 */
export async function runFailovers(options: FailoverOptions): Promise<FailoverReport> {
  const { kafka, log, sessionTimeoutMs, folder } = options;
  const cli = await cliStarter();
  const market = await startRestlessMarket(options.seed, options.size);
  const owners = await watchOwners(options);
  const instances: Instance[] = [];
  const ended: Promise<number | null>[] = [];
  const start = (index: number): void => {
    const home = path.join(folder, `instance-${index}`);
    mkdirSync(home, { recursive: true });
    const env = {
      ...publisherEnv(market, log, home),
      KAFKA_BROKERS: kafka.proxies[index]!.address,
      KAFKA_SESSION_TIMEOUT: `${sessionTimeoutMs}ms`,
      HIGHWATER_STANDBY: index === 0 ? 'no' : 'yes',
    };
    instances[index] = { index, process: cli.start(['run'], { env, cwd: home }) };
  };
  const assertRunning = (): void => {
    for (const { process, index } of instances)
      if (process.hasExited()) throw new Error(`instance ${index} has ended: ${process.output()}`);
  };
  const spread = () =>
    until(() => {
      assertRunning();
      const pids = new Set(feedNames.map((feed) => owners.pidOf(feed)));
      return !pids.has(null) && pids.size === Math.min(feedNames.length, instances.length);
    }, DEADLINE_MS).catch((cause: unknown) => {
      throw withOutput('the feeds do not spread', cause);
    });
  const withOutput = (what: string, cause: unknown): Error => {
    const said = instances.map(({ process }) => process.output().slice(-4_000)).join('\n---\n');
    const pids = feedNames.map((feed) => `${feed}: ${owners.pidOf(feed)}`).join(', ');
    return new Error(`${what} (owners ${pids}): ${said}`, { cause });
  };
  try {
    for (const index of kafka.proxies.keys()) start(index);
    const failovers: Failover[] = [];
    const thefts: string[] = [];
    for (const [number, blow] of options.blows.entries()) {
      await spread();
      await delay(options.restMs ?? 0);
      const victim = instances[number % instances.length]!;
      const { pid } = victim.process;
      const feeds = feedNames.filter((feed) => owners.pidOf(feed) === pid);
      const heard = instances.map(({ process }) => process.output().length);
      const began = performance.now();
      strike(blow, victim, kafka);
      await until(() => feeds.every((feed) => owners.pidOf(feed) !== pid), DEADLINE_MS);
      const failover = { blow, feeds, ms: performance.now() - began };
      failovers.push(failover);
      options.onFailover?.(failover);
      // Long enough for the zombie's transaction to be timed out, now and then.
      if (blow === 'freeze' || blow === 'cut') await delay(number % 3 === 0 ? 1_000 : 0);
      if (blow === 'freeze') victim.process.signal('SIGCONT');
      if (blow === 'cut') kafka.proxies[victim.index]!.thaw();
      if (blow === 'kill' || blow === 'stop') {
        const code = await victim.process.exited;
        if (blow === 'stop') ended.push(Promise.resolve(code));
        start(victim.index);
      }
      await spread();
      for (const { index, process } of instances) {
        if (index === victim.index) continue;
        const theft = process
          .output()
          .slice(heard[index])
          .match(/^.*LOG_FENCED.*$/gm);
        if (theft !== null) thefts.push(...theft);
      }
    }
    await settle(instances[0]!.process, market, log).catch((cause: unknown) => {
      throw withOutput('the feeds are not read to their end', cause);
    });
    assertRunning();
    for (const { process } of instances) process.signal('SIGTERM');
    ended.push(...instances.map(({ process }) => process.exited));
    const exitCodes = await Promise.all(ended);
    const truth = market.truth();
    const verdict = await log.read((seen) => judge(seen, truth));
    return { failovers, verdict, thefts, exitCodes };
  } finally {
    for (const proxy of kafka.proxies) proxy.thaw();
    await cli.killAll();
    await owners.stop();
    await market.stop();
  }
}

function strike(blow: Blow, { process, index }: Instance, kafka: KafkaBehindProxies): void {
  if (blow === 'cut') kafka.proxies[index]!.freeze();
  else process.signal(({ kill: 'SIGKILL', stop: 'SIGTERM', freeze: 'SIGSTOP' } as const)[blow]);
}

/** By whom each feed's last commit was, as it is read while it goes on. */
async function watchOwners({ kafka, registryUrl, prefix }: FailoverOptions): Promise<{
  pidOf(feed: string): number | null;
  stop(): Promise<void>;
}> {
  const registry = new SchemaRegistry({ host: registryUrl });
  const log = publisherLog(kafka.direct, prefix, { appId: 'onlooker' });
  const stop = new AbortController();
  const pids = new Map<string, number>();
  const topics = feedNames.map((feed) => `${prefix}${feed}.source-offset`);
  const reading = (async () => {
    for await (const { key, value } of log.read(topics, {
      fromBeginning: true,
      follow: true,
      signal: stop.signal,
    })) {
      if (value === null) continue;
      const { owner } = (await registry.decode(value)) as { owner: string };
      pids.set(key, Number(owner.slice(owner.lastIndexOf(':') + 1)));
    }
  })();
  return {
    pidOf: (feed) => pids.get(feed) ?? null,
    async stop() {
      stop.abort();
      await reading;
      await log.close();
    },
  };
}
