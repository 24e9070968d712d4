import { setTimeout as delay } from 'node:timers/promises';
import { feedNames } from '../../src/simulator/endpoints';
import type { Random } from '../../src/simulator/random';
import type { Broker } from '../../tools/servers/kafka';
import type { Fate, ProxyPoint } from '../support/kafka-proxy';
import {
  groupPartition,
  type PartitionLeaders,
  type TopicPartition,
  transactionPartition,
} from '../support/partition-leaders';
import type { ProxiedBrokers } from '../support/proxied-brokers';

/**
 * Faults of a cluster of three brokers. `leader`, `transaction coordinator`, `group coordinator`: the broker with this role for
 * some feed is killed in the middle of a request. `black hole`: one of these hangs for longer than a transaction may be open.
 * `silence`: one hangs until the publishers have gone on without it. `two of three`, `all at once`: killed, and started again.
 * `rolling restart`: each is stopped in order and started again, one after the other.
 */
export type BrokerFault = (typeof brokerFaults)[number];

export const brokerFaults = [
  'leader',
  'transaction coordinator',
  'group coordinator',
  'black hole',
  'silence',
  'two of three',
  'all at once',
  'rolling restart',
] as const;

export interface StruckCluster {
  readonly brokers: ProxiedBrokers;
  readonly leaders: PartitionLeaders;
  /** App id of the publishers. */
  readonly appId: string;
  readonly prefix: string;
  readonly random: Random;
}

/** Told in the course of one fault. */
export interface FaultCourse {
  /** From now on it must go on by itself; resolves when it does. */
  recovered(): Promise<void>;
}

/** Longer than a transaction of the publisher may be open, in ms. */
const HANGS_MS = { from: 11_500, to: 15_000 };

/** Time for which brokers are away that are needed to publish, in ms; the time of their start comes on top. */
const AWAY_MS = { from: 500, to: 4_000 };

/** How long the moment for a blow is waited for, in ms. */
const MOMENT_MS = 3_000;

type Role = 'leader' | 'transaction coordinator' | 'group coordinator';

/** The request to a broker in this role, during which it is struck. */
const moments: Readonly<Record<Role, readonly ProxyPoint[]>> = {
  leader: [
    { api: 'Produce', where: 'request' },
    { api: 'Produce', where: 'answer' },
  ],
  'transaction coordinator': [
    { api: 'AddPartitionsToTxn', where: 'answer' },
    { api: 'EndTxn', commits: true, where: 'request' },
    { api: 'EndTxn', commits: true, where: 'answer' },
  ],
  'group coordinator': [{ api: 'Heartbeat', where: 'request' }],
};

/** Strikes, has the recovery waited for, and leaves three brokers that are in sync. */
export async function strikeBrokers(
  fault: BrokerFault,
  cluster: StruckCluster,
  course: FaultCourse,
): Promise<void> {
  const { brokers, leaders, random } = cluster;
  const all = brokers.kafka.brokers;
  const away = () => delay(random.int(AWAY_MS.from, AWAY_MS.to));
  const startAgain = (gone: readonly Broker[]) => Promise.all(gone.map((one) => one.restart()));
  switch (fault) {
    case 'leader':
    case 'transaction coordinator':
    case 'group coordinator': {
      const victim = await strikeRole(fault, (broker) => broker.kill(), cluster);
      await course.recovered();
      await victim.restart();
      break;
    }
    case 'black hole':
    case 'silence': {
      const role = random.pick(['leader', 'transaction coordinator', 'group coordinator'] as const);
      const victim = await strikeRole(role, async (broker) => broker.freeze(), cluster);
      try {
        const hanging = delay(random.int(HANGS_MS.from, HANGS_MS.to));
        if (fault === 'silence') await Promise.all([course.recovered(), hanging]);
        else await Promise.all([course.recovered(), hanging.then(() => victim.thaw())]);
      } finally {
        victim.thaw();
      }
      break;
    }
    case 'two of three': {
      const spared = random.int(0, 2);
      const gone = all.filter((_, i) => i !== spared);
      await Promise.all(gone.map((one) => one.kill()));
      await away();
      await startAgain(gone);
      await course.recovered();
      break;
    }
    case 'all at once':
      await Promise.all(all.map((one) => one.kill()));
      await away();
      await startAgain(all);
      await course.recovered();
      break;
    case 'rolling restart':
      for (const one of all) {
        await one.stop();
        await one.restart();
        await leaders.inSync();
      }
      await course.recovered();
      break;
  }
  await leaders.inSync();
}

/** Strikes the broker with the role for a feed, during a request that comes through the proxies. @returns the broker */
async function strikeRole(
  role: Role,
  blow: (broker: Broker) => Promise<void>,
  cluster: StruckCluster,
): Promise<Broker> {
  const { brokers, leaders, random } = cluster;
  const id = await leaders.leaderOf(partitionOf(role, cluster));
  const victim = brokers.kafka.brokers.find((broker) => broker.id === id)!;
  const point = { ...random.pick(moments[role]), nth: random.int(1, 4) };
  let struck: Promise<void> | null = null;
  const strike = (): Promise<void> => {
    struck ??= blow(victim);
    return struck;
  };
  const come = new AbortController();
  const watch = brokers.proxies.get(id)!.at(point, async (): Promise<Fate> => {
    await strike();
    come.abort();
    return 'pass';
  });
  await delay(MOMENT_MS, undefined, { signal: come.signal }).catch(() => undefined);
  watch.remove();
  await strike();
  return victim;
}

function partitionOf(role: Role, { appId, prefix, random }: StruckCluster): TopicPartition {
  const feed = random.pick(feedNames);
  switch (role) {
    case 'leader':
      return { topic: prefix + feed, partition: random.int(0, 2) };
    case 'transaction coordinator':
      return transactionPartition(`${appId}:${prefix}${feed}`);
    case 'group coordinator':
      return groupPartition(`${appId}:${prefix}owners`);
  }
}
