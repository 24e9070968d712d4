import {
  type CommitLog,
  type FeedSession,
  type FeedTopics,
  type LogRecord,
  type ProducerRecord,
  positionHeaders,
  type TopicEnd,
  type TransactionBatch,
} from '../../src/log/commit-log';
import { DEADLINE_MS } from './until';

export function record(
  topic: string,
  key: string,
  value: string | Buffer | null,
  rest: Partial<ProducerRecord> = {},
): ProducerRecord {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return { topic, key, value: bytes, headers: {}, timestamp: 1_760_000_000_000, ...rest };
}

/** Records that were not gathered. */
export interface PlainBatch extends TransactionBatch {
  readonly records: readonly ProducerRecord[];
}

/** A page's batch as the pipeline makes it: the source offset comes last. */
export function batch(
  session: Pick<FeedSession, 'ownerEpoch'>,
  topics: FeedTopics,
  records: readonly ProducerRecord[],
  commit = 1,
): PlainBatch {
  const { feed, sourceOffset } = topics;
  const position = { incarnation: 'i1', ownerEpoch: session.ownerEpoch, commit };
  // Larger than a fence, so that a log can be told to refuse the one and take the other.
  const headers = { ...positionHeaders(position), padding: 'x'.repeat(500) };
  const offset = record(sourceOffset.name, feed, `commit ${commit}`, { headers });
  return { feed, records: [...records, offset], position };
}

/** The same batch, its records given to the session one by one. */
export function gathered(session: Pick<FeedSession, 'gather'>, page: PlainBatch): TransactionBatch {
  const records = session.gather();
  const middle = page.records.length / 2;
  for (const some of [page.records.slice(0, middle), page.records.slice(middle)])
    records.add(inOneMemory(some));
  return { ...page, records };
}

/** As the pipeline gives them: the value of each is written over that of the one before. */
export function* inOneMemory(records: readonly ProducerRecord[]): Generator<ProducerRecord> {
  const memory = Buffer.alloc(Math.max(0, ...records.map(({ value }) => value?.length ?? 0)));
  for (const record of records) {
    memory.fill(0xff);
    record.value?.copy(memory);
    yield { ...record, value: record.value && memory.subarray(0, record.value.length) };
  }
  memory.fill(0xff);
}

export function plain({ topic, key, value, headers, timestamp }: LogRecord): ProducerRecord {
  return { topic, key, value, headers, timestamp };
}

/** Order is promised per key only. */
export function byKey(records: readonly ProducerRecord[]): Record<string, ProducerRecord[]> {
  const groups = groupBy(records, ({ topic, key }) => `${topic} ${key}`);
  return Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, i) => i === 0 || number > numbers[i - 1]!);
}

export function deadline(): AbortSignal {
  return AbortSignal.timeout(DEADLINE_MS);
}

export function anyOf(...signals: AbortSignal[]): AbortSignal {
  return AbortSignal.any(signals);
}

/** Lets the readers of this process have their turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

export function readAll(
  log: Pick<CommitLog, 'read'>,
  topics: readonly string[],
  signal = deadline(),
): Promise<LogRecord[]> {
  return collect(log.read(topics, { fromBeginning: true, follow: false, signal }));
}

/** Key → value as text. */
export async function restored(
  session: FeedSession,
  topic: string,
  kept?: { readonly end: TopicEnd; readonly images: Readonly<Record<string, string>> },
): Promise<Record<string, string>> {
  const latest = new Map(Object.entries(kept?.images ?? {}));
  for await (const { key, value } of session.restore(topic, deadline(), kept?.end)) {
    if (value === null) latest.delete(key);
    else latest.set(key, value.toString());
  }
  return Object.fromEntries(latest);
}
