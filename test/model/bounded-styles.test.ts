import fc from 'fast-check';
import type { Source } from '../../src/source/source';
import { modelMs, modelRuns } from '../support/model-runs';
import { carryOut, ended, mostRequests, type Operation, operations } from '../support/operations';
import { ipo } from '../support/records';
import {
  anyShape,
  plainShape,
  refuseCursor,
  styledFeed,
  styledVendor,
  type VendorShape,
} from '../support/styled-vendor';
import { testPublisher } from '../support/test-publisher';

const RUNS = modelRuns<[World]>(40, 20_261);
const NOW_MS = 1_790_000_000_000;

/** How the places that are named lead astray. `renamed`: always to the beginning, under another name each time. */
const astray = ['no', 'repeated', 'back', 'renamed', 'empty', 'expired'] as const;

interface World {
  readonly shape: VendorShape;
  readonly astray: (typeof astray)[number];
  /** Each so many-th place leads astray. */
  readonly each: number;
  readonly rows: number;
  readonly perSecond: number;
  readonly pageSize: number;
  readonly pagingLimit: number;
  /** Rows that are updated before each answer. */
  readonly moving: number;
  /** Cap of the page lengths, by turns. */
  readonly caps: readonly number[];
  readonly gone: readonly number[];
  readonly touched: readonly number[];
  readonly operations: readonly Operation[];
}

const world: fc.Arbitrary<World> = fc.record({
  shape: fc.record(anyShape),
  astray: fc.constantFrom(...astray),
  each: fc.constantFrom(1, 3, 10),
  rows: fc.integer({ min: 0, max: 60 }),
  perSecond: fc.constantFrom(1, 5, 100),
  pageSize: fc.constantFrom(2, 10, 25, 1000),
  pagingLimit: fc.constantFrom(100_000, 100_000, 40),
  moving: fc.constantFrom(0, 0, 1, 5),
  caps: fc.oneof(fc.constant([1000]), fc.array(fc.constantFrom(2, 3, 7, 20), { minLength: 1, maxLength: 3 })),
  gone: fc.array(fc.nat(60), { maxLength: 3 }),
  touched: fc.array(fc.nat(60), { maxLength: 3 }),
  operations: fc.array(fc.constantFrom(...operations), { minLength: 1, maxLength: 5 }),
});

/** A probe once followed the rows without end: each page begins behind rows that have moved since, and is looked for in vain. */
const movingAsFastAsRead: World = {
  shape: {
    ...plainShape,
    style: 'link',
    sized: false,
    endsOnItself: true,
    overlaps: true,
    linksNumbers: true,
  },
  astray: 'no',
  each: 3,
  rows: 50,
  perSecond: 100,
  pageSize: 1000,
  pagingLimit: 100_000,
  moving: 1,
  caps: [2],
  gone: [18],
  touched: [24, 33],
  operations: ['probe'],
};

async function play(world: World): Promise<void> {
  const { shape, each, pageSize, pagingLimit, gone, touched } = world;
  const clock = { ms: NOW_MS };
  const second = () => Math.floor(clock.ms / 1000);
  const caps = { ...shape, cap: 1000 };
  const vendor = styledVendor(caps, () => clock.ms);
  for (let i = 0; i < world.rows; i++) {
    const id = `r${String(i).padStart(3, '0')}`;
    const updated = second() - 90_000 + Math.floor(i / world.perSecond) * 1_000;
    vendor.rows.set(id, { ...ipo({ id }), id, updated });
  }
  const touch = (at: number): void => {
    const row = [...vendor.rows.values()][at];
    if (row !== undefined) vendor.rows.set(row.id, { ...row, updated: second() });
  };

  let isHostile = false;
  let named = 0;
  vendor.named = (next, before) => {
    if (!isHostile || ++named % each !== 0) return next;
    switch (world.astray) {
      case 'repeated':
        return before[before.length >> 1] ?? next;
      case 'back':
        return before[0] ?? next;
      case 'renamed':
        return JSON.stringify({ after: null, page: 0, blanks: 0, named });
      case 'empty':
        return JSON.stringify({ ...JSON.parse(next), blanks: 2, named });
      default:
        return next;
    }
  };
  let requests = 0;
  let allowed = 0;
  const source: Source = {
    fetchPage(feed, request, signal) {
      if (++requests > allowed) throw new Error(`more than ${allowed} requests`);
      clock.ms += 100;
      if (isHostile) {
        Object.assign(caps, { cap: world.caps[requests % world.caps.length] });
        for (let i = 0; i < world.moving; i++) touch((requests * 7 + i) % vendor.rows.size);
        if (world.astray === 'expired' && request.continuation !== undefined && requests % each === 0)
          refuseCursor();
      }
      return vendor.fetchPage(feed, request, signal);
    },
  };
  const feed = styledFeed(shape, { pageSize, pagingLimit, pollIntervalMs: 10, deleteShare: 1 });
  const publisher = await testPublisher(feed, source);
  const bounded = (what: Operation): Promise<void> => {
    requests = 0;
    allowed = mostRequests(what, world.rows, gone.length);
    return ended(`${what} of ${world.rows} rows`, () => carryOut(what, publisher, feed, vendor.rows));
  };
  try {
    await bounded('poll');
    isHostile = true;
    for (const at of touched) touch(at);
    for (const at of gone) vendor.rows.delete(`r${String(at).padStart(3, '0')}`);
    for (const operation of world.operations) {
      clock.ms += 5_000;
      await bounded(operation);
    }
  } finally {
    await publisher.close();
  }
}

it(
  `any operation ends in every paging style, wherever its pages lead (${RUNS.numRuns} runs)`,
  async () => {
    await fc.assert(fc.asyncProperty(world, play), { ...RUNS, examples: [[movingAsFastAsRead]] });
  },
  modelMs(RUNS.numRuns),
);
