import { type Broker, startKafka } from '../../tools/servers/kafka';
import { freePort } from '../../tools/servers/ports';
import { type KafkaProxy, startKafkaProxy } from './kafka-proxy';

/** A broker of a test's own with a proxy before it. */
export interface ProxiedKafka {
  readonly proxy: KafkaProxy;
  readonly broker: Broker;
  /** Through the proxy. */
  readonly brokers: string;
  /** Past the proxy: for whoever looks on. */
  readonly direct: string;
  stop(): Promise<void>;
}

/**
 * The broker has two listeners for clients. Clients are told the address of the listener that they asked, so those that
 * begin at the proxy stay behind it, and those that begin at the other one never meet it. The broker itself uses the other
 * one too: it writes the markers of transactions by requests to its own address.
 *
 * @param properties of server.properties, beside those of `startKafka`
 * @param dataDir kept at the end; a temporary folder by default, which is not
 */
export async function startProxiedKafka(
  properties: Readonly<Record<string, string | number | boolean>> = {},
  dataDir?: string,
): Promise<ProxiedKafka> {
  const [port, proxied, controller] = [await freePort(), await freePort(), await freePort()];
  const proxy = await startKafkaProxy({ target: { host: '127.0.0.1', port: proxied } });
  try {
    const kafka = await startKafka({
      port,
      ...(dataDir !== undefined && { dataDir }),
      properties: {
        listeners: `CLIENT://127.0.0.1:${port},PROXIED://127.0.0.1:${proxied},CONTROLLER://127.0.0.1:${controller}`,
        'advertised.listeners': `CLIENT://127.0.0.1:${port},PROXIED://${proxy.address}`,
        'listener.security.protocol.map': 'CLIENT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT',
        'controller.quorum.voters': `1@127.0.0.1:${controller}`,
        ...properties,
      },
    });
    return {
      proxy,
      broker: kafka.brokers[0]!,
      brokers: proxy.address,
      direct: kafka.bootstrap,
      async stop() {
        await kafka.stop();
        await proxy.stop();
      },
    };
  } catch (error) {
    await proxy.stop();
    throw error;
  }
}
