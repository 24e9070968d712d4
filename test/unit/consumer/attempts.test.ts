import { messageOf } from '../../../src/consumer/handling/dead-letters';
import { tryOften } from '../../../src/consumer/handling/handlers';

it('tries as often as by default where the number is given as undefined', async () => {
  let tries = 0;
  const retry = { attempts: undefined, delayMs: 0, maxDelayMs: undefined } as never;
  const outcome = await tryOften(
    async () => {
      tries++;
      throw new Error('no');
    },
    retry,
    new AbortController().signal,
    () => tries > 1_000,
  );
  expect([outcome.ok, tries]).toEqual([false, 5]);
});

it('any thrown value has a message, of bounded length', () => {
  const odd = Object.assign(new Error('x'), { message: undefined });
  const thrown = [
    undefined,
    null,
    'text',
    7,
    { a: 1 },
    Object.create(null),
    Symbol('s'),
    odd,
    new Error('said'),
  ];
  expect(thrown.map(messageOf)).toEqual([
    'undefined',
    'null',
    'text',
    '7',
    '{ a: 1 }',
    '[Object: null prototype] {}',
    'Symbol(s)',
    'undefined',
    'said',
  ]);
  expect(messageOf(new Error('x'.repeat(2_000_000))).length).toBeLessThan(3_000);
});
