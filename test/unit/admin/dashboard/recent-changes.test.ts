import { recentChanges } from '../../../../src/admin/dashboard/change-feed';
import type { ChangeView } from '../../../../src/admin/dashboard/view';

const change = (key: string) => ({ key }) as Omit<ChangeView, 'n'>;
const keys = ({ changes }: { readonly changes: readonly ChangeView[] }) => changes.map(({ key }) => key);

function filled(count: number) {
  const recent = recentChanges();
  for (let i = 1; i <= count; i++) recent.add(change(String(i)));
  return recent;
}

it('shows the last hundred to who comes, and then what is new', () => {
  const recent = filled(250);
  const first = recent.first(null);
  expect(first).toMatchObject({ fresh: true, left: 0 });
  expect(keys(first)).toEqual(Array.from({ length: 100 }, (_, i) => String(151 + i)));
  expect(recent.after(250)).toEqual({ fresh: false, changes: [], left: 0 });
  recent.add(change('251'));
  expect(keys(recent.after(250))).toEqual(['251']);
});

it('goes on for who was here before, and begins anew for a number that is not its own any more', () => {
  const recent = filled(1_000);
  expect(recent.first(995)).toMatchObject({ fresh: false, left: 0 });
  expect(keys(recent.first(995))).toEqual(['996', '997', '998', '999', '1000']);
  expect(recent.first(1_000)).toEqual({ fresh: false, changes: [], left: 0 });
  expect(recent.first(10).fresh).toBe(true);
  expect(recent.first(1_001).fresh).toBe(true);
  recent.forget();
  expect(recent.first(1_000)).toEqual({ fresh: true, changes: [], left: 0 });
});

it('counts what was left out, before and between, once each', () => {
  const recent = filled(3);
  recent.leaveOut(40);
  expect(recent.after(3)).toEqual({ fresh: false, changes: [], left: 0 });
  recent.add(change('44'));
  recent.leaveOut(5);
  recent.add(change('50'));
  const { changes, left } = recent.after(3);
  expect(changes.map(({ n, key }) => [n, key])).toEqual([
    [44, '44'],
    [50, '50'],
  ]);
  expect(left).toBe(45);
  expect(recent.after(50).left).toBe(0);
});

it('shows a slow reader the last two hundred and counts the others, however far behind it is', () => {
  const recent = filled(5_000);
  const { fresh, changes, left } = recent.after(7);
  expect([fresh, changes.length, left]).toEqual([false, 200, 4_793]);
  expect(changes.at(-1)!.n).toBe(5_000);
});
