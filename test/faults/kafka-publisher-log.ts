import type { Random } from '../../src/simulator/random';
import { startForeignReader } from '../support/foreign-reader/foreign-reader';
import { kafkaRecords, registrySchemas } from '../support/judge/kafka-records';
import type { Fate, KafkaProxy, ProxyPoint } from '../support/kafka-proxy';
import { type ProxiedKafka, startProxiedKafka } from '../support/proxied-kafka';
import { sharedServers, uniquePrefix } from '../support/servers';
import type { KillMoment } from './kill-moment';
import type { PublisherLog } from './publisher-log';

export interface KafkaPublisherLog extends PublisherLog {
  stop(): Promise<void>;
}

/**
 * A publisher's log for the tests of the file it is called in, on the shared registry and on a broker of its own with a proxy before
 * it, since the tests strike both.
 */
export function proxiedPublisherLog(): () => {
  readonly kafka: ProxiedKafka;
  readonly log: KafkaPublisherLog;
} {
  let kafka: ProxiedKafka;
  let log: KafkaPublisherLog;
  beforeAll(async () => {
    const { registryUrl } = await sharedServers();
    kafka = await startProxiedKafka();
    const { brokers, direct, proxy } = kafka;
    log = await kafkaPublisherLog({ brokers, direct, registryUrl, prefix: uniquePrefix(), proxy });
  });
  afterAll(async () => {
    await log?.stop();
    await kafka?.stop();
  });
  return () => ({ kafka, log });
}

export interface KafkaPlace {
  /** Addresses for the publisher. */
  readonly brokers: string;
  /** Addresses for the observer. */
  readonly direct: string;
  /** Base address of the registry's API. */
  readonly registryUrl: string;
  /** Before the names of all topics of this publisher. */
  readonly prefix: string;
  /** Between the publisher and the broker; null: there is none, and no moments of a commit. */
  readonly proxy: KafkaProxy | null;
}

type Moment = 'start' | 'begin' | 'produce' | 'end-lost' | 'end-late' | 'ended';

/**
 * The proxy's view of a moment. `start`: any request; `begin`: partitions are added to a transaction; `produce`: records are on
 * their way; `end-lost`: the request to commit never arrives; `end-late`: it arrives from one that is dead; `ended`: it was carried
 * out and nobody hears of it.
 */
const points: Readonly<Record<Moment, ProxyPoint & { readonly passes: boolean }>> = {
  start: { where: 'request', passes: true },
  begin: { api: 'AddPartitionsToTxn', where: 'request', passes: true },
  produce: { api: 'Produce', where: 'request', passes: true },
  'end-lost': { api: 'EndTxn', commits: true, where: 'request', passes: false },
  'end-late': { api: 'EndTxn', commits: true, where: 'request', passes: true },
  ended: { api: 'EndTxn', commits: true, where: 'answer', passes: false },
};

export async function kafkaPublisherLog(place: KafkaPlace): Promise<KafkaPublisherLog> {
  const { brokers, direct, registryUrl, prefix, proxy } = place;
  const reader = await startForeignReader(direct);
  const schemas = registrySchemas(registryUrl, prefix);
  return {
    env: { KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl, HIGHWATER_TOPIC_PREFIX: prefix },
    async read(use) {
      return use(await kafkaRecords(await reader.read(`${prefix}*`), { schemas, prefix }));
    },
    // Markers are written to one partition after the other.
    visibleMs: 10_000,
    drawMoment: drawKafkaMoment,
    watch(at, sim, hit) {
      if (at === 'request') {
        sim.onRequest(() => void hit());
        return () => sim.onRequest(null);
      }
      if (proxy === null) throw new Error(`no proxy to see ${at} at`);
      const { passes, ...point } = points[at as Moment];
      const fate = (): Fate => (hit() && !passes ? 'cut' : 'pass');
      const watched = proxy.at({ ...point, nth: 1, every: 1 }, fate);
      return () => watched.remove();
    },
    diedCommitting: ({ at }) => at !== 'request' && at !== 'start',
    stop: () => reader.stop(),
  };
}

function drawKafkaMoment(random: Random, early: boolean): KillMoment {
  const moments = ['request', 'start', 'begin', 'produce', 'end-lost', 'end-late', 'ended'] as const;
  const at = random.pick(moments);
  if (at === 'request')
    return { at, nth: early ? random.int(3, 12) : random.int(20, 90), delayMs: random.int(0, 20) };
  if (at === 'start') return { at, nth: random.int(1, early ? 60 : 200), delayMs: 0 };
  return { at, nth: early ? random.int(1, 10) : random.int(8, 40), delayMs: 0 };
}
