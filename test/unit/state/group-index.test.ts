import fc from 'fast-check';
import type { PendingState } from '../../../src/state/feed-state';
import { feedState } from '../../../src/state/feed-state';
import { changeInGroups, GroupIndex, type Groups } from '../../../src/state/group-index';
import { imageStore } from '../../../src/state/image-store';
import { firstSourceOffset } from '../../../src/state/source-offset';
import type { VendorRecord } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { testPipeline } from '../../support/pipeline';
import { insight } from '../../support/records';
import { runs } from '../../support/runs';

it('a group holds each record once, however often a snapshot shows it again', async () => {
  const pipeline = await testPipeline(testFeed('insights'));
  const rows = [insight({ id: 'a', updated: 1 }), insight({ id: 'b', updated: 2 })];
  pipeline.page(rows, { snapshot: true });
  const membersNow = () => {
    const [groups] = pipeline.state.begin().groups;
    const { symbol } = rows[0]!.security as { symbol: string };
    return [...groups!.members(`${symbol}|${rows[0]!.firm_id}`)].sort();
  };
  expect(membersNow()).toEqual(['a', 'b']);

  for (let i = 0; i < 3; i++) {
    const pending = pipeline.state.begin();
    pending.moveOffset({ snapshot: 'pending', snapshot_seq: pending.offset.seq });
    pending.settle();
    expect(pipeline.page(rows, { snapshot: true }).map(({ change }) => change.op)).toEqual(['r', 'r']);
    expect(membersNow()).toEqual(['a', 'b']);
  }
});

describe('groups', () => {
  /** Group and rank of a record. */
  type Row = { readonly group: string | null; readonly rank: number };
  const transition = { kind: 'latest-in-group', group: ['group'], newestBy: ['rank'] } as never;
  const idOf = (number: number) => `id ${number}`;
  const row = fc.record({ group: fc.constantFrom(null, 'A', 'B', 'C'), rank: fc.nat(4) });
  const change = fc.tuple(fc.nat(9), fc.option(row, { freq: 4 }));
  const layer = fc.record({ changes: fc.array(change, { maxLength: 6 }), isKept: fc.boolean() });
  const transaction = fc.record({ layers: fc.array(layer, { maxLength: 4 }), isCommitted: fc.boolean() });

  const recordOf = (id: string, row: Row): VendorRecord => ({
    id,
    updated: 1,
    values: { ...row, extra: {} },
  });
  const decoder = {
    decode(image: Buffer) {
      const { id, ...row } = JSON.parse(String(image)) as Row & { id: string };
      return recordOf(id, row);
    },
  };

  function apply(pending: PendingState, id: string, row: Row | null): void {
    const before = pending.image(id) ?? null;
    const afterRecord = row === null ? null : recordOf(id, row);
    if (before === null && row === null) return;
    pending.apply({
      op: row === null ? 'd' : 'u',
      id,
      before,
      after: row === null ? null : Buffer.from(JSON.stringify({ id, ...row })),
      beforeRecord: pending.record(id),
      afterRecord,
      changedFields: [],
    });
  }

  function expectGroups({ groups }: { readonly groups: readonly Groups[] }, rows: ReadonlyMap<string, Row>) {
    for (const group of ['A', 'B', 'C', 'D']) {
      const members = [...rows].filter(([, row]) => row.group === group);
      const [newest] = members.sort(([a, { rank: of }], [b, { rank }]) => rank - of || (a < b ? 1 : -1));
      expect(groups[0]!.newest(group)).toBe(newest?.[0] ?? null);
      expect([...groups[0]!.members(group)].sort()).toEqual(members.map(([id]) => id).sort());
    }
  }

  it('have the members and the newest that the images say, in each layer and after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(transaction, { maxLength: 12 }), async (transactions) => {
        const images = imageStore({ fd: null, slabBytes: 1024 });
        const offset = firstSourceOffset('insights', 'a life', 'scope');
        const restored = {
          offset,
          images,
          groups: new Map(),
          deadLetters: new Set<string>(),
          partitionCounts: [0, 0, 0],
        };
        const feed = testFeed('insights', { transitions: [transition] });
        const state = await feedState(feed, decoder, restored);
        let committed = new Map<string, Row>();
        for (const { layers, isCommitted } of transactions) {
          const batch = state.begin();
          let rows = new Map(committed);
          for (const { changes, isKept } of layers) {
            const page = batch.begin();
            const shown = new Map(rows);
            for (const [number, row] of changes) {
              apply(page, idOf(number), row);
              if (row === null) shown.delete(idOf(number));
              else shown.set(idOf(number), row);
              expectGroups(page, shown);
            }
            if (!isKept) continue;
            page.settle();
            rows = shown;
            expectGroups(batch, rows);
          }
          if (!isCommitted) continue;
          await batch.settle();
          committed = rows;
          expectGroups(state.begin(), committed);
        }
        expectGroups((await feedState(feed, decoder, restored)).begin(), committed);
      }),
      { numRuns: runs(100) },
    );
  });

  it('follow the changes that others have written into the log', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const images = imageStore({ fd: null, slabBytes: 1024 });
        const recordAt = (number: number) => decoder.decode(images.imageOf(number));
        const groups = [new GroupIndex(transition, images, recordAt)];
        const rows = new Map<string, Row>();
        const shown = (id: string) => (rows.has(id) ? recordOf(id, rows.get(id)!) : null);
        for (const [number, row] of changes) {
          const id = idOf(number);
          const before = shown(id);
          if (row === null) rows.delete(id);
          else rows.set(id, row);
          const change = () => {
            if (row === null) images.delete(id);
            else images.set(id, Buffer.from(JSON.stringify({ id, ...row })));
          };
          changeInGroups(groups, id, before, shown(id), change);
          expectGroups({ groups }, rows);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
