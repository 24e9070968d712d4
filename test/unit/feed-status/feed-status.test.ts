import fc from 'fast-check';
import {
  type FeedKnowledge,
  feedStatus,
  isReady,
  type LiveKnowledge,
} from '../../../src/feed-status/feed-status';
import { firstSourceOffset, type SourceOffset } from '../../../src/state/source-offset';
import { namedRows } from '../../support/named-rows';
import { runs } from '../../support/runs';

const NOW = 1_790_000_000_000;
const INTERVAL = 60_000;
const DAY = 86_400_000;
const feed = { name: 'ipos', pollIntervalMs: INTERVAL, reconcileEveryMs: DAY };

const offsetOf = (change: Partial<SourceOffset> = {}): SourceOffset => ({
  ...firstSourceOffset('ipos', 'a', 's'),
  snapshot: 'complete',
  high_water_mark: 1_789_999_000,
  record_count: 7,
  last_complete_scan_ms: NOW - INTERVAL,
  poll_interval_ms: INTERVAL,
  ...change,
});
const timeout = { code: 'SOURCE_TIMEOUT', parks: false, what: 'no answer' };
const refused = { code: 'SOURCE_UNAUTHORIZED', parks: true, what: 'answered 401' };
const storedTimeout = { last_error: 'SOURCE_TIMEOUT: no answer' };
const storedRefusal = { parked: 'SOURCE_UNAUTHORIZED', last_error: 'SOURCE_UNAUTHORIZED: answered 401' };
const late = { last_complete_scan_ms: NOW - 3 * INTERVAL - 1 };

type Letters = Partial<Pick<FeedKnowledge, 'deadLetters' | 'deadLetterReason'>>;
const owners = { live: 'host:1', none: null, unknown: undefined };
type Owner = keyof typeof owners;

/** The status of a feed, whether that is ready, and the error that it has. */
function judged(knowledge: Omit<FeedKnowledge, 'owner'> & { readonly owner: Owner }) {
  const status = feedStatus({ ...knowledge, owner: owners[knowledge.owner] }, NOW);
  const error = status.problems.find(({ code }) => code.startsWith('SOURCE_'));
  return { ...status, ready: isReady(status), error: error?.code ?? null };
}
/** The publisher's own view. */
const own = (
  offset: Partial<SourceOffset> = {},
  failure: LiveKnowledge['failure'] = null,
  letters: Letters = {},
) => judged({ feed, offset: offsetOf(offset), owner: 'live', live: { phase: 'owned', failure }, ...letters });
/** The view of a command that reads the log. */
const read = (
  offset: Partial<SourceOffset> | null,
  owner: Owner = 'live',
  of: FeedKnowledge['feed'] = feed,
) => judged({ feed: of, offset: offset === null ? null : offsetOf(offset), owner, live: null });
/** The view of a waiting instance, which may have read the log. */
const waiting = (
  owner: Owner,
  offset: Partial<SourceOffset> | null = null,
  failure: LiveKnowledge['failure'] = null,
) => judged({ feed, offset: offset && offsetOf(offset), owner, live: { phase: 'waiting', failure } });

it.each([
  ['was just read', {}, null, 'up-to-date'],
  ['was read three intervals ago', { last_complete_scan_ms: NOW - 3 * INTERVAL }, null, 'up-to-date'],
  ['failed since, but not for long', {}, timeout, 'up-to-date'],
  ['was read by a clock that is ahead', { last_complete_scan_ms: NOW + INTERVAL }, null, 'up-to-date'],
  ['is paused by an operator, however long', { ...late, paused: true }, null, 'paused'],
  ['is paused and was parked before', { ...storedRefusal, paused: true }, refused, 'paused'],
  ['is paused and was never read', { last_complete_scan_ms: null, paused: true }, null, 'paused'],
] as const)(
  'a feed that %s is ready and not behind, for its publisher and for the log',
  (_, offset, failure, condition) => {
    expect(own(offset, failure)).toMatchObject({ ready: true, behind: false, condition });
    expect(read(offset)).toMatchObject({ ready: true, behind: false, condition });
  },
);

it.each(
  namedRows({
    'was read longer than three intervals ago': [late, null, 'behind', 'last completely read 180 s ago'],
    'fails for longer than three intervals': [
      { ...late, ...storedTimeout },
      timeout,
      ...(['behind', 'last completely read 180 s ago, last failure: SOURCE_TIMEOUT'] as const),
    ],
    'was read by a clock that was set back since': [
      { last_complete_scan_ms: NOW + 3_600_000 },
      null,
      ...(['behind', "last completely read 3600 s ahead of this machine's clock"] as const),
    ],
    'is in its first snapshot': [
      { last_complete_scan_ms: null, snapshot: 'running' as const },
      null,
      ...(['behind', 'not completely read so far, snapshot running'] as const),
    ],
    'is parked, though it was read a minute ago': [
      storedRefusal,
      refused,
      ...(['parked', 'parked by SOURCE_UNAUTHORIZED, tried again slowly'] as const),
    ],
  }),
)(
  'a feed that %s is not ready, for its publisher and for the log',
  (_, offset, failure, condition, reason) => {
    const expected = { ready: false, condition, reason };
    expect(own(offset, failure)).toMatchObject(expected);
    expect(read(offset)).toMatchObject(expected);
  },
);

it('a feed whose state is read back is not ready, and parked when that fails for good', () => {
  const restoring = (failure: LiveKnowledge['failure']) =>
    judged({ feed, offset: null, owner: 'live', live: { phase: 'restoring', failure } });
  expect(restoring(timeout)).toMatchObject({
    ready: false,
    condition: 'restoring',
    reason: 'its state is being read back, last failure: SOURCE_TIMEOUT',
  });
  expect(restoring(refused).condition).toBe('parked');
});

describe('an instance that waits', () => {
  it('stands by while another has the feed, whatever kept this one from it', () => {
    expect(waiting('live', null, refused)).toMatchObject({
      ready: true,
      condition: 'standby',
      error: null,
    });
    expect(waiting('live', {}).condition).toBe('standby');
  });

  it("says of another's feed what the log says", () => {
    expect(waiting('live', late)).toMatchObject({ ready: false, condition: 'behind' });
    expect(waiting('live', storedRefusal)).toMatchObject({ condition: 'parked', error: refused.code });
    expect(waiting('live', { ...late, paused: true })).toMatchObject({ ready: true, condition: 'paused' });
  });

  it('knows of no owner, and what keeps itself from the feed', () => {
    expect(waiting('none', {})).toMatchObject({ ready: false, condition: 'no-owner', error: null });
    expect(waiting('none', null, timeout).reason).toBe(
      'no live instance has it, last failure: SOURCE_TIMEOUT',
    );
    expect(waiting('none', null, refused).condition).toBe('parked');
    expect(waiting('unknown', null, refused)).toMatchObject({ ready: false, condition: 'owner-unknown' });
  });
});

describe('a command that reads the log', () => {
  it('says that nobody publishes a feed, and whether it is behind', () => {
    expect(read({}, 'none')).toMatchObject({ condition: 'no-owner', behind: false });
    expect(read(late, 'none')).toMatchObject({ condition: 'no-owner', behind: true });
    expect(read(null, 'none')).toMatchObject({ condition: 'no-owner', behind: true });
    // Nobody tries it again.
    expect(read(storedRefusal, 'none')).toMatchObject({ condition: 'no-owner', error: refused.code });
    expect(read({ ...late, paused: true }, 'none')).toMatchObject({ condition: 'paused', behind: false });
  });

  it("counts in the publisher's intervals, and in its own only when the log has none", () => {
    const hasty = { ...feed, pollIntervalMs: 1_000 };
    expect(read({}, 'live', hasty)).toMatchObject({ condition: 'up-to-date', poll_interval_ms: INTERVAL });
    expect(read({ poll_interval_ms: null }, 'live', hasty)).toMatchObject({ condition: 'behind' });
    const patient = { ...feed, pollIntervalMs: 86_400_000 };
    expect(read(late, 'live', patient)).toMatchObject({ behind: true, poll_interval_ms: INTERVAL });
  });
});

it('a publisher counts in its own intervals, though an earlier owner has stored others', () => {
  expect(own({ poll_interval_ms: 1_000 })).toMatchObject({
    condition: 'up-to-date',
    poll_interval_ms: INTERVAL,
  });
});

describe('the problems of a feed', () => {
  const codes = ({ problems }: ReturnType<typeof own>) =>
    problems.map(({ code, severity }) => `${severity} ${code}`);

  it('names a number of deletes only for the case that the reconcile asks for one: it may have another reason', () => {
    const [problem] = own({ withheld_deletes: 60, record_count: 400 }).problems;
    expect(problem).toMatchObject({
      code: 'DELETES_WITHHELD',
      remedy:
        '`highwater reconcile ipos --dry-run` says why and names some: ask the API for these. ' +
        'If it asks for --allow-deletes, and they are gone: `highwater reconcile ipos --allow-deletes 60`.',
    });
  });

  it('names the reason of the latest dead letter, the deletes that were withheld, and members that drifted', () => {
    const drift = [
      { path: 'cusip', type: 'text', expected: null, count: 3 },
      { path: 'prior.rating', type: 'list', expected: 'string', count: 1 },
    ];
    const letters = { deadLetters: 2, deadLetterReason: 'the record has no usable id (missing)' };
    const status = own({ withheld_deletes: 60, drift }, null, letters);
    expect(codes(status)).toEqual(['warning DEAD_LETTERS', 'warning DELETES_WITHHELD', 'note DRIFT']);
    const [deadLetters, withheld, drifted] = status.problems;
    expect(deadLetters!.what).toContain('The latest: the record has no usable id (missing).');
    expect(withheld!.what).toContain('60 records');
    expect(withheld!.remedy).toContain('`highwater reconcile ipos --allow-deletes 60`');
    expect(drifted!.what).toContain(
      'cusip (text, 3 changes), prior.rating (list instead of string, 1 change)',
    );
  });

  it('names the topics whose events were lost, with the command that publishes every record again', () => {
    const status = own({ lost_topics: ['ipos', 'ipos.deal-status'] });
    expect(codes(status)).toEqual(['warning LOG_TOPIC_LOST']);
    const [{ what, remedy }] = status.problems as [(typeof status.problems)[number]];
    expect(what).toContain('ipos, ipos.deal-status were deleted and created again');
    expect(remedy).toContain('`highwater snapshot ipos`');
  });

  it.each([
    ['the last one', { last_reconcile_ms: NOW - 2 * DAY - 1 }, 'The last reconcile ended 2 d ago, and'],
    [
      'the snapshot',
      { snapshot_completed_ms: NOW - 3 * DAY },
      'No reconcile has ended: the feed began 3 d ago, and',
    ],
    [
      'the beginning',
      { begins_at: (NOW - 4 * DAY) / 1_000 },
      'No reconcile has ended: the feed began 4 d ago, and',
    ],
  ])('a reconcile is overdue two intervals after %s', (_, offset, says) => {
    for (const status of [own(offset), read(offset), read(offset, 'none')]) {
      const overdue = status.problems.find(({ code }) => code === 'RECONCILE_OVERDUE');
      expect(overdue).toMatchObject({ severity: 'warning', what: expect.stringContaining(says) });
    }
    expect(own(offset)).toMatchObject({ ready: true, condition: 'up-to-date' });
  });

  const long = { last_reconcile_ms: NOW - 9 * DAY };
  it.each([
    ['it is not two intervals ago', own({ last_reconcile_ms: NOW - 2 * DAY, snapshot_completed_ms: 1 })],
    ['none is due', read(long, 'live', { ...feed, reconcileEveryMs: null })],
    ['nothing was compared', own()],
    ['a snapshot runs', own({ ...long, snapshot: 'running' })],
    ['the feed is paused', own({ ...long, paused: true })],
    ['the feed is parked', own({ ...long, ...storedRefusal })],
    ['deletes are withheld', own({ ...long, withheld_deletes: 3 })],
  ])('no reconcile is overdue while %s', (_, status) => {
    expect(codes(status).join()).not.toContain('RECONCILE_OVERDUE');
  });

  it.each([
    ['is up to date', own(), []],
    ['failed once and is up to date', own({}, timeout), ['note SOURCE_TIMEOUT']],
    ['is paused', own({ paused: true }), ['note PAUSED']],
    [
      'is paused and failed before',
      own({ paused: true, ...storedTimeout }),
      ['note PAUSED', 'note SOURCE_TIMEOUT'],
    ],
    ['is parked', own(storedRefusal), ['bad SOURCE_UNAUTHORIZED']],
    ['fails for long', own(late, timeout), ['warning SOURCE_TIMEOUT']],
    ['is behind for no reason that is known', own(late), ['warning BEHIND']],
    ['is being read for the first time', own({ last_complete_scan_ms: null, snapshot: 'running' }), []],
    ['nobody has', waiting('none'), ['bad NO_OWNER']],
    ['nobody can take', waiting('none', null, timeout), ['bad SOURCE_TIMEOUT', 'bad NO_OWNER']],
    ['nobody can be asked about', waiting('unknown'), ['warning OWNER_UNKNOWN']],
    ['another instance has', waiting('live', null, refused), []],
  ] as const)('that %s', (_, status, expected) => {
    expect(codes(status)).toEqual(expected);
  });

  it.each([
    ['read to the end, and has no rows', {}, null, ['warning NO_ROWS']],
    ['has only dead letters', {}, 3, ['warning DEAD_LETTERS']],
    ['had rows, which are deleted', { high_water_mark: 1_789_999_000 }, null, []],
    ['not read to the end so far', { last_complete_scan_ms: null, snapshot: 'running' }, null, []],
    ['paused', { paused: true }, null, ['note PAUSED']],
    ['behind', late, null, ['warning BEHIND']],
    ['parked', storedRefusal, null, ['bad SOURCE_UNAUTHORIZED']],
  ] as const)('that never saw a row: %s', (_, change, deadLetters, expected) => {
    const status = own({ high_water_mark: 0, record_count: 0, ...change }, null, { deadLetters });
    expect(codes(status)).toEqual(expected);
    expect(status.ready).toBe(status.condition === 'up-to-date' || status.condition === 'paused');
  });

  it('name dead letters after what is worse, and before what is well', () => {
    expect(codes(own(storedRefusal, null, { deadLetters: 3 }))).toEqual([
      'bad SOURCE_UNAUTHORIZED',
      'warning DEAD_LETTERS',
    ]);
    expect(codes(own({}, timeout, { deadLetters: 1 }))).toEqual([
      'warning DEAD_LETTERS',
      'note SOURCE_TIMEOUT',
    ]);
  });

  it('say what happened and what to do, without the name of the feed', () => {
    const stored = { parked: 'SOURCE_UNAUTHORIZED', last_error: 'SOURCE_UNAUTHORIZED: ipos: answered 401' };
    expect(own(stored, null, { deadLetters: 2 }).problems).toEqual([
      {
        code: 'SOURCE_UNAUTHORIZED',
        severity: 'bad',
        what: 'answered 401',
        remedy: expect.stringContaining('HIGHWATER_API_TOKEN'),
      },
      {
        code: 'DEAD_LETTERS',
        severity: 'warning',
        what: '2 rows could not be published, and are dead letters.',
        remedy: expect.stringContaining('highwater dead-letters list ipos'),
      },
    ]);
    expect(own({ last_complete_scan_ms: NOW - 600_000 }).problems[0]!.what).toBe(
      'The last complete scan was 10 min ago, and a poll is due every 60 s.',
    );
  });
});

it('a feed with a condition that is ready has no problem but notes and dead letters, whatever is known (property)', () => {
  const failure = fc.option(fc.constantFrom(timeout, refused));
  const knowledge = fc.record({
    feed: fc.constant(feed),
    offset: fc.option(
      fc
        .record({
          snapshot: fc.constantFrom('pending', 'running', 'complete'),
          last_complete_scan_ms: fc.option(fc.integer({ min: NOW - 10 * INTERVAL, max: NOW + INTERVAL })),
          poll_interval_ms: fc.option(fc.constantFrom(10, INTERVAL, 10 * INTERVAL)),
          paused: fc.boolean(),
          parked: fc.constantFrom(null, 'SOURCE_UNAUTHORIZED'),
          last_error: fc.option(fc.constantFrom('SOURCE_TIMEOUT: late', 'of another version')),
        })
        .map((change) => offsetOf(change as Partial<SourceOffset>)),
    ),
    owner: fc.constantFrom('live', 'none', 'unknown'),
    live: fc.option(fc.record({ phase: fc.constantFrom('waiting', 'restoring', 'owned'), failure })),
  }) as fc.Arbitrary<Parameters<typeof judged>[0]>;
  fc.assert(
    fc.property(knowledge, (known) => {
      const status = judged(known);
      const severities = status.problems.map(({ severity }) => severity);
      if (status.ready) expect(severities.filter((one) => one !== 'note')).toStrictEqual([]);
      else if (!status.being_read && status.condition !== 'restoring') expect(severities[0]).not.toBe('note');
      if (status.ready) expect(status.behind).toBe(false);
      if (known.offset?.paused) expect(status.condition).toBe('paused');
    }),
    { numRuns: runs(200) },
  );
});
