import { type Broker, startKafka } from '../../tools/servers/kafka';
import { freePort } from '../../tools/servers/ports';
import { type KafkaProxy, startKafkaProxy } from './kafka-proxy';

/** A broker of a test's own with proxies before it. */
export interface KafkaBehindProxies {
  /** Each has a listener of its own: who begins at one stays behind it. */
  readonly proxies: readonly KafkaProxy[];
  readonly broker: Broker;
  /** Past the proxies: for whoever looks on. */
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
  const [port, controller] = [await freePort(), await freePort()];
  const proxies: KafkaProxy[] = [];
  const stopProxies = () => Promise.all(proxies.map((proxy) => proxy.stop()));
  try {
    const listeners = [`CLIENT://127.0.0.1:${port}`];
    const advertised = [`CLIENT://127.0.0.1:${port}`];
    const protocols = ['CLIENT:PLAINTEXT', 'CONTROLLER:PLAINTEXT'];
    for (let i = 1; i <= count; i++) {
      const behind = await freePort();
      const proxy = await startKafkaProxy({ target: { host: '127.0.0.1', port: behind } });
      proxies.push(proxy);
      listeners.push(`PROXIED${i}://127.0.0.1:${behind}`);
      advertised.push(`PROXIED${i}://${proxy.address}`);
      protocols.push(`PROXIED${i}:PLAINTEXT`);
    }
    const kafka = await startKafka({
      port,
      ...(dataDir !== undefined && { dataDir }),
      properties: {
        listeners: [...listeners, `CONTROLLER://127.0.0.1:${controller}`].join(','),
        'advertised.listeners': advertised.join(','),
        'listener.security.protocol.map': protocols.join(','),
        'controller.quorum.voters': `1@127.0.0.1:${controller}`,
        ...properties,
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
