import type { Kafka } from 'kafkajs';
import { kafkaFailure } from '../../../../src/log/kafka/connection/kafka-failure';
import { CoordinatorLink } from '../../../../src/log/kafka/group/coordinator';
import { examineGroup } from '../../../../src/log/kafka/group/examine-group';

/** A cluster whose metadata names no broker, as that of a broker that hung and is fenced. */
const kafka = {
  consumer({ partitionAssigners: [assigner] }: { partitionAssigners: ((given: object) => void)[] }) {
    const done = async () => undefined;
    const connections = { connectionPoolBuilder: {}, connect: done, disconnect: done, build: done };
    connections.connectionPoolBuilder = connections;
    assigner!({ cluster: { ...connections, refreshMetadata: done, getNodeIds: () => [] } });
  },
} as unknown as Kafka;
const unreachable = expect.objectContaining({ code: 'KAFKA_UNREACHABLE' });

it('a group is asked for again when the cluster names no broker', async () => {
  const error = await new CoordinatorLink(kafka, 'g').connect().catch((refusal: unknown) => refusal);
  expect(kafkaFailure(error, 'joining the group g')).toEqual(unreachable);
});

it('a cluster that names no broker is not one without a group', async () => {
  const target = { brokers: ['127.0.0.1:1'] } as unknown as Parameters<typeof examineGroup>[0]['target'];
  const { signal } = new AbortController();
  const examining = examineGroup({ kafka, target, groupId: 'g', sessionTimeoutMs: 1_000, signal });
  await expect(examining).rejects.toEqual(unreachable);
});
