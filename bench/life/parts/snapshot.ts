import { measureOwn, type OwnUsage } from '../../measure/own-usage';
import { type PublisherSetup, publish } from '../publisher';

/** A first snapshot in a process of its own. Its only argument: the setup, and after how many records to look at the clocks. */
export interface SnapshotInput {
  readonly setup: PublisherSetup;
  readonly marks: readonly number[];
}

export interface Mark extends OwnUsage {
  readonly records: number;
}

export interface SnapshotMarks {
  readonly marks: readonly Mark[];
}

async function main({ setup, marks }: SnapshotInput): Promise<void> {
  const found: Mark[] = [];
  let records = 0;
  let usage: (() => OwnUsage) | null = null;
  await publish(
    setup,
    true,
    (event) => {
      // What a start costs is not the records'.
      if (event.kind === 'acquired') usage = measureOwn();
      if (event.kind !== 'page') return;
      records += event.report.changes.count;
      while (found.length < marks.length && records >= marks[found.length]!)
        found.push({ records, ...usage!() });
    },
    new AbortController().signal,
  );
  if (found.length < marks.length) throw new Error(`${records} records were published`);
  console.log(JSON.stringify({ marks: found }));
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
