import type { Gathered, ProducerRecord, TransactionBatch } from './commit-log';

/** Records as they are: for a log that writes them so. */
export class GatheredRecords implements Gathered {
  readonly all: ProducerRecord[] = [];

  add(records: readonly ProducerRecord[]): void {
    for (const record of records) this.all.push(record);
  }
}

/** @throws TypeError for what was gathered for another log */
export function recordsOf({ records }: TransactionBatch): readonly ProducerRecord[] {
  if (records instanceof GatheredRecords) return records.all;
  if ('add' in records) throw new TypeError('these records were gathered for another log');
  return records;
}
