import fc from 'fast-check';
import { HighwaterError } from '../../src/errors';
import type { Feed } from '../../src/feeds/feed';
import type { PageRequest, Source, SourcePage } from '../../src/source/source';
import { testFeed } from './feeds';
import { ipo } from './records';

export interface VendorRow {
  readonly id: string;
  readonly updated: number;
  readonly [field: string]: unknown;
}

/** The ways of a vendor, which change while it is read. */
export type ChangingShape = { -readonly [Member in keyof VendorShape]: VendorShape[Member] };

/** A vendor's paging style and its oddities. */
export interface VendorShape {
  readonly style: 'page' | 'offset' | 'cursor' | 'link' | 'none';
  /** The feed knows when a row was updated; else it has no filter either. */
  readonly dated: boolean;
  /** There is an updatedSince parameter. */
  readonly filter: boolean;
  /** The page size can be asked for. */
  readonly sized: boolean;
  /** What page sizes other than the feed's get: pages of this size, a refusal, or pages of the feed's size. */
  readonly otherSizes: 'taken' | 'refused' | 'ignored';
  /** Most rows on a page, for any requested size. */
  readonly cap: number;
  /** `rank`: by a value that any write may change. */
  readonly order: 'updated' | 'newest' | 'id' | 'rank';
  /** Pages without rows that come before each page with rows but the first; cursors and links name them as others. */
  readonly blanks: number;
  /** They come before the first page, too. */
  readonly beginsBlank: boolean;
  /** The last page names a next one, which is empty. */
  readonly endsEmpty: boolean;
  /** The last page names a next one, too, which is empty and leads to itself. */
  readonly endless: boolean;
  /** That page has the last row again, as if places were times. */
  readonly endsInLast: boolean;
  /** The last page, which has rows, names itself as the next one. */
  readonly endsOnItself: boolean;
  /** No answer names a next page any more, for example since the member has another name. */
  readonly isNextLost: boolean;
  /** The last page of a cursor or a link says that it is the last. */
  readonly saysEnd: boolean;
  /** A page begins with the last row of the page before. */
  readonly overlaps: boolean;
  /** A link or a cursor holds a page number; else it holds a place in the order. */
  readonly linksNumbers: boolean;
  /** Without paging, an answer has no more rows than a page. */
  readonly isCut: boolean;
  /** Number of the first page, for the style `page`. Without a page 0, page 0 is refused, empty or the first page, too. */
  readonly first: 'zero' | 'one, zero is refused' | 'one, zero is empty' | 'one, zero is the same';
  /** Positions behind the last row, for the styles `page` and `offset`: they are empty or refused, or begin again. */
  readonly pastEnd: 'empty' | 'not found' | 'refused' | 'first page' | 'last page';
  /** Rows of one second: in the order of ids, or turned round on every other page, in the same way at each request. */
  readonly ties: 'stable' | 'by page';
  /** What the filter shows: see `filters`. */
  readonly since: keyof typeof filters;
  /**
   * What answers of numbered pages say of the pages behind them. A capped total counts to 20 at most. By length: more rows follow a page
   * of the size that was asked for. To the depth: as if no rows were behind it.
   */
  readonly says:
    | 'nothing'
    | 'more'
    | 'more by length'
    | 'total'
    | 'capped total'
    | 'total to depth'
    | 'more to depth'
    | 'total of all'
    | 'total of page';
  /** Rows with an id that begins with `hidden` are left out of each page, after it was cut. */
  readonly hides: boolean;
  /** Rows beside that of a record: its earlier versions, or a second record with the same id and the same time, for some ids. */
  readonly beside: 'nothing' | 'versions' | 'namesakes';
  /** Numbered positions from here on are empty, whatever is there, and their answers say what that of the first page says. */
  readonly depth: number;
  /** They are refused instead. */
  readonly refusesDepth: boolean;
  /** Pages that a cursor or a link leads to have any number of rows. */
  readonly ragged: boolean;
  /** The filter refuses a time ahead of the present. */
  readonly refusesAhead: boolean;
  /** An answer holds only rows of so many seconds from the second that is asked for; Infinity: all. The feed declares it. */
  readonly range: number;
  /** The range's end is asked for, and is part of it or not. `unsaid`: it follows from the second that is asked for. */
  readonly until: 'unsaid' | 'included' | 'excluded';
  /** Times are rounded down to so many seconds, so that a row may change and keep its time. */
  readonly rounds: number;
  /** Times have milliseconds. The filter and the order go by them. */
  readonly fractions: boolean;
  /** A version of a row is shown so many seconds after its time; until then the one before it, if there is one. */
  readonly late: number;
  /** Until then a record that is written is on no page; else its version before is. */
  readonly hidesWrites: boolean;
  /**
   * A cursor is the id of the page's last row: the next page begins behind the present position of this record. If the record is gone, the
   * answer is one of these. `no`: cursors are not ids.
   */
  readonly keyset: 'no' | 'refused' | 'not found' | 'first page' | 'empty';
  /** The pages that a cursor or a link leads to show the rows as they were at the first page. */
  readonly held: boolean;
  /** Each answer is a first page of so many rows, whatever is asked for; 0: no. */
  readonly ignoresQuery: number;
  /** How long a cursor or a link is good, in ms. */
  readonly lives: number;
  /** Seconds by which the vendor's clock is ahead of the program's; less than 0: behind it. */
  readonly skew: number;
  /** Answers have no header `Date`. */
  readonly dateless: boolean;
}

/** Each maps the second that is asked for to the least second of the rows that the filter shows. */
export const filters = {
  from: (since: number) => since,
  after: (since: number) => since + 1,
  minute: (since: number) => Math.ceil(since / 60) * 60,
  hours: (since: number) => since + 8 * 3600,
  earlier: (since: number) => since - 8 * 3600,
  /** By the time at which a row was created. */
  created: (since: number) => since,
  /** By a time that a row has only once it was changed. Rows show the time of their creation before. */
  edited: (since: number) => since,
  /** Some rows of the very second are left out, as if times were compared as texts. */
  'in part': (since: number) => since,
} as const;

export const plainShape: VendorShape = {
  style: 'cursor',
  filter: true,
  sized: true,
  otherSizes: 'taken',
  cap: 1000,
  order: 'updated',
  blanks: 0,
  beginsBlank: false,
  endsEmpty: false,
  endless: false,
  endsInLast: false,
  endsOnItself: false,
  isNextLost: false,
  saysEnd: false,
  overlaps: false,
  linksNumbers: false,
  isCut: false,
  first: 'zero',
  pastEnd: 'empty',
  dated: true,
  ties: 'stable',
  since: 'from',
  says: 'nothing',
  hides: false,
  beside: 'nothing',
  depth: Number.POSITIVE_INFINITY,
  refusesDepth: false,
  ragged: false,
  refusesAhead: false,
  range: Number.POSITIVE_INFINITY,
  until: 'unsaid',
  rounds: 1,
  fractions: false,
  late: 0,
  hidesWrites: false,
  keyset: 'no',
  held: false,
  ignoresQuery: 0,
  lives: Number.POSITIVE_INFINITY,
  skew: 0,
  dateless: false,
};

type ShapeArbitraries = { readonly [Member in keyof VendorShape]: fc.Arbitrary<VendorShape[Member]> };

/** Any shape, whose members a model narrows where it has to. A member that is not named here is that of `plainShape`. */
export const anyShape: ShapeArbitraries = {
  ...(Object.fromEntries(
    Object.entries(plainShape).map(([member, value]) => [member, fc.constant(value)]),
  ) as unknown as ShapeArbitraries),
  style: fc.constantFrom('page', 'offset', 'cursor', 'link', 'none'),
  filter: fc.boolean(),
  sized: fc.boolean(),
  order: fc.constantFrom('updated', 'updated', 'newest', 'id'),
  blanks: fc.constantFrom(0, 0, 3),
  beginsBlank: fc.boolean(),
  endsEmpty: fc.boolean(),
  endless: fc.boolean(),
  endsInLast: fc.boolean(),
  endsOnItself: fc.boolean(),
  saysEnd: fc.boolean(),
  overlaps: fc.boolean(),
  linksNumbers: fc.boolean(),
  isCut: fc.boolean(),
  first: fc.constantFrom(
    'zero',
    'zero',
    'one, zero is refused',
    'one, zero is empty',
    'one, zero is the same',
  ),
  pastEnd: fc.constantFrom('empty', 'empty', 'not found', 'refused', 'first page', 'last page'),
  dated: fc.constantFrom(true, true, true, false),
  ties: fc.constantFrom('stable', 'by page'),
  since: fc.constantFrom('from', 'from', 'after', 'minute', 'hours', 'earlier'),
  refusesAhead: fc.boolean(),
};

/** A vendor in memory that pages in any of the styles. Its rows may be changed at any time. */
export interface StyledVendor extends Source {
  readonly rows: Map<string, VendorRow>;
  /** Writes an IPO whose notes tell its versions apart. @param updated Unix seconds */
  write(id: string, updated: number): void;
  readonly asked: PageRequest[];
  /** Id → the second at which the row was created. Default: the second at which it was first asked for. */
  readonly created: Map<string, number>;
  /** The rows that continued pages show, by number, if the shape is `held`. A replica has the array of its vendor. */
  held: (readonly KeyedRow[])[];
  /** Cursor or link → when an answer named it last, own clock in ms. A replica has the map of its vendor. */
  namedAt: Map<string, number>;
  /** Called before each answer with the number of the request, from 1. */
  beforeAnswer(request: number): void;
  /** Changes `next`, given the earlier ones. */
  named: (next: string, before: readonly string[]) => string;
  /** Changes an answer. */
  shows: (page: SourcePage, request: PageRequest) => SourcePage;
}

/** Where a page begins: behind a row, or by number, after some pages without rows. */
interface Place {
  readonly after: readonly (string | number)[] | null;
  readonly page: number;
  readonly blanks: number;
  /** Number of the rows that are held, if they are. */
  readonly held?: number;
}

interface KeyedRow {
  readonly row: VendorRow;
  readonly key: readonly (string | number)[];
}

/** @param ownMs clock of the program */
export function styledVendor(shape: VendorShape, ownMs: () => number): StyledVendor {
  const nowMs = () => ownMs() + shape.skew * 1000;
  const asked: PageRequest[] = [];
  let writes = 0;
  const named: string[] = [];
  const created = new Map<string, number>();
  const earlier = new Map<string, VendorRow[]>();
  const latest = new Map<string, VendorRow>();

  /** All rows that an answer may show. */
  function* shown(): Generator<VendorRow> {
    for (const row of vendor.rows.values()) {
      const { id } = row;
      const before = latest.get(id);
      if (before !== row && (row.updated + shape.late) * 1000 > nowMs() && shape.late > 0) {
        if (before !== undefined && !shape.hidesWrites) yield before;
        continue;
      }
      if (before !== undefined && before !== row) earlier.set(id, [...(earlier.get(id) ?? []), before]);
      latest.set(id, row);
      if (shape.beside === 'versions') yield* earlier.get(id) ?? [];
      yield row;
      if (shape.beside === 'namesakes' && /[27]$/.test(id)) yield { ...row, notes: 'a namesake' };
    }
  }

  function answer(request: PageRequest): Pick<SourcePage, 'rows' | 'next' | 'isLast' | 'total'> {
    const { pageOffset, pageSize } = request;
    const size = Math.min(shape.cap, shape.sized ? pageSize : Number.POSITIVE_INFINITY);
    for (const { id, updated } of vendor.rows.values()) if (!created.has(id)) created.set(id, updated);
    const isFiltered = shape.filter && shape.dated && request.updatedSince > 0;
    const isWholeToDepth = shape.says.endsWith('to depth');
    if (isFiltered && shape.refusesAhead && request.updatedSince > nowMs() / 1000) refuse();
    const since = isFiltered ? filters[shape.since](request.updatedSince) : 0;
    const until = endOf(request);
    const place = placeOf(request.continuation);
    const present: readonly KeyedRow[] = [...shown()]
      .filter(({ id, updated }) => {
        const second = shape.since === 'created' ? created.get(id)! : updated;
        const isLeftOut =
          isFiltered &&
          ((shape.since === 'edited' && created.get(id) === updated) ||
            (shape.since === 'in part' && Math.floor(second) === since && /[13579]$/.test(id)));
        return second >= since && second <= until && !isLeftOut;
      })
      .map((row) => ({ row, key: keyOf(row, shape.order) }))
      .sort((a, b) => compare(a.key, b.key))
      .slice(0, isWholeToDepth ? shape.depth : Number.POSITIVE_INFINITY);
    const all = place.held === undefined ? present : (vendor.held[place.held] ?? present);
    const turned = shape.ties === 'stable' ? all : withTurnedTies(all);
    const slice = (from: number, to: number) =>
      (Math.floor(from / size) % 2 === 1 ? turned : all)
        .slice(from, to)
        .map(({ row }) => row)
        .filter(({ id }) => !(shape.hides && id.startsWith('hidden')));
    const said = (from: number): Pick<SourcePage, 'isLast' | 'total'> => {
      if (shape.says === 'nothing') return {};
      if (shape.says === 'more' || shape.says === 'more to depth')
        return { isLast: from + size >= all.length };
      if (shape.says === 'more by length')
        return { isLast: slice(from, from + size).length < (shape.sized ? pageSize : shape.cap) };
      if (shape.says === 'total of page') return { total: slice(from, from + size).length };
      if (shape.says === 'total of all') return { total: [...shown()].length };
      return { total: shape.says !== 'capped total' ? all.length : Math.min(all.length, 20) };
    };
    if (shape.style === 'none')
      return { rows: slice(0, shape.isCut ? size : Number.POSITIVE_INFINITY), next: null };
    if (shape.style === 'page' || shape.style === 'offset') {
      const page = pageOffset - (shape.style === 'page' && shape.first !== 'zero' ? 1 : 0);
      const least = shape.first === 'one, zero is the same' ? 0 : -1;
      const from = shape.style === 'page' ? Math.min(Math.max(page, least) * size, 1e9) || 0 : page;
      if (from < 0) return shape.first === 'one, zero is empty' ? { rows: [], next: null } : refuse();
      if (from >= shape.depth && from < all.length && shape.refusesDepth) refuse();
      if (from >= shape.depth && from < all.length) return { rows: [], next: null, ...said(0) };
      if (from === 0 || from < all.length)
        return { rows: slice(from, from + size), next: null, ...said(from) };
      const last = Math.floor((all.length - 1) / size) * size;
      switch (shape.pastEnd) {
        case 'empty':
          return { rows: [], next: null, ...said(from) };
        case 'not found':
          return refuse('SOURCE_NOT_FOUND');
        case 'refused':
          return refuse();
        case 'first page':
          return { rows: slice(0, size), next: null };
        case 'last page':
          return { rows: slice(Math.max(0, last), all.length), next: null };
      }
    }

    if (place.blanks > 0) return { rows: [], next: nameOf({ ...place, blanks: place.blanks - 1 }) };
    const { continuation } = request;
    if (place.isGone && shape.keyset === 'refused') refuseCursor('SOURCE_REQUEST_REFUSED');
    if (place.isGone && shape.keyset === 'not found') refuseCursor();
    if (place.isGone && shape.keyset === 'empty') return { rows: [], next: null };
    const behind = all.findIndex(({ key }) => place.after === null || compare(key, place.after) > 0);
    const from = shape.linksNumbers ? place.page * size : behind === -1 ? all.length : behind;
    const isBehind = shape.endless && from >= all.length;
    const to = from + (shape.ragged && !shape.linksNumbers ? 1 + ((from * 7) % size) : size);
    const rows = slice(shape.overlaps && from > 0 && !isBehind ? from - 1 : from, to);
    const isCutOff = !isWholeToDepth && from + 2 * size > shape.depth;
    const isLast = isCutOff || (shape.endsEmpty ? from >= all.length : to >= all.length);
    if (isBehind)
      return {
        rows: shape.endsInLast ? slice(all.length - 1, all.length) : rows,
        next: continuation ?? null,
      };
    if (isLast && shape.endsOnItself) return { rows, next: continuation ?? null };
    if (isLast && !shape.endless) return { rows, next: null };
    if (shape.keyset !== 'no') return { rows, next: rows.at(-1)?.id ?? null };
    const after = all[Math.min(to, all.length) - 1]!.key;
    const heldAs = shape.held ? { held: place.held ?? vendor.held.push(all) - 1 } : {};
    return { rows, next: nameOf({ after, page: place.page + 1, blanks: shape.blanks, ...heldAs }) };
  }

  function plainRequest(): PageRequest {
    const pageOffset = shape.style === 'page' && shape.first !== 'zero' ? 1 : 0;
    return { updatedSince: 0, pageOffset, pageSize: shape.ignoresQuery };
  }

  /** The last second of the rows that an answer shows. */
  function endOf({ updatedSince, updatedUntil }: PageRequest): number {
    if (shape.until === 'unsaid' || updatedUntil === undefined) return updatedSince + shape.range;
    return updatedUntil + (shape.until === 'included' ? 0.999 : -0.001);
  }

  function placeOf(continuation: string | undefined): Place & { readonly isGone?: boolean } {
    const first = { after: null, page: 0, blanks: shape.beginsBlank ? shape.blanks : 0 };
    if (continuation === undefined) return first;
    if (ownMs() - (vendor.namedAt.get(continuation) ?? 0) > shape.lives) refuseCursor();
    if (shape.keyset === 'no') return JSON.parse(continuation);
    const row = vendor.rows.get(continuation);
    return row === undefined ? { ...first, isGone: true } : { ...first, after: keyOf(row, shape.order) };
  }

  function nameOf(place: Place): string {
    const next = vendor.named(JSON.stringify(place), named);
    named.push(next);
    vendor.namedAt.set(next, ownMs());
    return next;
  }

  const vendor: StyledVendor = {
    rows: new Map(),
    write(id, second) {
      const updated = Math.floor(second / shape.rounds) * shape.rounds;
      const hasFraction = shape.fractions && shape.rounds === 1;
      const fraction = hasFraction ? ((writes++ * 37) % 100) / 100 : 0;
      vendor.rows.set(id, { ...ipo({ id, notes: `${second}` }), id, updated: updated + fraction });
    },
    asked,
    created,
    held: [],
    namedAt: new Map(),
    beforeAnswer() {},
    named: (next) => next,
    shows: (page) => page,
    async fetchPage(feed, request): Promise<SourcePage> {
      asked.push(request);
      if (shape.otherSizes === 'refused' && request.pageSize !== feed.pageSize) refuse();
      vendor.beforeAnswer(asked.length);
      const { pageSize } = shape.otherSizes === 'ignored' ? feed : request;
      const found = answer(shape.ignoresQuery > 0 ? plainRequest() : { ...request, pageSize });
      const page = shape.isNextLost ? { ...found, next: null } : found;
      const inMs = ({ updated, ...row }: VendorRow) => ({ ...row, updated: Math.round(updated * 1_000) });
      const rows = shape.fractions ? (page.rows as VendorRow[]).map(inMs) : page.rows;
      const clocks = { serverDateMs: shape.dateless ? null : nowMs(), receivedAtMs: ownMs() };
      const isNumbered = ['page', 'offset', 'none'].includes(shape.style);
      const isEndSaid = shape.saysEnd && !isNumbered && !shape.isNextLost && page.next === null;
      return vendor.shows({ ...page, rows, ...clocks, isEndSaid }, request);
    },
  };
  return vendor;
}

function refuse(code: 'SOURCE_NOT_FOUND' | 'SOURCE_REQUEST_REFUSED' = 'SOURCE_REQUEST_REFUSED'): never {
  throw new HighwaterError(code, 'GET https://api.example/things answered with "invalid page".');
}

/** An API's answer to a cursor that it no longer knows. */
export function refuseCursor(
  code: 'SOURCE_NOT_FOUND' | 'SOURCE_REQUEST_REFUSED' = 'SOURCE_NOT_FOUND',
): never {
  throw new HighwaterError(code, 'GET https://api.example/things answered with "cursor expired".');
}

/** Errors by which a scan may end in front of such a vendor, instead of reading all its rows. */
export function namedErrors(shape: VendorShape, rows: number): readonly string[] {
  const { style, sized, otherSizes, isCut, endsOnItself, overlaps, pastEnd, ties, hides, beside } = shape;
  if (style === 'none') return sized || isCut ? ['SCAN_BEYOND_REACH'] : [];
  // A last page whose rows were all on the page before looks like a place that is ignored.
  if (style === 'cursor' || style === 'link')
    return (shape.endless && shape.endsInLast && rows < 3) ||
      (endsOnItself && (overlaps || ties === 'by page' || beside !== 'nothing'))
      ? ['SCAN_CURSOR_REPEATED']
      : [];
  // A refusal behind a full page may be a limit of paging, if no pages with other borders can be asked for.
  const hasSizes = sized && otherSizes === 'taken';
  const isFirstTwice = style === 'page' && shape.first === 'one, zero is the same';
  const canTell = !hides && (style === 'offset' || (hasSizes && !isFirstTwice));
  if (pastEnd === 'refused') return canTell ? [] : ['SOURCE_REQUEST_REFUSED'];
  // If each number shows the same page, the numbers may be ignored. So do positions in front of a few rows among hidden ones.
  return hides || (pastEnd.endsWith('page') && !hasSizes) ? ['SCAN_PAGING_IGNORED'] : [];
}

/** A feed declared as the vendor pages. */
export function styledFeed(
  { style, dated, filter, sized, range, until, fractions }: VendorShape,
  overrides: Partial<Feed> = {},
  name = 'ipos',
): Feed {
  const feed = testFeed(name);
  const paging = {
    page: { style: 'page' },
    offset: { style: 'offset' },
    cursor: { style: 'cursor', parameter: 'after', from: 'next' },
    link: { style: 'link', from: null },
    none: { style: 'none' },
  } as const;
  const parameters = {
    page: style === 'page' || style === 'offset' ? style : null,
    pageSize: sized ? 'limit' : null,
    updatedSince: filter && dated ? 'since' : null,
    updatedUntil: Number.isFinite(range) && until !== 'unsaid' ? 'until' : null,
  };
  const updatedField = dated ? feed.updatedField : null;
  const windowSeconds = Number.isFinite(range) ? range : undefined;
  const updatedFormat = fractions ? 'milliseconds' : feed.updatedFormat;
  const read = { updatedField, updatedFormat, parameters, windowSeconds } as const;
  return { ...feed, ...read, paging: paging[style], ...overrides };
}

function keyOf({ id, updated, notes }: VendorRow, order: VendorShape['order']): readonly (string | number)[] {
  const unique = [id, updated, String(notes)];
  if (order === 'id') return unique;
  if (order === 'rank') return [rankOf(`${id} ${notes}`), ...unique];
  return order === 'updated' ? [updated, ...unique] : [-updated, ...unique];
}

function rankOf(text: string): number {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return Math.abs(hash) % 1_000;
}

/** Neighbours of the same second change places. */
function withTurnedTies<Row extends { readonly row: VendorRow }>(rows: readonly Row[]): readonly Row[] {
  const turned = [...rows];
  for (let i = 1; i < turned.length; i++) {
    if (turned[i - 1]!.row.updated !== turned[i]!.row.updated) continue;
    [turned[i - 1], turned[i]] = [turned[i]!, turned[i - 1]!];
    i++;
  }
  return turned;
}

function compare(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  for (const [i, one] of a.entries()) {
    const other = b[i]!;
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
