import { arena } from '../bytes/arena';
import { HighwaterError } from '../errors';
import type { Gathered, ProducerRecord, TransactionBatch } from './commit-log';

/** Records as they are: for a log that writes them so. */
export class GatheredRecords implements Gathered {
  readonly all: ProducerRecord[] = [];
  valueBytes = 0;

  add(records: Iterable<ProducerRecord>): void {
    const [count, bytes] = [this.all.length, this.valueBytes];
    try {
      for (const record of records) this.take(record);
    } catch (error) {
      this.all.length = count;
      this.valueBytes = bytes;
      throw error;
    }
  }

  private take({ topic, key, value, headers, timestamp }: ProducerRecord): void {
    const kept = value === null ? null : arena.copyOf(value);
    this.all.push({ topic, key, value: kept, headers, timestamp });
    this.valueBytes += value?.length ?? 0;
  }
}

/** @throws HighwaterError LOG_FENCED if it was made under another ownership; RangeError for one of another feed */
export function assertOwn({ feed, position }: TransactionBatch, own: string, ownerEpoch: string): void {
  if (feed !== own) throw new RangeError(`a batch of ${feed} in a session of ${own}`);
  if (position.ownerEpoch === ownerEpoch) return;
  const what = `the batch of ${feed} was made under the ownership ${position.ownerEpoch}, which has ended`;
  throw new HighwaterError('LOG_FENCED', what);
}

/** @throws TypeError for records gathered for another log */
export function recordsOf({ records }: TransactionBatch): readonly ProducerRecord[] {
  if (records instanceof GatheredRecords) return records.all;
  if ('add' in records) throw new TypeError('these records were gathered for another log');
  return records;
}
