import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { PendingState } from '../../../src/state/feed-state';
import { feedState } from '../../../src/state/feed-state';
import { type ImageStore, imageStore } from '../../../src/state/image-store';
import type { KeepOptions } from '../../../src/state/kept-images';
import { firstSourceOffset } from '../../../src/state/source-offset';
import type { VendorRecord } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { tempFolder } from '../../support/temp-folder';

const folder = tempFolder();

/** Images are the ids of their records. All records are of one group. */
async function stateOver(images: ImageStore, kept: unknown[] = []) {
  let isBroken = false;
  const recordOf = (id: string): VendorRecord => ({ id, updated: 1, values: { group: 'A', extra: {} } });
  const decoder = {
    decode(image: Buffer) {
      if (isBroken) throw new Error('the image cannot be decoded');
      return recordOf(String(image));
    },
  };
  const transition = { kind: 'latest-in-group', group: ['group'], newestBy: ['group'] } as never;
  const state = await feedState(testFeed('insights', { transitions: [transition] }), decoder, {
    offset: firstSourceOffset('insights', 'a life', 'scope'),
    ...{ images, groups: new Map(), deadLetters: new Set<string>(), partitionCounts: [0, 0, 0] },
  });
  const apply = (pending: PendingState, id: string, isGone = false): void => {
    const after = isGone ? null : Buffer.from(id);
    const afterRecord = isGone ? null : recordOf(id);
    const none = { before: null, beforeRecord: isGone ? recordOf(id) : null, changedFields: [] };
    pending.apply({ op: isGone ? 'd' : 'c', id, after, afterRecord, ...none });
  };
  return {
    ...{ state, kept, apply },
    breakImages() {
      isBroken = true;
    },
    /** As if the batch were committed, or another batch before it. */
    commit(id: string, commit = state.offset.commit + 1, beforeSettling = () => {}): void {
      const pending = state.begin();
      apply(pending, id);
      pending.moveOffset({ commit });
      beforeSettling();
      pending.settle();
    },
  };
}

describe('a batch with many changes', () => {
  /** They take longer than a slice on any machine. */
  const MANY = 50_000;
  const [first, last] = ['n 0', `n ${MANY - 1}`];

  /** A state with one record, and a batch that removes it and brings many others. */
  async function begin() {
    const found = await stateOver(imageStore());
    found.commit('z');
    const pending = found.state.begin();
    for (let i = 0; i < MANY; i++) found.apply(pending, `n ${i}`);
    found.apply(pending, 'z', true);
    pending.moveOffset({ commit: 2 });
    return { ...found, pending, above: pending.begin() };
  }

  it('counts at once for the pages above it, though its images are taken over in slices', async () => {
    const { state, pending, above } = await begin();
    const look = () => [
      ...['z', first, last].map((id) => [above.image(id) !== undefined, above.record(id)?.id]),
      above.partitionCounts(),
      above.groups[0]!.newest('A'),
      [...above.groups[0]!.members('A')].length,
      above.offset.commit,
    ];
    const before = look();
    let isSettled = false;
    const settled = pending.settle()!.then(() => {
      isSettled = true;
    });
    let looks = 0;
    for (; !isSettled; await turn()) {
      expect(look()).toEqual(before);
      if (state.offset.commit === 2) continue;
      above.see(first, 3);
      above.see(last, 4);
      looks++;
    }
    await settled;
    expect(looks).toBeGreaterThan(0);
    expect(look()).toEqual(before);
    expect([state.seenAt(first), state.seenAt(last), state.recordCount]).toEqual([3, 4, MANY]);
  });

  it('is not taken over any more once the state is closed, and such a state is not kept', async () => {
    const { state, pending, kept } = await begin();
    const settled = pending.settle()!;
    await state.close({
      ...{ topic: 'insights.current', schemaId: 1 },
      end: { topicId: null, offsets: [1, 0, 0], commit: 1 },
    });
    const { recordCount } = state;
    await expect(settled).rejects.toThrow('the state of feed insights is closed');
    expect([state.recordCount, kept]).toEqual([recordCount, []]);
  });
});

describe('at the end', () => {
  const inFile = () => {
    const fd = openSync(path.join(folder(), 'images'), 'wx+');
    const kept: unknown[] = [];
    const keep = async (write: unknown) => void kept.push(write);
    return stateOver(imageStore({ fd, keep, close: () => closeSync(fd) }), kept);
  };
  const keep = (commit: number | null): KeepOptions => ({
    ...{ topic: 'insights.current', schemaId: 1 },
    end: { topicId: null, offsets: [1, 0, 0], commit },
  });

  it('a state is kept that the log has', async () => {
    const { state, kept, commit } = await inFile();
    commit('a');
    const late = state.begin();
    late.moveOffset({ commit: 2 });
    await state.close(keep(1));
    await state.close(keep(1));
    expect(kept).toHaveLength(1);
    expect(() => late.settle()).toThrow('the state of feed insights is closed');
  });

  it('a state is kept by an owner who has committed nothing', async () => {
    const { state, kept, commit } = await inFile();
    commit('a', 7);
    await state.close(keep(null));
    expect(kept).toHaveLength(1);
  });

  it('a state is not kept when the log has a batch that it does not know', async () => {
    const { state, kept, commit } = await inFile();
    commit('a');
    await state.close(keep(2));
    expect(kept).toHaveLength(0);
  });

  it('a state is not kept when nobody knows where the log ends, nor before the first commit', async () => {
    const first = await inFile();
    first.commit('a', 0);
    await first.state.close(null);
    expect(first.kept).toHaveLength(0);
    const other = await stateOver(imageStore());
    await other.state.close(keep(null));
    expect(other.kept).toHaveLength(0);
  });

  it('a state is not kept that has only a part of a batch', async () => {
    const { state, kept, commit, breakImages } = await inFile();
    commit('a', 1);
    expect(() => commit('b', 1, breakImages)).toThrow(/cannot be decoded/);
    expect(state.recordCount).toBe(2);
    await state.close(keep(1));
    expect(kept).toHaveLength(0);
  });
});

it('no change is begun when the images have nearly all of the memory that can be addressed', async () => {
  const images = imageStore({ fd: null, slabBytes: 1024 });
  const { state } = await stateOver(images);
  const pending = state.begin();
  const fill = (more: number) => {
    for (let i = 0; i < more; i++) images.set(`${images.size}`, Buffer.alloc(300));
  };
  fill(130_046);
  state.begin();
  fill(1);
  const tooLarge = expect.objectContaining({
    code: 'STATE_TOO_LARGE',
    message: expect.stringContaining('Feed insights has 130047 records'),
  });
  expect(() => state.begin()).toThrow(tooLarge);
  expect(() => pending.begin()).toThrow(tooLarge);
});
