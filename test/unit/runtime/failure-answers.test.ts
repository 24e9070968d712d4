import { endsOwnership, eventFor, pauseAfter } from '../../../src/runtime/failure-answers';

it('parks for what only a person can mend, and begins again when fenced', () => {
  expect(eventFor('SOURCE_UNAUTHORIZED', true)).toBe('parked');
  expect(eventFor('SCAN_PAGING_IGNORED', true)).toBe('parked');
  expect(eventFor('SOURCE_UNAVAILABLE', true)).toBe('failed');
  expect(eventFor('LOG_FENCED', true)).toBe('fenced');
  expect([true, false].map((isOwned) => eventFor('LOG_FULL', isOwned))).toEqual(['parked', 'failed']);
});

it('acquires a feed again after what leaves its session of no use', () => {
  expect(endsOwnership('LOG_FENCED', 1)).toBe(true);
  expect(endsOwnership('LOG_OUTCOME_UNKNOWN', 1)).toBe(true);
  expect(endsOwnership('LOG_TOPIC_LOST', 1)).toBe(true);
  expect(endsOwnership('LOG_TOPIC_MISMATCH', 1)).toBe(true);
  expect(endsOwnership('KAFKA_FORBIDDEN', 1)).toBe(true);
  expect(endsOwnership('STATE_FILE_DAMAGED', 1)).toBe(true);
});

it('acquires a feed again that failed for some time, since acquiring looks at the topics', () => {
  const kept = [1, 2, 3].map((failures) => !endsOwnership('LOG_FAILED', failures));
  expect(kept).toEqual([true, true, false]);
  expect(endsOwnership('SOURCE_UNREACHABLE', 100)).toBe(false);
});

describe('the pause after a failure', () => {
  it('grows from the interval to five minutes, half of it jitter', () => {
    const pauses = [1, 2, 3, 4, 20].map((failures) =>
      [0, 1].map((random) => pauseAfter('failed', failures, 60_000, true, random)),
    );
    expect(pauses).toEqual([
      [30_000, 60_000],
      [60_000, 120_000],
      [120_000, 240_000],
      [150_000, 300_000],
      [150_000, 300_000],
    ]);
  });

  it('is a second at first where the log or the registry cannot be used, and a minute at most', () => {
    const pauses = [1, 2, 3, 20].map((failures) => pauseAfter('failed', failures, 60_000, false, 1));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 60_000]);
    expect(pauseAfter('failed', 1, 100, false, 1)).toBe(100);
  });

  it('is never shorter than half an interval that is longer than that', () => {
    expect(pauseAfter('failed', 9, 3_600_000, true, 0)).toBe(1_800_000);
  });

  it('is at least minutes for a parked feed', () => {
    expect(pauseAfter('parked', 1, 1_000, true, 0.5)).toBe(300_000);
    expect(pauseAfter('parked', 1, 600_000, true, 0.5)).toBe(3_000_000);
  });
});
