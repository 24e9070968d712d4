import fc from 'fast-check';
import { jsonText } from '../../../src/json/json-text';
import { parseJson } from '../../../src/json/parse-json';
import { UnreadableRow } from '../../../src/json/unreadable-row';
import { poll } from '../../../src/pipeline/poll';
import { pollRound } from '../../../src/pipeline/round';
import { retryDeadLetters } from '../../../src/pipeline/rounds/retry-dead-letters';
import type { VendorRecord } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { reconciled } from '../../support/operations';
import { insight, ipo } from '../../support/records';
import { runs } from '../../support/runs';
import { scriptedVendor } from '../../support/scripted-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

type Row = Record<string, unknown>;

const rowsOf = { ipos: ipo, insights: insight } as const;
type FeedName = keyof typeof rowsOf;

/** The stack of V8 takes some thousand levels of JSON.stringify, and fewer of code that calls itself. */
const DEEP = 5_000;

function nested(levels: number, as: 'list' | 'object' = 'list', within: unknown = null): unknown {
  let value = within;
  for (let i = 0; i < levels; i++) value = as === 'list' ? [value] : { a: value };
  return value;
}

/** Stands for the value of a row that was too large to be read. */
const whole = { sha256: 'ab'.repeat(32), bytes: 5_000_000 };

const vendor = scriptedVendor();
let publisher: TestPublisher;

async function started(name: FeedName): Promise<void> {
  vendor.rows = [];
  publisher = await testPublisher(testFeed(name, { pageSize: 1000, wideOverlapSeconds: 100_000 }), vendor);
  await publisher.poll(); // an empty snapshot: what comes is created
}

async function show(...rows: unknown[]): Promise<void> {
  vendor.rows = rows as Row[];
  await publisher.poll({ wide: true });
}

const published = async (name: FeedName) =>
  (await publisher.topic(name)).map(({ decoded }) => decoded!.after.id as string).sort();
const letters = async (name: FeedName) =>
  (await publisher.topic(`${name}.dead-letters`)).map(({ decoded }) => decoded!);

it('a dead letter beside records whose times have milliseconds holds up nothing', async () => {
  const feed = testFeed('ipos', { updatedFormat: 'milliseconds' });
  publisher = await testPublisher(feed, vendor);
  const updated = 1_789_000_000_123;
  vendor.rows = [
    { ...ipo({ id: 'a' }), updated },
    { ...ipo({ id: '' }), updated: updated + 5_000 },
  ] as Row[];
  await publisher.poll();
  expect([await published('ipos'), (await letters('ipos')).length]).toEqual([['a'], 1]);
  expect(publisher.offset().high_water_mark).toBe(1_789_000_000);
});

describe.each(['list', 'object'] as const)('a member that is nested deeply, each level a(n) %s', (as) => {
  const places: [string, Row][] = [
    ['an unknown member', { unknown: nested(DEEP, as) }],
    ['a text', { name: nested(DEEP, as) }],
    ['a list of texts', { lead_underwriters: nested(DEEP, as) }],
    ['the id', { id: nested(DEEP, as) }],
    ['the time stamp', { updated: nested(DEEP, as) }],
  ];

  it.each(places)('as %s makes its row a dead letter, and the other rows are published', async (_, odd) => {
    await started('ipos');
    const row = ipo({ id: 'odd', updated: 1001, ...odd });
    await show(ipo({ id: 'first', updated: 1000 }), row, ipo({ id: 'last', updated: 1002 }));
    expect(await published('ipos')).toEqual(['first', 'last']);
    const [letter, ...others] = await letters('ipos');
    expect(others).toStrictEqual([]);
    expect(letter!.reason).toContain('nested more than 500 levels deep');
    expect(letter!.raw).toContain(as === 'list' ? '[[[[[null]]]]]' : '{"a":{"a":{"a":null}}}');
    await show(row);
    expect(await letters('ipos')).toHaveLength(1);
  });

  it('on a known record makes that version a dead letter, and the next version is published', async () => {
    await started('ipos');
    await show(ipo({ id: 'a', updated: 1000, unknown: [1] }));
    await show(ipo({ id: 'a', updated: 1001, unknown: nested(DEEP, as) }), ipo({ id: 'b', updated: 1001 }));
    await show(ipo({ id: 'a', updated: 1002, unknown: [2] }));
    expect(await published('ipos')).toEqual(['a', 'a', 'b']);
    expect(await letters('ipos')).toHaveLength(1);
  });

  it('stays a dead letter when dead letters are tried again', async () => {
    await started('ipos');
    await show(ipo({ id: 'a', updated: 1001, unknown: nested(DEEP, as) }));
    const result = await retryDeadLetters(publisher.owned().deps);
    expect(result).toMatchObject({ retried: 0, still: 1 });
  });
});

it('a member that is nested 490 levels deep is published, compared and restored like any other', async () => {
  await started('ipos');
  await show(ipo({ id: 'a', updated: 1000, unknown: nested(490) }));
  await show(ipo({ id: 'a', updated: 1001, unknown: nested(490, 'list', 1) }));
  await publisher.restart();
  await show(ipo({ id: 'a', updated: 1002, unknown: nested(490, 'object') }));
  expect(await published('ipos')).toEqual(['a', 'a', 'a']);
  expect(await letters('ipos')).toStrictEqual([]);
});

it('a row that was not read for its size is a dead letter by its beginning, once, and stays one', async () => {
  await started('ipos');
  const row = new UnreadableRow('big', 1001, 'the row holds too much', '{"id":"big","x":[', whole);
  await show(ipo({ id: 'a', updated: 1000 }), row, ipo({ id: 'b', updated: 1002 }));
  await show(row);
  expect(await published('ipos')).toEqual(['a', 'b']);
  const { reason, raw } = row;
  expect(await letters('ipos')).toEqual([expect.objectContaining({ reason, raw, ...whole })]);
  expect(await retryDeadLetters(publisher.owned().deps)).toMatchObject({
    retried: 0,
    still: 1,
  });
});

it('a record that a row shows which was not read is not deleted', async () => {
  await started('ipos');
  const [a, b] = [ipo({ id: 'a', updated: 1000 }), ipo({ id: 'b', updated: 1002 })];
  await show(a, ipo({ id: 'big', updated: 1001 }), b);
  vendor.rows = [a, new UnreadableRow('big', 1001, 'the row holds too much', '{', whole) as never, b];
  const feed = testFeed('ipos', { pageSize: 1000, wideOverlapSeconds: 100_000, deleteShare: 1 });
  expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 0, missing: 0 });
});

it('a page of any odd rows publishes its good rows, and each odd row is published or a dead letter (property)', async () => {
  const levels = fc.constantFrom(1, 100, 450, 499, 500, 501, 1_000, 2_000, 3_500, 5_000, 8_000, 100_000);
  const deep = fc.tuple(levels, fc.constantFrom('list', 'object')).map(([n, as]) => nested(n, as));
  const odd = fc.oneof(
    deep,
    fc.jsonValue(),
    fc.constantFrom<unknown>(
      '',
      0,
      -1,
      1e308,
      2 ** 60,
      '9'.repeat(5_000),
      `0.${'0'.repeat(5_000)}1`,
      '\ud800',
      ...['653247040368672769', '1e400', '12345678.123456789012', '0.1e-400', '9'.repeat(5_000)].map((text) =>
        parseJson(text),
      ),
    ),
    fc.constant(Array(5_000).fill(nested(3))),
  );
  const names = [
    'unknown',
    'name',
    'date',
    'price_min',
    'lead_underwriters',
    'sic',
    'security',
    'toJSON',
    '__proto__',
  ];
  const anyMembers = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), odd), {
    maxLength: 3,
    selector: ([n]) => n,
  });
  const anyRow = fc.oneof(
    { arbitrary: anyMembers, weight: 5 },
    { arbitrary: fc.tuple(fc.constantFrom('id', 'updated'), odd).map((one) => [one]), weight: 2 },
    { arbitrary: odd, weight: 1 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<FeedName>('ipos', 'insights'),
      fc.array(fc.array(anyRow, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
      async (name, pages) => {
        await started(name);
        const row = rowsOf[name];
        const good: string[] = [];
        for (const [n, page] of pages.entries()) {
          const rows = page.map((of, i) => {
            if (!isMembers(of)) return of;
            // As JSON.parse makes it: `__proto__` is a member like any other.
            const members = Object.fromEntries(of);
            return Object.defineProperties(
              row({ id: `odd ${i}`, updated: 1000 + n }),
              Object.getOwnPropertyDescriptors(members),
            );
          });
          good.push(`good ${n}`);
          await show(...rows, row({ id: `good ${n}`, updated: 1001 + n }));
          const ids = await published(name);
          for (const id of good) expect(ids).toContain(id);
          const kept = await letters(name);
          for (const { raw, bytes } of kept) expect(Buffer.byteLength(raw)).toBe(bytes);
        }
        await retryDeadLetters(publisher.owned().deps);
        await publisher.close();
      },
    ),
    { numRuns: runs(8) },
  );
});

it.each(['written', 'compared'] as const)(
  'a record that cannot be %s is a dead letter that stays one, and the other rows are published',
  async (what) => {
    await started('ipos');
    await show(ipo({ id: 'a', updated: 1000, name: 'A' }), ipo({ id: 'b', updated: 1000, name: 'B' }));
    const { deps } = publisher.owned();
    const refuse = <Result>({ values: { name } }: VendorRecord, step: () => Result): Result => {
      if (name === 'odd') throw new RangeError('out of room');
      return step();
    };
    // A version of the program that has a fault with one name.
    const faulty = {
      ...deps,
      images: {
        ...deps.images,
        compare: (image: Buffer, record: VendorRecord) =>
          what === 'written'
            ? deps.images.compare(image, record)
            : refuse(record, () => deps.images.compare(image, record)),
      },
      codec: {
        ...deps.codec,
        image: {
          ...deps.codec.image,
          encodeShared: (record: VendorRecord) =>
            what === 'compared'
              ? deps.codec.image.encodeShared(record)
              : refuse(record, () => deps.codec.image.encodeShared(record)),
        },
      },
    };
    const odd = ipo({ id: 'a', updated: 1001, name: 'odd' });
    vendor.rows = [odd, ipo({ id: 'b', updated: 1001, name: 'B2' })];
    await poll(faulty, pollRound(faulty, true), new AbortController().signal);
    expect(await published('ipos')).toEqual(['a', 'b', 'b']);
    expect(await letters('ipos')).toEqual([
      expect.objectContaining({ reason: `the record cannot be ${what}: out of room`, raw: jsonText(odd) }),
    ]);
    expect(await retryDeadLetters(faulty)).toMatchObject({ retried: 0, still: 1 });
    expect(await retryDeadLetters(deps)).toMatchObject({ retried: 1, published: 1, still: 0 });
    expect(await published('ipos')).toEqual(['a', 'a', 'b', 'b']);
  },
);

function isMembers(of: unknown): of is [string, unknown][] {
  return (
    Array.isArray(of) && of.length > 0 && of.every((one) => Array.isArray(one) && typeof one[0] === 'string')
  );
}
