import { HighwaterError } from '../../../src/errors';
import { type ChangeDeps, PageChanges } from '../../../src/pipeline/changes/page-changes';
import type { Origin, VendorRecord } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { OBSERVED_AT_MS, type TestPipeline, testPipeline } from '../../support/pipeline';
import { ipo } from '../../support/records';

let ipos: TestPipeline;
let images: ChangeDeps['images'];
beforeEach(async () => {
  ipos = await testPipeline(testFeed('ipos'));
  images = ipos.changeDeps.images;
  ipos.page([ipo({ id: 'a', updated: 100 })]);
});

interface Compared extends Partial<ChangeDeps> {
  readonly origin?: Origin;
  readonly isConfirmed?: boolean;
}

function comparing(
  rows: readonly unknown[],
  { origin = 'poll', isConfirmed = true, ...deps }: Compared = {},
) {
  const { records } = ipos.decode(ipos.read(rows));
  const changes = new PageChanges(
    { ...ipos.changeDeps, ...deps },
    ipos.state.begin(),
    OBSERVED_AT_MS,
    origin,
  );
  for (const record of records) changes.compare(record, isConfirmed);
  const events = changes
    .news(null)
    .events.map(({ change: { op, id, changedFields } }) => [op, id, ...changedFields].join(' '));
  return { events, changes };
}

const compared = (rows: readonly unknown[], over?: Compared) => comparing(rows, over).events;

describe('a record that is as it was', () => {
  it('is not compared at all when its bytes are the same', () => {
    const compare = () => {
      throw new Error('compared');
    };
    const unfitAt = (updated: number) =>
      comparing([ipo({ id: 'a', updated })], { images: { ...images, compare } }).changes.unfit.length;
    expect([100, 101].map(unfitAt)).toEqual([0, 1]);
  });

  it('counts as touched when only its second is a later one', () => {
    let touched = 0;
    const onTouch = () => ++touched;
    const same = { id: 'a', price_public_offering: '10.0' };
    compared([ipo({ ...same, updated: 99 }), ipo({ ...same, updated: 100 })], { onTouch });
    expect(touched).toBe(0);
    compared([ipo({ ...same, updated: 101 }), ipo({ id: 'b' })], { onTouch });
    expect(touched).toBe(1);
    expect(compared([ipo({ ...same, updated: 101 })])).toStrictEqual([]);
  });

  it('is read again by a later snapshot, however it is written, and once', () => {
    const pending = ipos.state.begin();
    pending.moveOffset({ snapshot_seq: ipos.state.offset.seq });
    pending.settle();
    expect(compared([ipo({ id: 'a', updated: 100 })])).toEqual(['r a']);
    expect(compared([ipo({ id: 'a', updated: 101, price_public_offering: '10.0' })])).toEqual(['r a']);
    expect(ipos.page([ipo({ id: 'a', updated: 100 }), ipo({ id: 'a', updated: 100 })])).toHaveLength(1);
  });

  it('is known to have been shown at its second', async () => {
    await ipos.restart();
    compared([ipo({ id: 'a', updated: 100 })]);
    expect(ipos.state.seenAt('a')).toBe(100);
    compared([ipo({ id: 'a', updated: 150, price_public_offering: '10.0' })]);
    expect(ipos.state.seenAt('a')).toBe(150);
  });
});

describe('a record that is older than its image', () => {
  const older = ipo({ id: 'a', updated: 99, name: 'Other' });

  it('is doubtful when it differs', () => {
    const silent = ipo({ id: 'a', updated: 98, price_public_offering: '10.0' });
    const same = ipo({ id: 'a', updated: 100, name: 'Other' });
    const { events, changes } = comparing([silent, older, same], { isConfirmed: false });
    expect(events).toEqual(['u a name']);
    expect(changes.doubtful.map(({ updated }) => updated)).toEqual([99]);
    expect(ipos.state.seenAt('a')).toBe(100);
  });
});

it('a row that cannot be compared does not keep another row of its record from being published', () => {
  const compare: typeof images.compare = (image, record) => {
    if (record.values.name === 'Bad') throw new Error('odd');
    return images.compare(image, record);
  };
  const rows = ['Good', 'Bad'].map((name) => ipo({ id: 'a', updated: 100, name }));
  const { records } = ipos.decode(ipos.read(rows));
  const deps = { ...ipos.changeDeps, images: { ...images, compare } };
  const changes = new PageChanges(deps, ipos.state.begin(), OBSERVED_AT_MS, 'poll', records);
  for (const record of records) changes.compare(record, false);
  expect([changes.news(null).events.length, changes.unfit.length]).toEqual([1, 1]);
});

describe('a record that cannot be published', () => {
  const failing = (id: string, error: Error) => ({
    image: {
      ...ipos.codec.image,
      encodeShared(record: VendorRecord) {
        if (record.id === id) throw error;
        return ipos.codec.image.encodeShared(record);
      },
    },
  });
  const rows = [ipo({ id: 'x' }), ipo({ id: 'y' })];

  it('ends the comparison when the fault is not its own', () => {
    const foreign = failing('x', new HighwaterError('VALUE_FOREIGN', 'not a value'));
    expect(() => compared(rows, { codec: foreign })).toThrow('not a value');
    const damaged: ChangeDeps['images'] = {
      ...images,
      compare: () => {
        throw new RangeError('too odd');
      },
      decode: () => {
        throw new RangeError('a damaged image');
      },
    };
    const changed = ipo({ id: 'a', updated: 101, name: 'Other' });
    expect(() => compared([changed], { images: damaged })).toThrow('a damaged image');
  });
});
