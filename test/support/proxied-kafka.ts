import { type Broker, startKafka } from '../../tools/servers/kafka';
import { type KafkaProxy, startKafkaProxy } from './kafka-proxy';

/** A broker of a test's own with proxies before it. */
export interface KafkaBehindProxies {
  /** Each has a listener of its own: who begins at one stays behind it. */
  readonly proxies: readonly KafkaProxy[];
  readonly broker: Broker;
  /** Past the proxies, for observers. */
  readonly direct: string;
  stop(): Promise<void>;
}

export interface ProxiedKafka extends Omit<KafkaBehindProxies, 'proxies'> {
  readonly proxy: KafkaProxy;
  /** Through the proxy. */
  readonly brokers: string;
}

/** With one proxy. @see startKafkaBehindProxies */
export async function startProxiedKafka(
  properties: Readonly<Record<string, string | number | boolean>> = {},
  dataDir?: string,
): Promise<ProxiedKafka> {
  const { proxies, ...kafka } = await startKafkaBehindProxies(1, properties, dataDir);
  const [proxy] = proxies as [KafkaProxy];
  return { ...kafka, proxy, brokers: proxy.address };
}

/**
 * The broker has a listener for each proxy and one more. Clients are told the address of the listener that they asked, so those
 * that begin at a proxy stay behind it, and those that begin at the other one never meet any. The broker itself uses the other
 * one too: it writes the markers of transactions by requests to its own address.
 *
 * @param properties of server.properties, beside those of `startKafka`
 * @param dataDir kept at the end; a temporary folder by default, which is not
 */
export async function startKafkaBehindProxies(
  count: number,
  properties: Readonly<Record<string, string | number | boolean>> = {},
  dataDir?: string,
): Promise<KafkaBehindProxies> {
  const targets = Array.from({ length: count }, () => ({ host: '127.0.0.1', port: 0 }));
  const proxies: KafkaProxy[] = [];
  const stopProxies = () => Promise.all(proxies.map((proxy) => proxy.stop()));
  try {
    for (const target of targets) proxies.push(await startKafkaProxy({ target }));
    const kafka = await startKafka({
      ...(dataDir !== undefined && { dataDir }),
      listeners: Object.fromEntries(proxies.map((_, i) => [`proxied${i}`, {}])),
      properties({ port, listenerPorts }) {
        const advertised = proxies.map(({ address }, i) => {
          targets[i]!.port = listenerPorts[`proxied${i}`]!;
          return `PROXIED${i}://${address}`;
        });
        return {
          'advertised.listeners': [`CLIENT://127.0.0.1:${port}`, ...advertised].join(','),
          ...properties,
        };
      },
    });
    return {
      proxies,
      broker: kafka.brokers[0]!,
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
