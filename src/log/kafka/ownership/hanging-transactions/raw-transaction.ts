import type { TopicPartition } from 'kafkajs';
import { unlessAborted } from '../../../../async/wait';
import type { Broker, Cluster, ProducerIdentity } from '../../connection/cluster';
import { isRefusedProducer } from '../../connection/kafka-failure';
import { persistently } from '../../connection/persistently';
import { byTopic } from '../../producer/produce';
import { transactionTimeout } from '../../producer/producer';

/** Whose transactions, and how to reach their coordinator. */
export interface Coordinated {
  readonly cluster: Cluster;
  readonly transactionalId: string;
  readonly signal: AbortSignal;
}

/** A coordinator that moves, loads, or still ends what was before is asked for so long, in ms. */
const COORDINATOR_MS = 15_000;

/**
 * A new epoch of a transactional id, which ends what an earlier one had begun and refuses that one from now on.
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
 * Writes the marker of a commit or an abort to partitions, by a transaction without records. It ends what is open there of
 * the same producer id, of earlier epochs too.
 * @throws what refuses a producer that is not the latest, as it is; HighwaterError KAFKA_*, LOG_FAILED; the signal's reason
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
  // Asked again after a lost answer it is answered as the first time.
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
