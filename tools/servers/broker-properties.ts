import path from 'node:path';
import { type Listeners, listenerProperties, securityProtocol, type User } from './listeners';

/** One node, broker and controller at once, as the others of its cluster need to know it. */
export interface Node {
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
  /** Of further listeners, by name. */
  readonly listenerPorts: Readonly<Record<string, number>>;
  /** Holds everything of the node. */
  readonly folder: string;
}

/** `admin` may do everything, `publisher` what it was given by ACLs: nothing at the start. */
export interface Users {
  readonly admin: User;
  readonly publisher: User;
}

export type Properties = Readonly<Record<string, string | number | boolean>>;

export interface BrokerSettings {
  /** Of the first listener; null: it asks for no login. */
  readonly users: Users | null;
  /** Further ones. */
  readonly listeners: Listeners;
  /** Beside and before our own. */
  readonly properties: Properties;
}

/** The server.properties of one node. */
export function brokerProperties(
  node: Node,
  nodes: readonly Node[],
  { users, listeners, properties }: BrokerSettings,
): Properties {
  const further = Object.entries(listeners);
  const addresses = [
    `CLIENT://127.0.0.1:${node.port}`,
    ...further.map(([name]) => `${name.toUpperCase()}://127.0.0.1:${node.listenerPorts[name]}`),
  ].join(',');
  const protocol = users === null ? 'PLAINTEXT' : 'SASL_PLAINTEXT';
  const replicas = nodes.length;
  return {
    'process.roles': 'broker,controller',
    'node.id': node.id,
    'controller.quorum.voters': nodes.map((one) => `${one.id}@127.0.0.1:${one.controllerPort}`).join(','),
    listeners: `${addresses},CONTROLLER://127.0.0.1:${node.controllerPort}`,
    'advertised.listeners': addresses,
    'listener.security.protocol.map': [
      `CLIENT:${protocol},CONTROLLER:${protocol}`,
      ...further.map(([name, listener]) => `${name.toUpperCase()}:${securityProtocol(listener)}`),
    ].join(','),
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': path.join(node.folder, 'logs'),
    ...(users === null ? {} : security(users)),
    ...Object.assign({}, ...further.map((one) => listenerProperties(...one, node.folder))),

    // As in production: topics are made on purpose.
    'auto.create.topics.enable': false,
    'num.partitions': 1,
    'default.replication.factor': replicas,
    'min.insync.replicas': Math.min(2, replicas),
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': Math.min(2, replicas),
    'transaction.state.log.num.partitions': replicas,

    // A broker that was killed may come back as soon as the controller has given it up.
    'broker.session.timeout.ms': 2_000,
    'broker.heartbeat.interval.ms': 300,
    'group.initial.rebalance.delay.ms': 0,
    // Whoever follows on a process that was killed waits for its session to end: 6 s at least by default.
    'group.min.session.timeout.ms': 500,
    // Tests wait for these; the defaults are 10 s, 15 s and 5 min.
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': 1_000,
    'log.cleaner.backoff.ms': 1_000,
    'log.retention.check.interval.ms': 10_000,

    // Small, for machines that run tests beside it.
    'num.network.threads': 2,
    'num.io.threads': 2,
    'log.cleaner.dedupe.buffer.size': 4 * 1_048_576,
    ...properties,
  };
}

/** SASL/PLAIN on every listener, and nothing allowed but by ACL. */
function security({ admin, publisher }: Users): Properties {
  const login = (...users: User[]) =>
    [
      'org.apache.kafka.common.security.plain.PlainLoginModule required',
      `username="${admin.username}" password="${admin.password}"`,
      ...users.map(({ username, password }) => `user_${username}="${password}"`),
    ].join(' ');
  return {
    'sasl.enabled.mechanisms': 'PLAIN',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'sasl.mechanism.controller.protocol': 'PLAIN',
    'listener.name.client.plain.sasl.jaas.config': `${login(admin, publisher)};`,
    'listener.name.controller.plain.sasl.jaas.config': `${login(admin)};`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'allow.everyone.if.no.acl.found': false,
    'super.users': `User:${admin.username}`,
  };
}

/** As a file of Java properties; values are plain ASCII. */
export function propertiesFile(properties: Properties): string {
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${String(value).replaceAll('\\', '\\\\')}\n`)
    .join('');
}
