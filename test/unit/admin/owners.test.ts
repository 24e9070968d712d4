import { ownerOf, ownersOf } from '../../../src/admin/owners';
import type { CommitLog } from '../../../src/log/commit-log';

const logWith = (owners: CommitLog['owners']) => ({ owners }) as CommitLog;

it('asks once for probes that come together, and tells who has what', async () => {
  let asked = 0;
  const owners = ownersOf(
    logWith(async () => {
      asked++;
      return new Map([['ipos', 'host:1']]);
    }),
    ['ipos', 'analysts'],
  );
  const [first, second] = await Promise.all([owners(), owners()]);
  expect([ownerOf(first, 'ipos'), ownerOf(second, 'analysts')]).toEqual(['live', 'none']);
  expect(asked).toBe(1);
});

it.each([
  ['cannot be asked', () => Promise.reject(new Error('no broker'))],
  ['does not answer', () => new Promise<never>(() => {})],
])('does not know when the log %s', async (_, owners) => {
  expect(ownerOf(await ownersOf(logWith(owners), ['ipos'])(), 'ipos')).toBe('unknown');
});
