import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import type { FeedStatus } from '../../../src/cli/feed-status';
import { cellsOf } from '../../../src/cli/format/cells';
import { statusTable } from '../../../src/cli/format/status-table';

const nowMs = 1_800_000_000_000;
const fine: FeedStatus = {
  feed: 'ipos',
  owner: 'host:4711',
  behind: false,
  high_water_mark: nowMs / 1_000 - 40,
  last_complete_scan_ms: nowMs - 5_000,
  seconds_since_complete_scan: 5,
  poll_interval_ms: 60_000,
  records: 12_345,
  commit: 1,
  seq: 12_345,
  incarnation: 'abcd',
  snapshot: 'complete',
  backfill: null,
  paused: false,
  parked: null,
  last_error: null,
  dead_letters: 0,
  backfill_done: null,
};
const refused = {
  parked: 'SOURCE_UNAUTHORIZED',
  last_error: 'SOURCE_UNAUTHORIZED: ipos: GET http://api answered 401',
};

function table(all: readonly Partial<FeedStatus>[], width = Number.POSITIVE_INFINITY, color = false): string {
  return statusTable(
    all.map((one) => ({ ...fine, ...one })),
    { nowMs, width, color },
  );
}

it('says at a glance that all is well', () => {
  expect(table([{}, { feed: 'insights', records: 7 }])).toBe(
    `FEED      STATE         LAST SCAN  RECORDS  MARK      OWNER
ipos      ✓ up to date  5 s ago     12,345  40 s ago  host:4711
insights  ✓ up to date  5 s ago          7  40 s ago  host:4711

All 2 feeds are up to date.
`,
  );
});

it('says below the table what is wrong and what to do, the worst first, one remedy once', () => {
  const text = table([
    { paused: true, dead_letters: 2 },
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
  do: Set a valid token (HIGHWATER_API_TOKEN or HIGHWATER_API_TOKEN_FILE) and start again. (\`highwater explain SOURCE_UNAUTHORIZED\`)
‖ ipos is paused by an operator, and not polled.
  do: \`highwater resume ipos\`
! ipos has 2 dead letters, which could not be published.
  do: \`highwater dead-letters list ipos\`
0 of 3 feeds up to date.
`,
  );
});

it('tells a backfill and a snapshot that run from what is wrong', () => {
  const text = table([{ backfill_done: 0.429 }, { feed: 'insights', snapshot: 'running', behind: true }]);
  expect(text).toMatch(/^ipos +↻ backfill 42 %/m);
  expect(text).toMatch(/^insights +↻ snapshot/m);
  expect(text).toMatch(/\n\n0 of 2 feeds up to date, 2 being read\.\n$/);
});

it('says who is missing: all publishers, or one', () => {
  expect(table([{ owner: null }])).toContain('✗ No publisher runs on this log.');
  expect(table([{ owner: null }, { feed: 'insights' }])).toContain('✗ No publisher has ipos');
});

it('says how long a feed is behind, and by what interval', () => {
  const text = table([{ behind: true, last_complete_scan_ms: nowMs - 600_000 }]);
  expect(text).toContain(
    '! ipos is behind: its last complete scan was 10 min ago, and it is to be polled every 60 s.',
  );
});

it('leaves out columns where there is no room, the owner before the state', () => {
  const heads = (width: number) => table([{}], width).split('\n')[0];
  expect(heads(45)).toBe('FEED  STATE         LAST SCAN  OWNER');
  expect(heads(30)).toBe('FEED  STATE         LAST SCAN');
  expect(heads(20)).toBe('FEED  STATE');
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom(
    '東京市場株式会社',
    'e\u0301'.repeat(30),
    '\u001b[2J\r\n\u202e',
    '👩‍👩‍👧‍👦❤️🇩🇪',
    'x'.repeat(200),
  ),
);
const status: fc.Arbitrary<Partial<FeedStatus>> = fc.record(
  {
    feed: text,
    owner: fc.option(text),
    behind: fc.boolean(),
    high_water_mark: fc.option(fc.nat(2 ** 31)),
    last_complete_scan_ms: fc.option(fc.nat({ max: 2 * nowMs })),
    records: fc.nat(1_000_000_000),
    snapshot: fc.constantFrom('pending', 'running', 'complete'),
    paused: fc.boolean(),
    parked: fc.option(text),
    last_error: fc.option(
      fc.oneof(
        text,
        text.map((said) => `SOURCE_TIMEOUT: ${said}`),
      ),
    ),
    dead_letters: fc.nat(2_000),
    backfill_done: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
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
    { numRuns: 300 },
  );
});
