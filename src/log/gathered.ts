import { arena } from '../arena';
import type { Gathered, ProducerRecord, TransactionBatch } from './commit-log';

/** Records as they are: for a log that writes them so. */
export class GatheredRecords implements Gathered {
  readonly all: ProducerRecord[] = [];
  valueBytes = 0;
  private failure: { readonly error: unknown } | null = null;

  add(records: Iterable<ProducerRecord>): void {
    try {
      for (const record of records) this.take(record);
    } catch (error) {
      this.failure ??= { error };
      throw error;
    }
  }

  /** @throws what `add` has failed with: what is here is not the whole */
  whole(): readonly ProducerRecord[] {
    if (this.failure !== null) throw this.failure.error;
    return this.all;
  }

  private take(record: ProducerRecord): void {
    const { value } = record;
    this.all.push(value === null ? record : { ...record, value: arena.copyOf(value) });
    this.valueBytes += value?.length ?? 0;
  }
}

/** @throws TypeError for what was gathered for another log */
export function recordsOf({ records }: TransactionBatch): readonly ProducerRecord[] {
  if (records instanceof GatheredRecords) return records.whole();
  if ('add' in records) throw new TypeError('these records were gathered for another log');
  return records;
}
