import type { LogRecord } from '../../src/log/commit-log';
import type { ConsumerLog } from '../../src/log/consumer-log';

/** One record of a transaction of the model. */
export interface ModelRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly value: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A log whose writer goes on while its reader asks, as slowly as a real one: the records of a transaction reach their partitions
 * one by one, then it is committed, then each partition learns of that in its own time; and of each compacted topic some superseded
 * records are gone. The events between two answers are drawn from `chance`.
 */
export interface ModelConsumerLog extends Pick<ConsumerLog, 'ends' | 'load' | 'follow'> {
  /** Everything that the writer is to do has been done, and the reader has been shown all of it. */
  isDrained(): boolean;
}

interface Stored {
  readonly record: LogRecord;
  readonly transaction: number;
}

export interface ModelOptions {
  readonly transactions: readonly (readonly ModelRecord[])[];
  readonly partitions: Readonly<Record<string, number>>;
  readonly compacted: ReadonlySet<string>;
  /** 0 to below `n`. */
  chance(n: number): number;
}

export function modelConsumerLog(options: ModelOptions): ModelConsumerLog {
  const { transactions, partitions, compacted, chance } = options;
  const places = new Map<string, Stored[]>();
  /** Transactions of which a partition does not know yet that they are committed. */
  const unknown = new Map<string, Set<number>>();
  for (const [topic, count] of Object.entries(partitions))
    for (let partition = 0; partition < count; partition++) {
      places.set(`${topic} ${partition}`, []);
      unknown.set(`${topic} ${partition}`, new Set());
    }
  const steps: (() => void)[] = transactions.flatMap((records, transaction) => [
    ...records.map((record) => () => store(record, transaction)),
    ...rotated([...new Set(records.map(({ topic, partition }) => `${topic} ${partition}`))]).map(
      (place) => () => void unknown.get(place)!.delete(transaction),
    ),
  ]);
  let followed: { readonly topic: string; readonly next: Map<number, number> } | null = null;

  function rotated(names: readonly string[]): string[] {
    const first = chance(names.length || 1);
    return [...names.slice(first), ...names.slice(0, first)];
  }

  function store({ topic, partition, key, value, headers }: ModelRecord, transaction: number): void {
    const place = places.get(`${topic} ${partition}`)!;
    const bytes = value === null ? null : Buffer.from(JSON.stringify(value));
    const logOffset = place.length;
    const record = { topic, partition, key, value: bytes, headers, logOffset, timestamp: 0 };
    place.push({ record, transaction });
    unknown.get(`${topic} ${partition}`)!.add(transaction);
  }

  function goOn(): void {
    for (let left = chance(6); left > 0; left--) steps.shift()?.();
  }

  const stableEnd = (topic: string, partition: number): number => {
    const [place, open] = [places.get(`${topic} ${partition}`)!, unknown.get(`${topic} ${partition}`)!];
    const first = place.findIndex(({ transaction }) => open.has(transaction));
    return first === -1 ? place.length : first;
  };
  const all = (topic: string) => Array.from({ length: partitions[topic]! }, (_, partition) => partition);

  return {
    isDrained: () =>
      steps.length === 0 &&
      followed !== null &&
      all(followed.topic).every(
        (p) => (followed!.next.get(p) ?? 0) === places.get(`${followed!.topic} ${p}`)!.length,
      ),
    async ends(topic, at) {
      goOn();
      const end = (partition: number) =>
        at !== 'written' ? stableEnd(topic, partition) : places.get(`${topic} ${partition}`)!.length;
      const ends = new Map(all(topic).map((partition) => [partition, end(partition)]));
      goOn();
      return { topicId: null, ends };
    },
    async *load(topic) {
      goOn();
      const ends = all(topic).map((partition) => places.get(`${topic} ${partition}`)!.length);
      for (const partition of all(topic)) {
        const place = places.get(`${topic} ${partition}`)!;
        while (stableEnd(topic, partition) < ends[partition]!) steps.shift()!();
        for (
          let next = 0;
          next < stableEnd(topic, partition) && (next < ends[partition]! || chance(2) === 0);
          next++
        ) {
          const { record } = place[next]!;
          const isSuperseded = place
            .slice(next + 1, ends[partition])
            .some((later) => later.record.key === record.key);
          if (compacted.has(topic) && isSuperseded && chance(2) === 0) continue;
          yield record;
          goOn();
        }
      }
    },
    async *follow(topic, from, signal) {
      const next = new Map(
        [...from].map(([partition, at]) => [partition, at ?? stableEnd(topic, partition)]),
      );
      followed = { topic, next };
      while (!signal.aborted) {
        goOn();
        const partition = chance(partitions[topic]!);
        const place = places.get(`${topic} ${partition}`)!;
        // A partition may lag behind the others.
        for (let left = chance(4); left > 0; left--) {
          const at = next.get(partition) ?? 0;
          if (at >= stableEnd(topic, partition)) break;
          yield place[at]!.record;
          next.set(partition, at + 1);
        }
        if (steps.length === 0) await new Promise(setImmediate);
      }
    },
  };
}
