import '../../support/runs';
import fc from 'fast-check';
import { Body } from '../../../src/source/body';

const pieces = fc.array(
  fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  { maxLength: 8 },
);

it('is one text, however it is asked for', () => {
  fc.assert(
    fc.property(pieces, pieces, (given, others) => {
      const whole = Buffer.concat(given);
      const body = new Body(given);
      expect(body.length).toBe(whole.length);
      expect(body.shared()).toEqual(whole);
      const target = Buffer.alloc(whole.length + 20, 7);
      body.copyTo(target, 10);
      expect(target).toEqual(Buffer.concat([Buffer.alloc(10, 7), whole, Buffer.alloc(10, 7)]));
      // The next answer is not written to the memory that is kept.
      const kept = body.kept();
      new Body([...others, Buffer.alloc(500, 1)]).shared().fill(2);
      expect(kept).toEqual(whole);
      expect(body.shared()).toEqual(whole);
      expect(body.kept()).toBe(kept);
    }),
  );
});

it('takes no memory of its own for what is only read', () => {
  const of = (fill: number) => new Body([Buffer.alloc(5_000, fill), Buffer.alloc(5_000, fill)]);
  const first = of(1).shared();
  const second = of(2).shared();
  expect(second.buffer).toBe(first.buffer);
});
