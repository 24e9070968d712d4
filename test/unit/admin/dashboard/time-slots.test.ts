import '../../../support/runs';
import fc from 'fast-check';
import { timeSlots } from '../../../../src/admin/dashboard/feed-view';

it('counts by spans of time, the one under way last, and forgets what is older', () => {
  let nowMs = 10_500;
  const slots = timeSlots(3, 1_000, () => nowMs);
  slots.add(1);
  nowMs = 11_000;
  slots.add(2);
  slots.add(3);
  expect(slots.counts()).toEqual([0, 1, 5]);
  nowMs = 12_999;
  expect(slots.counts()).toEqual([1, 5, 0]);
  nowMs = 14_000;
  expect(slots.counts()).toEqual([0, 0, 0]);
});

it('has what was added in the last spans, whenever it is asked', () => {
  const steps = fc.array(fc.tuple(fc.nat(5_000), fc.nat(9)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (passed) => {
      let nowMs = 0;
      const slots = timeSlots(4, 1_000, () => nowMs);
      const added: { atMs: number; count: number }[] = [];
      for (const [ms, count] of passed) {
        nowMs += ms;
        slots.add(count);
        added.push({ atMs: nowMs, count });
      }
      const expected = [3, 2, 1, 0].map((ago) => {
        const slot = Math.floor(nowMs / 1_000) - ago;
        const within = added.filter(({ atMs }) => Math.floor(atMs / 1_000) === slot);
        return within.reduce((sum, { count }) => sum + count, 0);
      });
      expect(slots.counts()).toEqual(expected);
    }),
  );
});
