import type { Kafka } from 'kafkajs';
import type { ProducerRecord } from '../../src/log/commit-log';
import {
  type Broker,
  type Cluster,
  type ProducerIdentity,
  readingCluster,
} from '../../src/log/kafka/connection/cluster';
import { partitionOf } from '../../src/log/partitioner';
import { until } from './until';

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/**
 * A producer that can leave out what a producer must not: it writes transactional records to partitions of which its coordinator
 * knows nothing, and which so get no marker. The broker has to allow it (`transaction.partition.verification.enable=false`). The
 * result equals that of a broker that skips the marker of a partition.
 */
export interface RawProducer {
  /** @param isMarked whether the partition gets the marker of the transaction */
  write(records: readonly ProducerRecord[], isMarked: (place: Place) => boolean): Promise<void>;
  /** Resolves when it is decided; the markers are written after that. */
  end(how: 'commit' | 'abort'): Promise<void>;
  /** The broker that coordinates these transactions. */
  coordinatorId(): Promise<number>;
  close(): Promise<void>;
}

type ProducingBroker = Broker & {
  readonly nodeId: number | string;
  produce(request: ProducerIdentity & { readonly topicData: readonly unknown[] }): Promise<unknown>;
};

/** @param partitions of each topic */
export async function rawProducer(
  kafka: Kafka,
  transactionalId: string,
  partitions: ReadonlyMap<string, number>,
): Promise<RawProducer> {
  const cluster: Cluster = readingCluster(kafka);
  await cluster.connect();
  await cluster.addMultipleTargetTopics([...partitions.keys()]);
  const coordinator = () => cluster.findGroupCoordinator({ groupId: transactionalId, coordinatorType: 1 });
  let identity: ProducerIdentity | null = null;
  const sequences = new Map<string, number>();

  /** Answered when nothing of the id is under way. */
  async function takeIdentity(): Promise<ProducerIdentity> {
    let given: Omit<ProducerIdentity, 'transactionalId'> | null = null;
    await until(async () => {
      const asked = (await coordinator()).initProducerId({ transactionalId, transactionTimeout: 60_000 });
      given = await asked.catch(unlessConcurrent);
      return given !== null;
    });
    sequences.clear();
    return { ...given!, transactionalId };
  }

  return {
    async write(records, isMarked) {
      identity ??= await takeIdentity();
      const places = new Map<string, Place & { records: ProducerRecord[] }>();
      for (const record of records) {
        const partition = partitionOf(record.key, partitions.get(record.topic)!);
        const name = `${record.topic}/${partition}`;
        const place = places.get(name) ?? { topic: record.topic, partition, records: [] };
        places.set(name, place);
        place.records.push(record);
      }
      for (const [name, { topic, partition, records: own }] of places) {
        if (isMarked({ topic, partition })) {
          const topics = [{ topic, partitions: [partition] }];
          const add = async () => (await coordinator()).addPartitionsToTxn({ ...identity!, topics });
          await until(async () => (await add().catch(unlessConcurrent)) !== null);
        }
        const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
        const broker = (await cluster.findBroker({ nodeId: nodeId! })) as ProducingBroker;
        const firstSequence = sequences.get(name) ?? 0;
        const messages = own.map(({ key, value, headers, timestamp }) => ({
          key,
          value,
          headers,
          timestamp,
        }));
        await broker.produce({
          ...identity,
          topicData: [{ topic, partitions: [{ partition, firstSequence, messages }] }],
        });
        sequences.set(name, firstSequence + own.length);
      }
    },
    async end(how) {
      await (await coordinator()).endTxn({ ...identity!, transactionResult: how === 'commit' });
      // The next one begins when the markers are written.
      identity = null;
    },
    coordinatorId: async () => Number(((await coordinator()) as ProducingBroker).nodeId),
    close: () => cluster.disconnect(),
  };
}

function unlessConcurrent(error: { readonly type?: string }): null {
  if (error.type === 'CONCURRENT_TRANSACTIONS') return null;
  throw error;
}
