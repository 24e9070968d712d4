import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { statusLines } from '../../../src/cli/status';
import { cellsOf, painted } from '../../../src/cli/terminal/text';
import { errorKinds } from '../../../src/errors';
import { feedStatus } from '../../../src/feed-status/feed-status';
import { describeProgress } from '../../../src/pipeline/rounds/backfill';
import { firstSourceOffset, type SourceOffset } from '../../../src/state/source-offset';
import { anyCharacter } from '../../support/any-character';
import { runs } from '../../support/runs';

const nowMs = 1_800_000_000_000;
const fine: SourceOffset = {
  ...firstSourceOffset('ipos', 'abcd', 's'),
  high_water_mark: nowMs / 1_000 - 40,
  last_complete_scan_ms: nowMs - 5_000,
  poll_interval_ms: 60_000,
  record_count: 12_345,
  commit: 1,
  seq: 12_345,
  snapshot: 'complete',
};
const refused = {
  parked: 'SOURCE_UNAUTHORIZED',
  last_error: 'SOURCE_UNAUTHORIZED: ipos: GET http://api answered 401',
};

interface Row extends Partial<Omit<SourceOffset, 'owner'>> {
  readonly owner?: string | null;
  readonly deadLetters?: number;
  readonly api?: string | null;
}

function table(all: readonly Row[], width = Number.POSITIVE_INFINITY, color = false): string {
  const rows = all.map(({ owner = 'host:4711', deadLetters = 0, api = 'https://api.example', ...change }) => {
    const offset: SourceOffset = { ...fine, ...change };
    const feed = { name: offset.feed, pollIntervalMs: 1, reconcileEveryMs: null };
    const backfillDone = describeProgress(offset, nowMs)?.done ?? null;
    const status = feedStatus({ feed, offset, owner, live: null, deadLetters, backfillDone }, nowMs);
    return {
      ...status,
      dead_letters: deadLetters,
      api,
      log_bytes: null,
      log_free_bytes: null,
      requests_per_poll: null,
    };
  });
  return statusLines({ all: rows }, { nowMs, width })
    .map((line) => `${painted(line, width, color)}\n`)
    .join('');
}

it('says at a glance that all is well', () => {
  expect(table([{}, { feed: 'insights', record_count: 7 }])).toBe(
    `FEED      STATE         LAST SCAN  RECORDS  MARK      OWNER
ipos      ✓ up to date  5 s ago     12,345  40 s ago  host:4711
insights  ✓ up to date  5 s ago          7  40 s ago  host:4711

All 2 feeds are up to date.
`,
  );
});

it('does not call a feed well that never saw a row', () => {
  const text = table([{}, { feed: 'tasks', record_count: 0, high_water_mark: 0 }]);
  expect(text).toContain('tasks  ? no rows yet  5 s ago          0  -         host:4711');
  expect(text).toContain('! tasks: No rows yet: the API was read to its end, and has never shown one.');
  expect(text).toContain('1 of 2 feeds up to date.');
});

it('says below the table what is wrong and what to do, the worst first, one remedy once', () => {
  const text = table([
    { paused: true, deadLetters: 2 },
    { feed: 'insights', ...refused },
    {
      feed: 'analysts',
      ...refused,
      last_error: 'SOURCE_UNAUTHORIZED: analysts: GET http://api answered 401',
    },
  ]);
  expect(text.split('\n\n').slice(1).join('\n')).toBe(
    `✗ insights: SOURCE_UNAUTHORIZED: ipos: GET http://api answered 401
✗ analysts: SOURCE_UNAUTHORIZED: GET http://api answered 401
  do: ${errorKinds.SOURCE_UNAUTHORIZED.remedy} (\`highwater explain SOURCE_UNAUTHORIZED\`)
! ipos: 2 rows could not be published, and are dead letters.
  do: \`highwater dead-letters list ipos\` says why; then \`highwater dead-letters retry ipos\`.
‖ ipos: Paused by an operator, and not polled.
  do: \`highwater resume ipos\`
0 of 3 feeds up to date.
`,
  );
});

it('tells a backfill and a snapshot that run from what is wrong', () => {
  const backfill = {
    from: '2026-01-01',
    to: '2026-01-10',
    next_date: '2026-01-05',
    next_second: null,
    asked_ms: nowMs - 1_000,
    spent_ms: 1_000,
    pages: 1,
    rows: 1,
  };
  const running = { feed: 'insights', snapshot: 'running', last_complete_scan_ms: null } as const;
  const text = table([{ backfill }, running]);
  expect(text).toMatch(/^ipos +↻ backfill 40 %/m);
  expect(text).toMatch(/^insights +↻ snapshot/m);
  expect(text).toMatch(/\n\n0 of 2 feeds up to date, 2 being read\.\n$/);
});

it('says who is missing: all publishers, or one', () => {
  expect(table([{ owner: null }])).toContain('✗ No publisher runs on this log.');
  expect(table([{ owner: null }, { feed: 'insights' }])).toContain('✗ No publisher has ipos');
  expect(table([{ owner: null, paused: true }])).not.toContain('No publisher');
});

it("says how long a feed is behind, and by what interval of its publisher's", () => {
  const text = table([{ last_complete_scan_ms: nowMs - 600_000 }]);
  expect(text).toMatch(/^ipos +! behind/m);
  expect(text).toContain('! ipos: The last complete scan was 10 min ago, and a poll is due every 60 s.');
});

it('names the last error of a feed that is up to date all the same', () => {
  const text = table([{ last_error: 'SOURCE_TIMEOUT: ipos: no answer' }]);
  expect(text).toMatch(/^ipos +✓ up to date/m);
  expect(text).toContain('! ipos: SOURCE_TIMEOUT: no answer\n  do: ');
});

it('names the API of each feed when they differ', () => {
  expect(table([{}, { feed: 'orders', api: 'https://shop.example/v1' }, { feed: 'x', api: null }])).toBe(
    `FEED    STATE         LAST SCAN  RECORDS  MARK      API              OWNER
ipos    ✓ up to date  5 s ago     12,345  40 s ago  api.example      host:4711
orders  ✓ up to date  5 s ago     12,345  40 s ago  shop.example/v1  host:4711
x       ✓ up to date  5 s ago     12,345  40 s ago  not set          host:4711

All 3 feeds are up to date.
`,
  );
});

it('leaves out columns where there is no room, the owner before the state', () => {
  const heads = (width: number) => table([{}], width).split('\n')[0];
  expect(heads(45)).toBe('FEED  STATE         LAST SCAN  OWNER');
  expect(heads(30)).toBe('FEED  STATE         LAST SCAN');
  expect(heads(20)).toBe('FEED  STATE');
});

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom(
    '東京市場株式会社',
    'e\u0301'.repeat(30),
    '\u001b[2J\r\n\u202e',
    '👩‍👩‍👧‍👦❤️🇩🇪',
    'x'.repeat(200),
  ),
);
const status: fc.Arbitrary<Row> = fc.record(
  {
    feed: text,
    owner: fc.option(text),
    high_water_mark: fc.nat(2 ** 31),
    last_complete_scan_ms: fc.option(fc.nat({ max: 2 * nowMs })),
    poll_interval_ms: fc.option(fc.nat(86_400_000)),
    record_count: fc.nat(1_000_000_000),
    snapshot: fc.constantFrom('pending', 'running', 'complete'),
    paused: fc.boolean(),
    parked: fc.option(text),
    last_error: fc.option(
      fc.oneof(
        text,
        text.map((said) => `SOURCE_TIMEOUT: ${said}`),
      ),
    ),
    deadLetters: fc.nat(2_000),
    api: fc.option(text),
  },
  { requiredKeys: [] },
);

it('has no line that is wider than the terminal, nor one that steers it, whatever is stored', () => {
  fc.assert(
    fc.property(
      fc.array(status, { maxLength: 4 }),
      fc.integer({ min: 1, max: 150 }),
      fc.boolean(),
      (all, width, color) => {
        const lines = stripVTControlCharacters(table(all, width, color)).split('\n');
        for (const line of lines) {
          expect(cellsOf(line)).toBeLessThanOrEqual(width);
          expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
        }
      },
    ),
    { numRuns: runs(30) },
  );
});
