import { HighwaterError } from '../../../src/errors';
import { type DiffOptions, diff } from '../../../src/pipeline/changes/diff';
import { createImages, type Images } from '../../../src/pipeline/changes/images';
import type { Unfit, VendorRecord } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { type TestPipeline, testPipeline } from '../../support/pipeline';
import { ipo } from '../../support/records';

const feed = testFeed('ipos');
let ipos: TestPipeline;
let images: Images;
beforeEach(async () => {
  ipos = await testPipeline(feed);
  images = createImages(feed, ipos.codec.schemas.record, ipos.codec.image);
  ipos.page([ipo({ id: 'a', updated: 100 })]);
});

function compared(
  rows: readonly unknown[],
  options: Partial<DiffOptions> = {},
  doubtful: VendorRecord[] | null = null,
): string[] {
  const { records } = ipos.decode(ipos.read(rows));
  const pending = ipos.state.begin();
  const all = { codec: ipos.codec, images, firstSight: 'c', ...options } as const;
  return [...diff(records, pending, all, doubtful)].map(({ op, id, changedFields }) =>
    [op, id, ...changedFields].join(' '),
  );
}

describe('a record that is as it was', () => {
  it('is not compared at all when its bytes are the same', () => {
    const compare = () => {
      throw new Error('compared');
    };
    expect(compared([ipo({ id: 'a', updated: 100 })], { images: { ...images, compare } })).toStrictEqual([]);
    expect(() => compared([ipo({ id: 'a', updated: 101 })], { images: { ...images, compare } })).toThrow();
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

describe('a record that is seen for the first time', () => {
  it('is left out when it is older than the beginning of a feed without a snapshot', () => {
    const pending = ipos.state.begin();
    pending.moveOffset({ begins_at: 50 });
    pending.settle();
    const rows = [ipo({ id: 'x', updated: 49 }), ipo({ id: 'y', updated: 50 })];
    expect(compared(rows)).toEqual(['c y']);
    expect(compared(rows, { firstSight: 'r' })).toEqual(['r x', 'r y']);
  });
});

describe('a record that is older than its image', () => {
  const older = ipo({ id: 'a', updated: 99, name: 'Other' });

  it('is doubtful, when it differs', () => {
    const doubtful: VendorRecord[] = [];
    const silent = ipo({ id: 'a', updated: 98, price_public_offering: '10.0' });
    const same = ipo({ id: 'a', updated: 100, name: 'Other' });
    expect(compared([silent, older, same], {}, doubtful)).toEqual(['u a name']);
    expect(doubtful.map(({ updated }) => updated)).toEqual([99]);
    expect(ipos.state.seenAt('a')).toBe(100);
  });

  it('counts, where nobody asks for what is doubtful', () => {
    expect(compared([older])).toEqual(['u a name']);
  });
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

  it('is set aside with the reason, and the others go on', () => {
    const unfit: Unfit[] = [];
    const codec = failing('x', new RangeError('too deep'));
    expect(compared(rows, { codec, unfit })).toEqual(['c y']);
    const compare = () => {
      throw new RangeError('too odd');
    };
    const changed = ipo({ id: 'a', updated: 101, name: 'Other' });
    expect(compared([changed, ...rows], { images: { ...images, compare }, unfit })).toEqual(['c x', 'c y']);
    expect(unfit.map(({ record, reason }) => `${record.id}: ${reason}`)).toEqual([
      'x: the record cannot be written: too deep',
      'a: the record cannot be compared: too odd',
    ]);
  });

  it('ends the comparison where nobody takes it, and when the fault is not its own', () => {
    const codec = failing('x', new RangeError('too deep'));
    expect(() => compared(rows, { codec })).toThrow('too deep');
    const unfit: Unfit[] = [];
    const foreign = failing('x', new HighwaterError('VALUE_FOREIGN', 'not a value'));
    expect(() => compared(rows, { codec: foreign, unfit })).toThrow('not a value');
    const damaged: Images = {
      compare: () => {
        throw new RangeError('too odd');
      },
      decode: () => {
        throw new RangeError('a damaged image');
      },
    };
    const changed = ipo({ id: 'a', updated: 101, name: 'Other' });
    expect(() => compared([changed], { images: damaged, unfit })).toThrow('a damaged image');
    expect(unfit).toStrictEqual([]);
  });
});
