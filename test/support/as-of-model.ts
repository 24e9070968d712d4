import fc from 'fast-check';
import { topicsOf } from '../../src/avro/published-topics';
import type { SchemaLookup, SchemaRegistry } from '../../src/avro/registry/registry';
import { tableAsOf } from '../../src/cli/export/as-of';
import { exportedType } from '../../src/cli/export/changes';
import { HighwaterError } from '../../src/errors';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, LogReader } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { type ChangeWriter, changeWriter } from './change-writer';
import { deadline, readAll } from './log-records';

/** A log with a publisher of ipos, and a reader of its own. */
export interface AsOfWorld {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  readonly reader: LogReader;
  readonly lookup: SchemaLookup;
  readonly prefix: string;
  /** For temporary files. */
  readonly folder: string;
  /** Removes the records of a partition of the changes before an offset, as retention does. */
  remove(topic: string, partition: number, before: number): Promise<void>;
}

type Step =
  | { readonly kind: 'change'; readonly id: string; readonly status: string | null; readonly later: number }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'remove'; readonly partition: number; readonly share: number };

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
const change = fc.record({
  kind: fc.constant('change' as const),
  id,
  status: fc.option(fc.constantFrom('Rumored', 'Priced', 'Closed'), { freq: 4 }),
  // The clock of a publisher may go back.
  later: fc.constantFrom(1, 1, 1, 0, 5, -3),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: change },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'snapshot' }, { kind: 'reset' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('remove' as const),
      partition: fc.nat({ max: 2 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
);
export const steps = fc.array(step, { maxLength: 40, size: 'max' });

/** A change of the present life. */
export interface Event {
  readonly seq: number;
  readonly at: number;
  readonly id: string;
  readonly op: string;
  /** Null: deleted. */
  readonly status: string | null;
}

export type Table = Readonly<Record<string, string>>;

/** The table after a change, by folding all changes up to it. */
export function folded(events: readonly Event[], upTo: number): Table {
  const table: Record<string, string> = {};
  for (const { seq, id, status } of events) {
    if (seq > upTo) continue;
    if (status === null) delete table[id];
    else table[id] = status;
  }
  return table;
}

/** What the export must say, by a list of all changes and of those that are kept. Null: that nothing is proven. */
function expected(events: readonly Event[], kept: ReadonlySet<number>, at: number): Table | null {
  const there = events.filter(({ seq }) => kept.has(seq));
  const upTo = Math.max(0, ...there.filter((one) => one.at <= at).map(({ seq }) => seq));
  const isProven = events.every(({ seq }) => seq <= upTo || kept.has(seq));
  if (upTo === 0 || !isProven) return null;
  const isAmbiguous = (id: string): boolean => {
    const ofId = there.filter((one) => one.id === id);
    const next = ofId.find(({ seq }) => seq > upTo);
    return next?.op === 'r' && !ofId.some(({ seq }) => seq <= upTo);
  };
  const isWhole = kept.size === events.length;
  if (!isWhole && events.some(({ id }) => isAmbiguous(id))) return null;
  return folded(events, upTo);
}

/** The table that the export of a moment has, and the last change in it; null if it is refused as not proven. */
export async function exported(world: AsOfWorld, at: number): Promise<{ table: Table; seq: number } | null> {
  const topics = feedTopics(ipos, world.prefix);
  const changes = topicsOf(ipos, topics).find(({ kind }) => kind === 'changes')!;
  const { rows, columns, said } = tableAsOf(at, {
    log: world.reader,
    registry: world.lookup,
    topics,
    changes: await exportedType(changes, world.lookup),
    signal: deadline(),
    folder: world.folder,
  });
  const place = (name: string) => columns.findIndex((column) => column.name === name);
  const table: Record<string, string> = {};
  try {
    for await (const { values } of rows()) {
      const key = String(values[place('id')]);
      expect(table).not.toHaveProperty(key);
      table[key] = String(values[place('deal_status')]);
    }
    return { table, seq: Number(/after change (\d+)/.exec(said())![1]) };
  } catch (error) {
    if (error instanceof HighwaterError && error.code === 'EXPORT_UNPROVEN') return null;
    throw error;
  }
}

/** Takes the steps on a log and in a list, and compares the exports of every moment. */
export async function runAgainstList(sequence: readonly Step[], world: AsOfWorld): Promise<void> {
  const writer = await changeWriter(world, world.prefix);
  const { name: topic } = feedTopics(ipos, world.prefix).changes;
  const begin = Date.now() - 86_400_000;
  let now = begin;
  let events: Event[] = [];
  for (const one of sequence) {
    if (one.kind === 'change') {
      now += one.later;
      const isKnown = writer.rows.has(one.id);
      if (one.status === null && !isKnown) continue;
      const op = one.status === null ? 'd' : isKnown ? 'u' : 'c';
      await writer.write({ id: one.id, status: one.status, at: now });
      events.push({ seq: writer.seq(), at: now, id: one.id, op, status: one.status });
    } else if (one.kind === 'snapshot') {
      const before = writer.seq();
      await writer.snapshot(now);
      for (const [i, [id, status]] of [...writer.rows].entries())
        events.push({ seq: before + i + 1, at: now, id, op: 'r', status });
    } else if (one.kind === 'reset') {
      await writer.reset();
      events = [];
    } else await removeShare(world, topic, one);
  }
  const kept = await keptOf(world, topic, writer);
  for (let at = begin - 4; at <= now + 6; at++) {
    const found = await exported(world, at);
    expect([at - begin, found?.table ?? null]).toEqual([at - begin, expected(events, kept, at)]);
  }
  await writer.close();
}

const recordsOf = (world: AsOfWorld, topic: string) => readAll(world.reader, [topic]);

/** The last record of a partition stays. */
async function removeShare(
  world: AsOfWorld,
  topic: string,
  { partition, share }: { readonly partition: number; readonly share: number },
): Promise<void> {
  const there = (await recordsOf(world, topic)).filter((record) => record.partition === partition);
  if (there.length < 2) return;
  await world.remove(topic, partition, there[Math.floor(share * (there.length - 1))]!.logOffset);
}

/** Numbers of the changes of the present life that are there. */
async function keptOf(world: AsOfWorld, topic: string, writer: ChangeWriter): Promise<ReadonlySet<number>> {
  const ids = (await recordsOf(world, topic)).map(({ headers }) => headers.ce_id!.split(':'));
  return new Set(ids.filter(([, life]) => life === writer.incarnation()).map(([, , seq]) => Number(seq)));
}
