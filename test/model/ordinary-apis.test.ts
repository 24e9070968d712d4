import fc from 'fast-check';
import { HighwaterError } from '../../src/errors';
import type { Source } from '../../src/source/source';
import { idsIn } from '../support/ids-in';
import { modelMs, modelRuns } from '../support/model-runs';
import { ended, reconciled } from '../support/operations';
import {
  anyShape,
  namedErrors,
  plainShape,
  styledFeed,
  styledVendor,
  type VendorRow,
  type VendorShape,
} from '../support/styled-vendor';
import { type TestPublisher, testPublisher } from '../support/test-publisher';

/**
 * APIs as they are: filters that leave out the second that is asked for, ties that change places between two pages, positions that begin
 * at 1 or never end. Whatever they do, no live record is deleted, and what counts as read is read.
 */
const RUNS = modelRuns<[World]>(60, 20_261);
const NOW_MS = 1_790_000_000_000;

type Step =
  | {
      readonly kind:
        | 'poll'
        | 'wide poll'
        | 'restart'
        | 'reconcile'
        | 'count from zero'
        | 'lose next'
        | 'find next'
        | 'lower cap'
        | 'raise cap'
        | 'drop query'
        | 'read query'
        | 'show nothing'
        | 'fix rows'
        | 'show rows';
    }
  | {
      /**
       * `edit`: without a new time. `import`: a new row with a time of the past or ahead. `restore`: an earlier version. `break`: pages with
       * the row are refused.
       */
      readonly kind: 'create' | 'update' | 'remove' | 'revive' | 'edit' | 'import' | 'restore' | 'break';
      readonly at: number;
      readonly count: number;
    };

interface World {
  readonly shape: VendorShape;
  readonly rows: number;
  readonly perSecond: number;
  readonly pageSize: number;
  /** The rows at the beginning were created up to so many hours before they were updated. */
  readonly delay: number;
  readonly steps: readonly Step[];
  /** What happens at some requests before the vendor comes to rest. */
  readonly unrest: Unrest;
}

/** Each happens at one request in so many; 0: never. */
interface Unrest {
  /** A row is created, updated or removed just before the answer. */
  readonly moves: number;
  /** The answer shows the rows as they were so many writes before. */
  readonly stale: number;
  /** One of four servers, which answer at random, lags by so many seconds. */
  readonly behind: number;
  /** The filter goes by an index, which shows writes so many seconds later, also once the vendor has come to rest. */
  readonly index: number;
  /** The answer shows no row. */
  readonly blank: number;
  /** The answer lacks one of its rows, and does not say so. The next one that has this row shows it. */
  readonly lacks: number;
  /** The request fails. */
  readonly fails: number;
  /** One row of the answer cannot be read: it lacks its id or its time, or is null. */
  readonly odd: number;
}

const shapes: fc.Arbitrary<VendorShape> = fc
  .record({
    ...anyShape,
    order: fc.constantFrom('updated', 'updated', 'newest', 'id', 'rank'),
    style: fc.constantFrom('page', 'offset', 'cursor', 'link'),
    filter: fc.constantFrom(true, true, false),
    sized: fc.constantFrom(true, true, false),
    otherSizes: fc.constantFrom('taken', 'taken', 'refused', 'ignored'),
    cap: fc.constantFrom(1000, 1000, 7),
    overlaps: fc.constantFrom(false, false, true),
    since: fc.constantFrom('from', 'after', 'minute', 'hours', 'earlier', 'created', 'edited', 'in part'),
    range: fc.constantFrom(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 3_600),
    until: fc.constantFrom('unsaid', 'included', 'excluded'),
    says: fc.constantFrom(
      'nothing',
      'more',
      'more by length',
      'total',
      'capped total',
      'total of all',
      'total of page',
    ),
    refusesDepth: fc.boolean(),
    ragged: fc.constantFrom(false, false, true),
    keyset: fc.constantFrom('no', 'no', 'refused', 'not found', 'first page', 'empty'),
    held: fc.boolean(),
    lives: fc.constantFrom(Number.POSITIVE_INFINITY, 20_000),
    skew: fc.constantFrom(0, 0, 0, -120, 120),
    dateless: fc.constantFrom(false, false, true),
    hides: fc.boolean(),
    beside: fc.constantFrom('nothing', 'versions', 'namesakes'),
    depth: fc.constantFrom(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 20),
    rounds: fc.constantFrom(1, 1, 60, 86_400),
    fractions: fc.constantFrom(false, false, true),
    late: fc.constantFrom(0, 0, 3, 20),
    hidesWrites: fc.boolean(),
  })
  .map((shape) => {
    // Only what an answer announces can be missed. The total of a range may be that of the whole feed.
    const isOfRange = shape.says === 'total' && Number.isFinite(shape.range);
    const announces = isNumbered(shape) && (shape.says === 'more' || shape.says === 'total') && !isOfRange;
    // Missing records that are known are noticed as well, if other pages can be asked for.
    const isNamed =
      !isNumbered(shape) && hasSizes(shape) && !shape.endless && !shape.endsOnItself && !shape.overlaps;
    const isNoticed = isNamed || (announces && shape.pastEnd === 'empty');
    const depth = isNoticed ? shape.depth : Number.POSITIVE_INFINITY;
    // Nobody notices a limit behind a first page of one row. Pages of two rows, of which one is of the page before, look like ties that move.
    const ragged = shape.ragged && depth === Number.POSITIVE_INFINITY && !shape.overlaps;
    return { ...shape, depth, ragged, hides: announces && shape.hides };
  })
  // Nothing tells that an earlier version is not the record, if the filter shows only that one.
  .map((shape) =>
    shape.beside === 'versions' && ['created', 'edited'].includes(shape.since)
      ? { ...shape, beside: 'nothing' as const }
      : shape,
  )
  .map((shape) =>
    // A filter that is later than its range never shows a row, nor does one by a time of which the range is not. If both ends are early, rows
    // may come by as many hours late.
    shape.filter &&
    shape.dated &&
    !['hours', 'edited', 'created', ...(shape.until === 'unsaid' ? [] : ['earlier'])].includes(shape.since)
      ? shape
      : { ...shape, range: Number.POSITIVE_INFINITY },
  )
  .map((shape) => {
    // A record's id is a place only if no two rows have it, and says nothing of numbers.
    const isKeyset = shape.style === 'cursor' && shape.beside === 'nothing' && shape.ties === 'stable';
    if (!isKeyset || shape.keyset === 'no') return { ...shape, keyset: 'no' as const };
    return {
      ...shape,
      ...{
        blanks: 0,
        beginsBlank: false,
        endsOnItself: false,
        endless: false,
        linksNumbers: false,
        held: false,
        lives: Number.POSITIVE_INFINITY,
      },
    };
  })
  // Rows of one day that are written as fast as they are held are read for ever.
  .map((shape) => ({ ...shape, held: shape.held && shape.rounds < 86_400 }))
  // A clock that is behind, unsaid, refuses the present for as long as that.
  .map((shape) => ({ ...shape, dateless: shape.dateless && !(shape.refusesAhead && shape.skew < 0) }))
  // The feed of a range begins later than this day.
  .map((shape) => (Number.isFinite(shape.range) ? { ...shape, rounds: Math.min(shape.rounds, 60) } : shape));

const worlds: fc.Arbitrary<World> = fc.record({
  shape: shapes,
  rows: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(1, 2, 3, 10, 20, 50)),
  perSecond: fc.constantFrom(1, 2, 3, 20, 100),
  pageSize: fc.constantFrom(2, 10, 10, 25, 25, 1000),
  delay: fc.constantFrom(0, 0.1, 3, 40),
  unrest: fc.record({
    moves: fc.constantFrom(0, 0, 1, 3, 7),
    stale: fc.constantFrom(0, 0, 2, 3, 7),
    behind: fc.constantFrom(0, 0, 25),
    index: fc.constantFrom(0, 0, 0, 4, 25),
    blank: fc.constantFrom(0, 0, 0, 3, 4, 5, 7, 11),
    lacks: fc.constantFrom(0, 0, 0, 2, 5, 11),
    fails: fc.constantFrom(0, 0, 0, 5, 11),
    odd: fc.constantFrom(0, 0, 0, 1, 2, 5),
  }),
  steps: fc.array(
    fc.oneof(
      fc.constantFrom<Step>(
        { kind: 'poll' },
        { kind: 'wide poll' },
        { kind: 'restart' },
        { kind: 'reconcile' },
        { kind: 'count from zero' },
        { kind: 'lose next' },
        { kind: 'find next' },
        { kind: 'lower cap' },
        { kind: 'raise cap' },
        { kind: 'drop query' },
        { kind: 'read query' },
        { kind: 'show nothing' },
        { kind: 'show rows' },
        { kind: 'fix rows' },
      ),
      fc.record({
        kind: fc.constantFrom(
          'create',
          'create',
          'update',
          'update',
          'remove',
          'remove',
          'revive',
          'edit',
          'import',
          'restore',
          'break',
        ),
        at: fc.nat(1000),
        count: fc.integer({ min: 1, max: 5 }),
      }),
    ),
    { maxLength: 16 },
  ),
});

// Held pages of a server that lags stay old, whichever server answers. Rows that are shown late are older than those of any server.
const world = worlds.map((one) => {
  const canBeBehind = one.shape.late === 0 && !one.shape.held;
  return canBeBehind ? one : { ...one, unrest: { ...one.unrest, behind: 0, index: 0 } };
});

/** Whether pages of other sizes can be asked for. */
function hasSizes({ sized, otherSizes }: VendorShape): boolean {
  return sized && otherSizes === 'taken';
}

function isNumbered({ style }: VendorShape): boolean {
  return style === 'page' || style === 'offset';
}

/** Whether nothing tells which of two rows with one id is the record. */
function hasTwins(shape: VendorShape): boolean {
  return shape.beside === 'namesakes' || hasVersionsOfOneTime(shape);
}

function hasVersionsOfOneTime({ beside, dated, rounds }: VendorShape): boolean {
  return beside === 'versions' && (!dated || rounds > 1);
}

/** The same numbers at each run, in no order. */
function hashed(n: number): number {
  return (Math.imul(n, 0x9e3779b1) >>> 16) & 0xff;
}

/** A replica lags by so many writes. */
const LAG = 3;
/** Seconds by which a time lies ahead. */
const AHEAD = 300;
/** More than all operations of a world take. */
const MOST_REQUESTS = 100_000;
/** Rows side by side that no page shows. */
const HIDDEN = 30;

async function play({ shape: first, rows, perSecond, pageSize, delay, steps, unrest }: World): Promise<void> {
  const shape = { ...first };
  const clock = { ms: NOW_MS };
  const vendor = styledVendor(shape, () => clock.ms);
  const second = () => Math.floor(clock.ms / 1000) + shape.skew;
  const versions = new Map<string, VendorRow[]>();
  /** Ids of records that the vendor itself has taken back to an earlier time. */
  const restored = new Set<string>();
  const write = (id: string, at: number): void => {
    const before = vendor.rows.get(id);
    vendor.write(id, at);
    if (before !== undefined && vendor.rows.get(id)!.updated < before.updated) restored.add(id);
    versions.set(id, [...(versions.get(id) ?? []), vendor.rows.get(id)!]);
  };
  for (let i = 0; i < rows; i++)
    write(`r${String(i).padStart(3, '0')}`, second() - 9_000 + Math.floor(i / perSecond) * 20);
  for (const [i, { id, updated }] of [...vendor.rows.values()].entries())
    vendor.created.set(id, updated - Math.floor((delay * 3_600 * ((i * 37) % 100)) / 100));
  const middle = second() - 9_000 + Math.floor(rows / 2 / perSecond) * 20;
  for (let i = 0; shape.hides && i < HIDDEN; i++) write(`hidden${i}`, middle);
  let isRestless = true;
  let requests = 0;
  const isDue = (each: number): boolean => isRestless && each > 0 && requests % each === 0;
  const replica = styledVendor(shape, () => clock.ms);
  replica.held = vendor.held;
  replica.namedAt = vendor.namedAt;
  const blank = styledVendor(shape, () => clock.ms);
  blank.namedAt = vendor.namedAt;
  let isBlank = false;
  /** Records for which the API refuses each page that has one of them. */
  const broken = new Set<string>();
  const refusal = rows % 2 === 0 ? 'SOURCE_REQUEST_REFUSED' : 'SOURCE_NOT_FOUND';
  /** Ids that the latest answer with that row lacked. */
  const unshown = new Set<string>();
  const past: { readonly rows: Map<string, VendorRow>; readonly endMs: number }[] = [];
  const remember = (): void => void past.push({ rows: new Map(vendor.rows), endMs: clock.ms });
  function answerOf(rows = vendor.rows): typeof vendor {
    replica.rows.clear();
    for (const [id, row] of rows) replica.rows.set(id, row);
    for (const [id, at] of vendor.created) replica.created.set(id, at);
    return replica;
  }
  const source: Source = {
    async fetchPage(feed, request, signal) {
      clock.ms += 10;
      if (++requests > MOST_REQUESTS) throw new Error('it does not end');
      if (isDue(unrest.fails)) throw new HighwaterError('SOURCE_UNAVAILABLE', 'GET answered with 503.');
      // Records that are written at every request would have more versions than the API has records, and more namesakes than a poll looks at.
      // Without a time, nothing tells that rows came since the poll began.
      const isTooMuch =
        shape.beside === 'versions' || ((shape.beside === 'namesakes' || !shape.dated) && unrest.moves === 1);
      if (isDue(unrest.moves) && !isTooMuch) move(requests * 7);
      if (isBlank || isDue(unrest.blank)) {
        const page = await blank.fetchPage(feed, request, signal);
        return { ...page, isVague: requests % 2 === 0 };
      }
      const isBehind = isRestless && hashed(requests) % 4 === 0;
      const byIndex = shape.filter && shape.dated && request.updatedSince > 0;
      const lag = Math.max(isBehind ? unrest.behind : 0, byIndex ? unrest.index : 0);
      const asked = isDue(unrest.stale)
        ? answerOf(past.at(-LAG)?.rows)
        : lag > 0
          ? answerOf(past.find(({ endMs }) => endMs > clock.ms - lag * 1_000)?.rows)
          : vendor;
      const page = await asked.fetchPage(feed, request, signal);
      const idOf = (row: unknown) => (row as VendorRow).id;
      if (page.rows.some((row) => broken.has(idOf(row))))
        throw new HighwaterError(refusal, `GET answered 422 with "record ${requests} cannot be shown".`);
      // A first page that names no next one and is shorter than such pages were looks like all that is left.
      const lacks = shape.isNextLost ? 0 : unrest.lacks;
      const ids = isDue(lacks) ? page.rows.map(idOf).filter((id) => !unshown.has(id)) : [];
      const lacking = ids[(requests * 7) % Math.max(1, ids.length)];
      for (const row of page.rows) unshown.delete(idOf(row));
      if (lacking !== undefined) unshown.add(lacking);
      const kept = page.rows.filter((row) => idOf(row) !== lacking);
      const at = isDue(unrest.odd) && kept.length > 0 ? (requests * 5) % kept.length : -1;
      const oddRow = (row: unknown) =>
        [null, { ...(row as VendorRow), id: undefined }, { ...(row as VendorRow), updated: undefined }][
          requests % 3
        ];
      return { ...page, rows: kept.map((row, i) => (i === at ? oddRow(row) : row)) };
    },
  };
  const beginAt = Number.isFinite(shape.range) ? second() - 10_000 - delay * 3_600 : undefined;
  const feed = styledFeed(shape, {
    pageSize,
    pollIntervalMs: shape.hidesWrites ? 30_000 : 10,
    deleteShare: 1,
    beginAt,
  });
  const publisher = await testPublisher(feed, source, async (ms) => {
    clock.ms += ms;
  });
  const known = () => new Set(idsIn(publisher.owned().deps.state));
  const reconcileNow = async (): Promise<void> => {
    if (publisher.owned().deps.state.offset.snapshot !== 'complete') return;
    // A row without an id may be any record, unless an operator says otherwise.
    const rest = async (ms: number) => {
      if (shape.hidesWrites) clock.ms += ms;
    };
    await reconciled(publisher, feed, { allowDeletes: unrest.odd > 0 ? null : 1_000, rest });
  };
  let created = 0;
  const removed: string[] = [];
  /** `updated` of each record as published, if nothing but its vendor can bring an earlier time. */
  const times = (): Map<string, number> => {
    const { images, state } = publisher.owned().deps;
    const ids = shape.dated && shape.beside === 'nothing' ? idsIn(state) : [];
    return new Map(ids.map((id) => [id, images.decode(state.image(id)!).updated]));
  };
  const gone = new Set<string>();
  function remove(id: string): void {
    vendor.rows.delete(id);
    removed.push(id);
  }
  /** One write: most often an update. */
  function move(at: number): void {
    const ids = [...vendor.rows.keys()];
    const id = ids[at % Math.max(1, ids.length)];
    remember();
    if (id === undefined || at % 5 === 0) write(`n${created++}`, second());
    else if (at % 5 === 1) remove(id);
    else write(id, second());
  }
  async function pollOnce(wide: boolean): Promise<void> {
    const before = publisher.owned().deps.state.offset;
    await publisher.poll({ wide });
    const { snapshot, record_count, last_complete_scan_ms } = publisher.owned().deps.state.offset;
    if (!wide || !isBlank || snapshot !== 'complete' || record_count < 20) return;
    expect(last_complete_scan_ms).toBe(before.last_complete_scan_ms);
  }
  const step = async (now: Step): Promise<void> => {
    clock.ms += 2_000;
    const ids = [...vendor.rows.keys()];
    switch (now.kind) {
      case 'poll':
      case 'wide poll':
        return pollOnce(now.kind === 'wide poll');
      case 'restart':
        return publisher.restart();
      case 'reconcile':
        return reconcileNow();
      case 'count from zero':
        shape.first = 'zero';
        return;
      case 'lose next':
        // An answer without rows is like that of a feed without changes. If the size cannot be asked for, and no full page has named a next one, the rows behind it are like rows that are gone.
        shape.isNextLost =
          !shape.beginsBlank &&
          !shape.ragged &&
          (hasSizes(shape) ||
            (publisher.owned().deps.state.offset.rows_before_next >= shape.cap && shape.cap === first.cap));
        return;
      case 'lower cap':
        // Nor is a shorter page like the one before, if its size cannot be asked for.
        if (hasSizes(shape) || !shape.isNextLost) shape.cap = Math.min(shape.cap, 7);
        return;
      case 'raise cap':
        shape.cap = 1000;
        return;
      case 'drop query':
        // During a snapshot, nothing tells that the answers are those of another request. Nor does a page 0 that seems to be there.
        if (publisher.owned().deps.state.offset.snapshot === 'complete' && shape.first === 'zero')
          shape.ignoresQuery = 10;
        return;
      case 'read query':
        shape.ignoresQuery = 0;
        return;
      case 'show nothing':
      case 'show rows':
        isBlank = now.kind === 'show nothing';
        return;
      case 'fix rows':
        broken.clear();
        return;
      case 'find next':
        shape.isNextLost = false;
        return;
      default:
        for (let i = 0; i < now.count; i++) {
          remember();
          const id = ids[(now.at + i) % Math.max(1, ids.length)];
          if (now.kind === 'create') write(`n${created++}`, second());
          else if (now.kind === 'import')
            write(`i${created++}`, second() + (now.at % 6 === 0 ? AHEAD : -3_000));
          else if (now.kind === 'revive') {
            const gone = removed.pop();
            if (gone !== undefined && !vendor.rows.has(gone) && shape.late === 0) write(gone, second());
          } else if (id !== undefined && now.kind === 'edit' && shape.beside === 'nothing')
            vendor.rows.set(id, { ...vendor.rows.get(id)!, notes: `edit ${requests}` });
          else if (id !== undefined && now.kind === 'restore' && shape.beside === 'nothing') {
            const [version] = versions.get(id) ?? [];
            restored.add(id);
            if (version !== undefined) vendor.rows.set(id, version);
          } else if (id !== undefined && now.kind === 'update') write(id, second());
          else if (id !== undefined && now.kind === 'remove' && i === 0) remove(id);
          else if (now.kind === 'break' && i === 0) broken.add(ids.at(-1 - (now.at % 6)) ?? '');
        }
        if (now.kind === 'break') return reconcileNow();
    }
  };
  let failed: unknown = null;
  try {
    const wide = { kind: 'wide poll' } as const;
    // The reconcile may end the use of the filter. Then the poll behind it reads everything for the first time.
    const end = [wide, { ...wide }, { kind: 'reconcile' } as const, { ...wide }];
    for (const now of [{ kind: 'poll' } as const, ...steps, ...end]) {
      const before = known();
      const timesBefore = times();
      const absent = [...gone].filter((id) => !vendor.rows.has(id));
      if (now === end[0]) {
        failed = null;
        isRestless = false;
        isBlank = false;
        broken.clear();
        shape.ignoresQuery = 0;
        clock.ms += unrest.index * 1_000;
        if (shape.late > 0) clock.ms += (AHEAD + shape.late) * 1_000;
      }
      await ended(now.kind, () =>
        step(now).catch((error) => {
          failed = error;
          throw error;
        }),
      );
      const after = known();
      expect([...before].filter((id) => !after.has(id) && vendor.rows.has(id))).toStrictEqual([]);
      const older = [...times()].filter(
        ([id, updated]) => !restored.has(id) && updated < (timesBefore.get(id) ?? 0),
      );
      expect(older).toStrictEqual([]);
      if (shape.beside === 'nothing')
        expect(absent.filter((id) => after.has(id) && !vendor.rows.has(id))).toStrictEqual([]);
      for (const id of before) if (!after.has(id)) gone.add(id);
    }
    // A feed or a range without rows does not tell that pages begin at 0 by now.
    const isRenumbered =
      (Number.isFinite(shape.range) || vendor.rows.size === 0) && shape.first !== first.first;
    // Long pages of rows that are left out look like the same page again.
    const isAlike = shape.hides && !hasSizes(shape);
    // If a first page has only rows that are left out, its number looks like none.
    const mayFail = [
      ...namedErrors(shape, vendor.rows.size),
      ...(isRenumbered || shape.hides ? ['SOURCE_NOT_FOUND'] : []),
      ...(isAlike ? ['SCAN_PAGING_IGNORED'] : []),
      ...(perSecond >= shape.depth ? ['SCAN_BEYOND_REACH'] : []),
      // Without a filter, nothing leads to the rows behind a limit that refuses them.
      ...(Number.isFinite(shape.depth) && shape.refusesDepth ? ['SOURCE_REQUEST_REFUSED'] : []),
      // No other pages show that pages of two rows end, unless their numbers count rows.
      ...(pageSize < 3 ? ['SOURCE_REQUEST_REFUSED', 'SCAN_PAGING_IGNORED'] : []),
    ];
    if (failed !== null) return expect(mayFail).toContain((failed as HighwaterError).code);
    // Nor does a range with one page.
    if (isRenumbered && vendor.rows.size <= pageSize) return;
    if (!(await isRead(publisher, vendor.rows, shape, pageSize))) return;
    // If ties change places, or pages are lost, a look may miss one of two rows with one id, like a record that changes and changes back.
    if (shape.beside !== 'nothing' && (shape.ties === 'by page' || shape.isNextLost)) return;
    // On two pages of a few rows, two rows with one id look like a record that changes. So they do if pages of each size end at other rows.
    if (hasTwins(shape) && (pageSize === 2 || Number.isFinite(shape.depth))) return;
    // Two rows of one time may be published a few times when they first come on two pages.
    for (let more = hasTwins(shape) ? 4 : 0; ; more--) {
      const { seq } = publisher.owned().deps.state.offset;
      const before = known();
      for (const kind of ['poll', 'wide poll', 'reconcile'] as const) {
        const { last_complete_scan_ms } = publisher.owned().deps.state.offset;
        await step({ kind }).catch((error) => expect(mayFail).toContain(error.code));
        if (kind === 'reconcile' || !isPlain(shape, pageSize)) continue;
        expect(publisher.owned().deps.state.offset.last_complete_scan_ms).not.toBe(last_complete_scan_ms);
      }
      // A record that is gone may still be deleted.
      const deleted = [...before].filter((id) => !known().has(id) && !vendor.rows.has(id)).length;
      const published = publisher.owned().deps.state.offset.seq - seq - deleted;
      if (published === 0) return;
      expect(more).toBeGreaterThan(0);
    }
  } finally {
    await publisher.close();
  }
}

/** Whether nothing is to be said of an API at rest: it shows all its rows, each at its place, and ends its pages plainly. */
function isPlain(shape: VendorShape, pageSize: number): boolean {
  const { ties, beside, hides, depth, overlaps, endsOnItself, endless, isNextLost, since, late } = shape;
  const isWhole = !hides && depth === Number.POSITIVE_INFINITY && !isNextLost && late === 0;
  const isEnded = !overlaps && !endsOnItself && !endless && shape.pastEnd === 'empty';
  return ties === 'stable' && beside === 'nothing' && isWhole && isEnded && pageSize > 2 && since === 'from';
}

/** Whether everything is published as the API shows it. If not, it was said. */
async function isRead(
  publisher: TestPublisher,
  rows: ReadonlyMap<string, VendorRow>,
  shape: VendorShape,
  pageSize: number,
): Promise<boolean> {
  const { images, state } = publisher.owned().deps;
  const unknown = [...rows.values()].filter(({ id, notes }) => {
    if (id.startsWith('hidden')) return false;
    const image = state.image(id);
    if (image === undefined) return true;
    const published = images.decode(image).values.notes;
    // Nothing tells which one of them is the record. Without a time, that holds for versions as well.
    const isAmbiguous =
      shape.beside === 'namesakes' ? published === 'a namesake' : hasVersionsOfOneTime(shape);
    return published !== notes && !isAmbiguous;
  });
  if (unknown.length === 0) return true;
  // Records may have several rows.
  const isBeyond = shape.depth < rows.size * (shape.beside === 'nothing' ? 1 : 2);
  // If pages just end, nothing tells of rows that have never come.
  if (!isNumbered(shape) && isBeyond) return false;
  const { warnings } = publisher.logger;
  expect([unknown.map(({ id }) => id), warnings.length > 0]).toStrictEqual([expect.anything(), true]);
  if (isBeyond || shape.hides || shape.isNextLost) {
    expect(warnings.join()).toContain('nothing of it is deleted');
    return false;
  }
  // Only if no other borders can be asked for, or rows look alike, a row may be hidden for good.
  const canBeRead = hasSizes(shape) && pageSize > 2 && !shape.hides && !shape.ragged && !hasTwins(shape);
  expect([shape.ties, canBeRead]).toStrictEqual(['by page', false]);
  // An empty page among others may hide that rows come again.
  expect(warnings.join()).toMatch(/may stand in the place of others|The scan does not count as complete/);
  return false;
}

it(
  `no ordinary API has live records deleted or rows left out unsaid (${RUNS.numRuns} runs)`,
  async () => {
    await fc.assert(fc.asyncProperty(world, play), RUNS);
  },
  modelMs(RUNS.numRuns),
);

/** The filter goes by the time of creation, so that all delays look like one lag of hours: each second shows the rows of hours again. */
const lagBehindWrites: World = {
  shape: {
    ...plainShape,
    ...{ style: 'link', blanks: 3, beginsBlank: true, endless: true, linksNumbers: true },
    ...{ first: 'one, zero is empty', pastEnd: 'last page', ties: 'by page', since: 'created', says: 'more' },
  },
  rows: 60,
  perSecond: 3,
  pageSize: 10,
  delay: 0.1,
  steps: [{ kind: 'lose next' }, { kind: 'poll' }, { kind: 'create', at: 674, count: 1 }],
  unrest: { moves: 7, stale: 0, behind: 0, index: 0, blank: 0, lacks: 0, fails: 0, odd: 0 },
};

it(
  'polls end though rows are written faster than a filter with a lag shows them',
  () => play(lagBehindWrites),
  600_000,
);
