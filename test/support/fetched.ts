import type { Broker } from '../../src/log/kafka/connection/cluster';
import type { FetchAnswer, FetchedPartition, FetchRequest } from '../../src/log/kafka/protocol/fetch';
import type { RecordBatch } from '../../src/log/kafka/protocol/record-batch';
import { RecordsEncoder } from '../../src/log/kafka/protocol/record-format';

/** A batch of records without values at successive offsets, as brokers hand it over. */
export function fetchedBatch(
  baseOffset: number,
  { keys = [`key ${baseOffset}`], ...changes }: Partial<RecordBatch> & { readonly keys?: string[] } = {},
): RecordBatch {
  const encoder = new RecordsEncoder(Number.POSITIVE_INFINITY);
  for (const key of keys) encoder.add({ topic: '', key, value: null, headers: {}, timestamp: 0 });
  const { bytes, count } = encoder.finish();
  return {
    baseOffset: BigInt(baseOffset),
    lastOffset: BigInt(baseOffset + count - 1),
    producerId: -1n,
    inTransaction: false,
    isControl: false,
    firstTimestamp: 0,
    appendedMs: null,
    count,
    bytes,
    ...changes,
  };
}

export function fetchedPartition(
  batches: readonly RecordBatch[],
  changes: Partial<FetchedPartition> = {},
): FetchedPartition {
  return {
    partition: 0,
    errorCode: 0,
    highWatermark: 1_000n,
    lastStableOffset: 1_000n,
    abortedTransactions: [],
    batches,
    recordBytes: 0,
    ...changes,
  };
}

/** A broker that answers Fetch requests, and no others. */
export function fetchingBroker(answer: (request: FetchRequest) => Promise<FetchAnswer>): Broker {
  return {
    lookupRequest: () => (request: FetchRequest) => ({ request, response: {} }),
    connectionPool: { send: ({ request }: { readonly request: FetchRequest }) => answer(request) },
  } as unknown as Broker;
}
