import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import type { LogReader, LogRecord } from '../../src/log/commit-log';
import { connect } from '../../src/log/local/file/sqlite';
import { openLocalLog } from '../../src/log/local/local-log';
import { openLocalReader } from '../../src/log/local/local-reader';
import { type AsOfWorld, type Event, exported, folded, runAgainstList, steps } from '../support/as-of-model';
import { changeWriter } from '../support/change-writer';
import { modelMs, modelRuns } from '../support/model-runs';
import { quietLogger } from '../support/source';

/** A log in a new folder, for as long as `work` takes. */
async function withLog(work: (world: AsOfWorld) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
  const { commitLog, registry } = openLocalLog({ dataDir: folder, logger: quietLogger() });
  const reader = openLocalReader(folder);
  try {
    await work({
      ...{ commitLog, registry, reader, lookup: reader.registry, folder, prefix: '' },
      async remove(topic, partition, before) {
        const db = connect(path.join(folder, 'highwater.db'), 5_000);
        db.prepare('DELETE FROM records WHERE topic = ? AND partition = ? AND offset < ?').run([
          topic,
          partition,
          before,
        ]);
        db.close();
      },
    });
  } finally {
    await reader.close();
    await commitLog.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const runs = modelRuns<[Parameters<typeof runAgainstList>[0]]>(40, 7);

it(
  'the table as of any moment is what the changes up to it make, or it is refused where that is not proven',
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, (sequence) => withLog((world) => runAgainstList(sequence, world))),
      runs,
    );
  },
  modelMs(runs.numRuns),
);

it('a table that is exported while its records change is the table after one change', async () => {
  await withLog(async (still) => {
    const writer = await changeWriter(still, '');
    const events: Event[] = [];
    /** The clock of the publisher is behind. */
    const clock = () => Date.now() - 60_000;
    let turn = 0;
    const quiet = Array.from({ length: 100 }, (_, i) => ({ id: `quiet ${i}`, status: 'new', at: clock() }));
    await writer.write(...quiet);
    events.push(...quiet.map((one, i) => ({ ...one, op: 'c', seq: i + 1 })));
    /** Changes five records, and creates or deletes some of them. */
    async function change(): Promise<void> {
      turn += 1;
      const ids = [...[0, 3, 6, 9].map((i) => `record ${(turn * 7 + i) % 40}`), `quiet ${turn}`];
      const at = clock();
      const written = ids.map((id, i) => {
        const isGone = writer.rows.has(id) && (turn + i) % 4 === 0;
        return { id, status: isGone ? null : `status ${turn}`, at, op: '', seq: writer.seq() + i + 1 };
      });
      await writer.write(...written.map(({ id, status }) => ({ id, status, at })));
      events.push(...written);
    }
    /** After some of the records that are read, there is a change. */
    async function* interrupted(records: AsyncIterable<LogRecord>): AsyncGenerator<LogRecord> {
      let count = 0;
      for await (const record of records) {
        yield record;
        if (++count % 10 === 0 && count <= 50) await change();
      }
    }
    const reader: LogReader = {
      ...still.reader,
      read: (topics, options) => interrupted(still.reader.read(topics, options)),
    };
    for (let i = 0; i < 20; i++) await change();
    const middle = clock();
    while (clock() === middle) await new Promise(setImmediate);
    const atMiddle = writer.seq();
    await change();
    for (let i = 0; i < 6; i++) {
      // Only images tell of records that did not change since.
      if (i === 3) for (const partition of [0, 1, 2]) await still.remove('ipos', partition, 45);
      for (const isNow of [false, true]) {
        const least = writer.seq();
        const at = isNow ? Date.now() : middle;
        const found = await exported({ ...still, reader }, at);
        expect([i, found?.table]).toEqual([i, folded(events, found?.seq ?? 0)]);
        expect(found?.seq).toBe(isNow ? least : atMiddle);
        expect(writer.seq()).toBeGreaterThan(least);
      }
    }
  });
});

it('a record that a later snapshot shows again is in no earlier table unless an earlier change tells of it', async () => {
  await withLog(async (world) => {
    const writer = await changeWriter(world, '');
    const begin = Date.now() - 60_000;
    await writer.write({ id: 'a', status: 'Priced', at: begin });
    await writer.write({ id: 'b', status: 'Priced', at: begin + 1 });
    // A backfill reads it for the first time.
    await writer.write({ id: 'c', status: 'Priced', op: 'r', at: begin + 2 });
    const options = { fromBeginning: true, follow: false, signal: AbortSignal.timeout(60_000) };
    const removeCreateOf = async (id: string): Promise<void> => {
      for await (const { key, partition, logOffset, headers } of world.reader.read(['ipos'], options))
        if (key === id && headers.op === 'c') return world.remove('ipos', partition, logOffset + 1);
    };
    await writer.write({ id: 'a', status: 'Closed', at: begin + 3 });
    await removeCreateOf('a');
    const both = { a: 'Priced', b: 'Priced' };
    expect((await exported(world, begin + 1))?.table).toEqual(both);
    await writer.snapshot(begin + 4);
    expect(await exported(world, begin + 1)).toBeNull();
    expect((await exported(world, begin + 2))?.table).toEqual({ ...both, c: 'Priced' });
    expect((await exported(world, begin + 3))?.table).toEqual({ a: 'Closed', b: 'Priced', c: 'Priced' });
    await writer.write({ id: 'd', status: 'Priced', at: begin + 5 });
    await writer.snapshot(begin + 6);
    await removeCreateOf('d');
    expect(await exported(world, begin + 5)).toBeNull();
    expect((await exported(world, begin + 6))?.table).toMatchObject({ a: 'Closed', d: 'Priced' });
  });
});

it('a feed that has begun anew has an empty table until its first change, and none from before', async () => {
  await withLog(async (world) => {
    const writer = await changeWriter(world, '');
    await writer.write({ id: 'a', status: 'Priced', at: Date.now() - 60_000 });
    const before = Date.now() - 1;
    await writer.reset();
    expect(await exported(world, before)).toBeNull();
    expect(await exported(world, Date.now())).toEqual({ table: {}, seq: 0 });
    await writer.write({ id: 'b', status: 'Priced' });
    expect((await exported(world, Date.now()))?.table).toEqual({ b: 'Priced' });
    expect(await exported(world, before)).toBeNull();
  });
});
