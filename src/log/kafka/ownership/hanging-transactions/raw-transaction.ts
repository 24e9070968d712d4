import type { TopicPartition } from 'kafkajs';
import { unlessAborted } from '../../../../async/wait';
import { type Broker, byTopic, type Cluster, type ProducerIdentity } from '../../connection/cluster';
import { isRefusedProducer } from '../../connection/kafka-failure';
import { persistently } from '../../connection/persistently';
import { transactionTimeout } from '../../producer/producer';

/** Whose transactions, and how to reach their coordinator. */
export interface Coordinated {
  readonly cluster: Cluster;
  readonly transactionalId: string;
  readonly signal: AbortSignal;
}

/** How long a coordinator is asked that moves, loads, or still ends an earlier transaction, in ms. */
const COORDINATOR_MS = 15_000;

/**
 * A new epoch of a transactional id. It ends the transaction of the earlier epoch, which the brokers refuse from now on.
 * @throws HighwaterError KAFKA_*, LOG_FAILED; the signal's reason
 */
export async function takeIdentity(deps: Coordinated): Promise<ProducerIdentity> {
  const { transactionalId } = deps;
  const given = await askCoordinator(deps, (coordinator) =>
    coordinator.initProducerId({ transactionalId, transactionTimeout }),
  );
  return { ...given, transactionalId };
}

/**
 * Writes the marker of a commit or an abort to partitions, by a transaction without records. It ends every open transaction of the
 * same producer id there, also of earlier epochs.
 * @throws the refusal of a producer that is not the latest, as kafkajs throws it; HighwaterError KAFKA_*, LOG_FAILED; the signal's reason
 */
export async function writeMarkers(
  deps: Coordinated,
  identity: ProducerIdentity,
  places: readonly TopicPartition[],
  transactionResult: boolean,
): Promise<void> {
  if (places.length === 0) return;
  const topics = byTopic(places, ({ partition }) => partition);
  await askCoordinator(deps, (coordinator) => coordinator.addPartitionsToTxn({ ...identity, topics }));
  // If the answer is lost, the same request gets the same answer again.
  await askCoordinator(deps, (coordinator) => coordinator.endTxn({ ...identity, transactionResult }));
}

async function askCoordinator<T>(
  { cluster, transactionalId, signal }: Coordinated,
  ask: (coordinator: Broker) => Promise<T>,
): Promise<T> {
  const persistence = {
    cluster,
    doing: `ending transactions of ${transactionalId}`,
    forMs: COORDINATOR_MS,
    signal,
  };
  const answer = await persistently(async () => {
    const found = cluster.findGroupCoordinator({ groupId: transactionalId, coordinatorType: 1 });
    const coordinator = await unlessAborted(found, signal);
    try {
      return { given: await ask(coordinator) };
    } catch (refusal) {
      // To ask again changes nothing.
      if (isRefusedProducer(refusal)) return { refusal };
      throw refusal;
    }
  }, persistence);
  if ('refusal' in answer) throw answer.refusal;
  return answer.given;
}
