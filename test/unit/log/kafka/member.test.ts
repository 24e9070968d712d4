import type { Kafka } from 'kafkajs';
import { joinGroup } from '../../../../src/log/kafka/group/member';
import { quietLogger } from '../../../support/source';

it('a member whose login was refused comes back as soon as the password is replaced', async () => {
  let password = 'old';
  const tried: string[] = [];
  const connections = {
    connectionPoolBuilder: { build: async () => undefined },
    async connect() {
      tried.push(password);
      throw new Error('refused');
    },
    disconnect: async () => undefined,
  };
  const kafka = {
    consumer({ partitionAssigners: [assigner] }: { partitionAssigners: ((given: object) => void)[] }) {
      assigner!({ cluster: { ...connections } });
    },
  } as unknown as Kafka;
  const refused = jest.fn(() => {
    password = 'new';
    return true;
  });
  const member = joinGroup({
    kafka,
    groupId: 'g',
    sessionTimeoutMs: 10_000,
    logger: quietLogger(),
    protocol: 'p',
    rebalanceTimeoutMs: 10_000,
    introduction: () => Buffer.alloc(0),
    divide: async () => [],
    placed: () => undefined,
    isPassing: () => false,
    confirmed: () => undefined,
    failed: refused,
    login: () => password,
  });
  // Without a timer on the way.
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  await member.leave();
  expect(tried).toEqual(['old', 'new']);
});
