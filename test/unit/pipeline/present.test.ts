import { usualShape } from '../../../src/feeds/definition';
import { rowKeys } from '../../../src/feeds/row-keys';
import type { FetchedPage } from '../../../src/pipeline/scan/pages/page-facts';
import { pageFacts as factsOf } from '../../../src/pipeline/scan/pages/page-facts';
import { Clocks } from '../../../src/pipeline/scan/present';

const pageFacts = (rows: readonly unknown[]) => factsOf(rows, rowKeys(usualShape));

type Row = readonly [id: string | null, updated: number | null];

interface Answer {
  readonly rows?: readonly Row[];
  readonly server?: number;
  readonly own?: number;
  readonly atMs?: number;
}

/** An answer as a scan gets it; both clocks say 1000 if nothing else is said. */
function answer({ rows = [['x', 500]], server = 1000, own = server, atMs = 0 }: Answer): FetchedPage {
  const all = rows.map(([id, updated]) => ({ id, updated }));
  return {
    rows: all,
    facts: pageFacts(all),
    next: null,
    isLast: false,
    total: null,
    partialBy: null,
    moreBy: null,
    isEndSaid: false,
    isVague: false,
    serverSecond: server,
    ownSecond: own,
    knownSecond: Math.min(server, own),
    observedAtMs: atMs,
    agedMs: 0,
    reread: async () => all,
  };
}

describe('the end of a poll', () => {
  it('is the present of its first answer', () => {
    const clocks = new Clocks(false, 10);
    expect(clocks.presentAt(answer({}), false)).toEqual({ pin: 1000, now: 1000 });
    expect(clocks.presentAt(answer({ server: 1010, atMs: 10_000 }), false)).toEqual({ pin: 1000, now: 1010 });
  });

  it('moves up when a later answer tells that the first one was behind, and never back', () => {
    const clocks = new Clocks(false, 10);
    clocks.presentAt(answer({ server: 900, own: 950 }), false);
    expect(clocks.presentAt(answer({ server: 1005, atMs: 4_200 }), false)).toEqual({ pin: 1000, now: 1005 });
    expect(clocks.presentAt(answer({ server: 1006, own: 1100, atMs: 4_200 }), false).pin).toBe(1001);
    expect(clocks.presentAt(answer({ server: 900, atMs: 4_200 }), false)).toEqual({ pin: 1001, now: 900 });
  });

  it('is not moved by an own clock that steps back', () => {
    const clocks = new Clocks(false, 10);
    clocks.presentAt(answer({ atMs: 50_000 }), false);
    clocks.presentAt(answer({ atMs: 20_000 }), false);
    expect(clocks.presentAt(answer({ server: 1010, atMs: 30_000 }), false).pin).toBe(1000);
    expect(clocks.presentAt(answer({ server: 1021, atMs: 40_000 }), false).pin).toBe(1001);
  });
});

describe('the end of a snapshot', () => {
  it('is the present of the first answer that comes close to it', () => {
    const clocks = new Clocks(true, 10);
    expect(clocks.presentAt(answer({ rows: [['a', 989]] }), false)).toEqual({ pin: Infinity, now: 1000 });
    expect(clocks.presentAt(answer({ rows: [['a', null]] }), false)).toEqual({ pin: Infinity, now: 1000 });
    expect(clocks.presentAt(answer({ rows: [['a', 995]], server: 1005, atMs: 5_000 }), false).pin).toBe(1005);
    expect(clocks.presentAt(answer({ rows: [['a', 996]], server: 1007, atMs: 7_000 }), false)).toEqual({
      ...{ pin: 1005, now: 1007 },
    });
  });
});

describe('where the clocks are far apart', () => {
  /** For a page that ends at `last`, after a first answer when the own clock was at 1000. */
  const present = (last: number, server: number) => {
    const clocks = new Clocks(false, 10);
    clocks.presentAt(answer({ server, own: 1000 }), false);
    return clocks.presentAt(
      answer({ rows: [['a', last]], server: server + 10, own: 1010, atMs: 10_000 }),
      false,
    );
  };

  it('rows between the own end and the own present are taken for ones that move', () => {
    expect(present(1001, 1061)).toEqual({ pin: 1000, now: 1010 });
    expect(present(1010, 1061)).toEqual({ pin: 1000, now: 1010 });
    expect(present(1001, 939)).toEqual({ pin: 1000, now: 1010 });
    expect(present(1000, 1061)).toEqual({ pin: 1061, now: 1071 });
    expect(present(1011, 1061)).toEqual({ pin: 1061, now: 1071 });
  });

  it('but not below a minute', () => {
    expect(present(1001, 1060)).toEqual({ pin: 1060, now: 1070 });
  });

  it('and not before a snapshot has come close to its own end', () => {
    const clocks = new Clocks(true, 10);
    expect(clocks.presentAt(answer({ rows: [['a', 980]], server: 900, own: 1000 }), false)).toEqual({
      ...{ pin: 900, now: 900 },
    });
  });
});

describe('rows that are seen to move on', () => {
  /** One page for each second: the same row, and what else is on it. */
  function follow(clocks: Clocks, seconds: readonly number[], isShort: boolean, ...beside: Row[]) {
    return seconds.map((second) => clocks.presentAt(answer({ rows: [...beside, ['a', second]] }), isShort));
  }
  const usual = { pin: 1000, now: 1000 };

  it('on five pages tell the present by which they are dated', () => {
    const clocks = new Clocks(false, 10);
    const presents = follow(clocks, [100, 110, 120, 130, 140, 150, 160], false);
    expect(presents.slice(0, 5)).toEqual([usual, usual, usual, usual, usual]);
    expect(presents.slice(5)).toEqual([
      { pin: 110, now: 150 },
      { pin: 110, now: 160 },
    ]);
    // A page that rests, and is not short, is none of them; one that is short is where they are.
    expect(clocks.presentAt(answer({ rows: [['x', 50]] }), false)).toEqual(usual);
    expect(clocks.presentAt(answer({ rows: [['x', 50]] }), true)).toEqual({ pin: 110, now: 160 });
    expect(clocks.presentAt(answer({ rows: [['x', null]] }), false)).toEqual({ pin: 110, now: 160 });
  });

  it('on pages behind the first ones count, too', () => {
    const clocks = new Clocks(false, 10);
    for (const second of [100, 110, 120, 130, 140, 150]) clocks.saw(answer({ rows: [['a', second]] }));
    expect(clocks.presentAt(answer({ rows: [['a', 155]] }), false)).toEqual({ pin: 110, now: 155 });
  });

  it('do not count beside one that rests in the past, unless the page is short', () => {
    const seconds = [100, 110, 120, 130, 140, 150];
    expect(follow(new Clocks(false, 10), seconds, false, ['rests', 90]).at(-1)).toEqual(usual);
    expect(follow(new Clocks(false, 10), seconds, true, ['rests', 90]).at(-1)).toEqual({
      ...{ pin: 110, now: 150 },
    });
    expect(follow(new Clocks(false, 10), seconds, false, ['undated', null]).at(-1)).toEqual({
      ...{ pin: 110, now: 150 },
    });
  });

  it('count beside one that rests when they are dated ahead of the present', () => {
    const ahead = [1000, 1001, 1002, 1003, 1004, 1005];
    expect(follow(new Clocks(false, 10), ahead, false, ['rests', 90]).at(-1)).toEqual({
      ...{ pin: 1000, now: 1005 },
    });
    const one = new Clocks(false, 10);
    expect(follow(one, [999, 1000, 1001, 1002, 1003, 1004], false, ['rests', 90]).at(-1)).toEqual(usual);
    const later = {
      rows: [
        ['rests', 90],
        ['a', 1005],
      ] as Row[],
      server: 1000,
      own: 1005,
    };
    expect(one.presentAt(answer(later), false)).toEqual({ pin: 1000, now: 1000 });
  });

  it('are those that have a later second than before, not the same or an earlier one', () => {
    const back = [100, 90, 80, 70, 60, 50, 40];
    expect(follow(new Clocks(false, 10), back, true).at(-1)).toEqual(usual);
    expect(follow(new Clocks(false, 10), [100, 100, 100, 100, 100, 100], true).at(-1)).toEqual(usual);
  });

  it('without an id count as one', () => {
    const clocks = new Clocks(false, 10);
    const presents = [100, 110, 120, 130, 140, 150].map((second) =>
      clocks.presentAt(answer({ rows: [[null, second]] }), false),
    );
    expect(presents.at(-1)).toEqual({ pin: 110, now: 150 });
  });

  it('are remembered up to ten thousand', () => {
    const followMany = (count: number) => {
      const clocks = new Clocks(false, 10);
      let present = usual;
      for (const second of [100, 110, 120, 130, 140, 150])
        present = clocks.presentAt(
          answer({ rows: Array.from({ length: count }, (_, i) => [`${i}`, second]) }),
          false,
        );
      return present;
    };
    expect(followMany(10_000)).toEqual({ pin: 110, now: 150 });
    expect(followMany(10_001)).toEqual(usual);
  });
});
