import type { LogRecord } from '../../src/log/commit-log';
import type { AssignedPartition, ConsumerLog, GroupMember, GroupOptions } from '../../src/log/consumer-log';

/** A member of a group that commits its records, batch by batch. */
export interface TestMember {
  readonly member: GroupMember;
  /** Records that were handled and committed. */
  readonly handled: LogRecord[];
  /** `topic partition` → its present assignment. */
  readonly held: ReadonlyMap<string, AssignedPartition>;
  /** Errors of reading and committing. */
  readonly failures: unknown[];
  /** `topic partition`, sorted. */
  has(): string[];
}

export interface TestMemberOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs?: number;
  /** Before a batch is committed. */
  readonly handle?: (batch: readonly LogRecord[], partition: AssignedPartition) => Promise<void>;
}

/** Joins; where the group never committed it begins at the first record. */
export function startMember(log: ConsumerLog, options: TestMemberOptions): TestMember {
  const { groupId, topics, sessionTimeoutMs = 6_000, handle } = options;
  const handled: LogRecord[] = [];
  const held = new Map<string, AssignedPartition>();
  const failures: unknown[] = [];
  const work: GroupOptions['work'] = async (given) => {
    const name = `${given.topic} ${given.partition}`;
    held.set(name, given);
    try {
      for await (const batch of given.records(given.committed ?? given.range.first)) {
        if (batch.length === 0) throw new Error('an empty batch');
        await handle?.(batch, given);
        await given.commit(batch.at(-1)!.logOffset + 1);
        handled.push(...batch);
      }
    } catch (error) {
      failures.push(error);
    } finally {
      held.delete(name);
    }
  };
  const member = log.joinGroup({ groupId, topics, sessionTimeoutMs, work });
  return { member, handled, held, failures, has: () => [...held.keys()].sort() };
}

/** Messages of one key whose values are the numbers from one to before another, spread over the partitions. */
export const numbers = (from: number, to: number, partitions: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    key: 'k',
    value: String(from + i),
    partition: (from + i) % partitions,
  }));

/** What is `said` of such messages. */
export const saidOf = (from: number, to: number) =>
  numbers(from, to, 1)
    .map(({ key, value }) => `${key} ${value}`)
    .sort();

/** `key value` of records, sorted: order is promised per partition only. */
export function said(...members: readonly TestMember[]): string[] {
  return members
    .flatMap(({ handled }) => handled)
    .map(({ key, value }) => `${key} ${value?.toString() ?? null}`)
    .sort();
}
