import { type Kafka, type KafkaOptions, startKafka } from '../../tools/servers/kafka';
import { type KafkaProxy, startKafkaProxy } from './kafka-proxy';

/** Three brokers of a test's own, each with a proxy before it. */
export interface ProxiedBrokers {
  readonly kafka: Kafka;
  /** By the id of the broker behind it. */
  readonly proxies: ReadonlyMap<number, KafkaProxy>;
  /** Through the proxies: who begins there never meets a broker directly. A dead broker behind one takes connections and closes them. */
  readonly proxied: string;
  /** Past the proxies: there a dead broker refuses connections. */
  readonly direct: string;
  stop(): Promise<void>;
}

/** Replication factor 3, two in-sync replicas needed, the topics of the brokers too. */
export async function startProxiedBrokers(
  dataDir?: string,
  jars?: KafkaOptions['jars'],
): Promise<ProxiedBrokers> {
  const proxies = new Map<number, KafkaProxy>();
  const targets = new Map<number, { readonly host: string; port: number }>();
  const stopProxies = () => Promise.all([...proxies.values()].map((proxy) => proxy.stop()));
  try {
    for (const id of [1, 2, 3]) {
      const target = { host: '127.0.0.1', port: 0 };
      targets.set(id, target);
      proxies.set(id, await startKafkaProxy({ target }));
    }
    const kafka = await startKafka({
      brokers: 3,
      ...(dataDir !== undefined && { dataDir }),
      ...(jars !== undefined && { jars }),
      listeners: { proxied: {} },
      properties({ id, port, listenerPorts }) {
        targets.get(id)!.port = listenerPorts.proxied!;
        const advertised = `CLIENT://127.0.0.1:${port},PROXIED://${proxies.get(id)!.address}`;
        return { 'advertised.listeners': advertised };
      },
    });
    return {
      kafka,
      proxies,
      proxied: [...proxies.values()].map(({ address }) => address).join(','),
      direct: kafka.bootstrap,
      async stop() {
        await kafka.stop();
        await stopProxies();
      },
    };
  } catch (error) {
    await stopProxies();
    throw error;
  }
}
