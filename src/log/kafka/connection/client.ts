import { Kafka, logLevel, type Mechanism, type SASLOptions } from 'kafkajs';
import type { Logger } from '../../../logging/logger';
import type { TlsTexts } from '../../../net/certificate-failures';
import { bootstrap } from './bootstrap';
import { clientRetry } from './cluster';
import type { CodecName } from './compression';
import { tolerateLeaderless } from './guards/cluster-questions';
import { adaptBrokers, failUnanswered, keepReasons } from './guards/each-broker';
import { endingSilent } from './guards/silent-connections';
import { guardedListeners, socketFactory } from './guards/sockets';
import { queueWatch } from './guards/throttling';
import { wholeAnswers } from './guards/whole-answers';
import { type TokenLogin, tokenMechanism } from './token-login';

/** Where and how to reach the brokers. */
export interface KafkaConfig {
  /** `host:port` */
  readonly brokers: readonly string[];
  /** Null: connections are not encrypted. Read for each connection, since files may change. */
  readonly ssl: TlsTexts | null;
  readonly sasl: PasswordLogin | TokenLogin | null;
  readonly compression: CodecName;
  /** Copies of new topics. Null: the brokers decide. */
  readonly replicas?: number | null;
  /** An instance loses its feeds after this time without a sign of life. Default: 10 s. */
  readonly sessionTimeoutMs?: number;
}

export interface PasswordLogin {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  /** Read for each login, since its file may change. */
  readonly password: string;
}

/** When kafkajs gives up a broker that accepts a connection and does not answer, in ms. */
const requestTimeout = 10_000;
const connectionTimeout = 5_000;

/** Shorter than the timeouts of kafkajs, which would keep the connection. */
const patience = { firstMs: connectionTimeout - 1_000, otherMs: requestTimeout - 2_000 };

/**
 * The connection settings of every producer, reader and admin client.
 * @param logger gets what kafkajs logs, as `debug`: failures that matter are also thrown, and reported once
 * @param onThrottled is told for how long, in ms, a quota of the brokers holds this client back
 */
export function kafkaClient(
  config: KafkaConfig,
  clientId: string,
  logger: Logger,
  onThrottled: (ms: number) => void = () => undefined,
): Kafka {
  const { sasl } = config;
  const addresses = bootstrap(config.brokers);
  const kafka = new Kafka({
    clientId,
    brokers: addresses.next,
    ssl: config.ssl !== null,
    socketFactory: addresses.watched(
      endingSilent(wholeAnswers(guardedListeners(socketFactory(() => config.ssl))), patience),
    ),
    ...(sasl === null ? {} : { sasl: loginOf(sasl) }),
    connectionTimeout,
    authenticationTimeout: 10_000,
    requestTimeout,
    retry: clientRetry,
    logLevel: logLevel.INFO,
    logCreator:
      () =>
      ({ namespace, log: { message, timestamp: _, logger: _name, ...facts } }) =>
        logger.debug(`kafkajs: ${message}`, { namespace, ...facts }),
  });
  const watchQueues = queueWatch(logger, onThrottled);
  return adaptBrokers(kafka, (broker, cluster) => {
    tolerateLeaderless(broker, cluster);
    keepReasons(broker);
    failUnanswered(broker);
    watchQueues(broker);
  });
}

/** kafkajs reads the password at each login, and adds members of its own to the object. */
function loginOf(sasl: PasswordLogin | TokenLogin): SASLOptions | Mechanism {
  if (sasl.mechanism === 'oauthbearer') return tokenMechanism(sasl);
  const { mechanism, username } = sasl;
  return {
    mechanism,
    username,
    get password() {
      return sasl.password;
    },
  } as SASLOptions;
}
