import { backfill, published } from '../support/backfill';
import { reconciled } from '../support/operations';
import type { Published } from '../support/published';
import { ipo } from '../support/records';
import { NOW, type StyledPublisher, styledPublisher } from '../support/styled-publisher';
import type { VendorShape } from '../support/styled-vendor';

const DAY = 86_400;
const styles = ['page', 'offset', 'cursor', 'link', 'none'] as const;
const shapes = styles.flatMap((style) => [true, false].map((filter) => [style, filter] as const));

interface Scene extends StyledPublisher {
  /** Moves both clocks on. */
  pass(seconds: number): void;
  put(id: string, change?: Readonly<Record<string, unknown>>): void;
}

/** Ninety rows over three days, fifteen on each second that has some, and ten a page. */
async function scene(
  shape: Partial<VendorShape>,
  snapshotMode: 'initial' | 'never' = 'initial',
): Promise<Scene> {
  const publisher = await styledPublisher(
    { sized: shape.style !== 'none', ...shape },
    { pageSize: 10, deleteShare: 1, snapshotMode },
  );
  const { vendor, clock } = publisher;
  const put: Scene['put'] = (id, change) => {
    const row = vendor.rows.get(id);
    vendor.rows.set(id, { ...ipo({ id }), ...row, id, updated: clock.ms / 1000, ...change });
  };
  for (let i = 0; i < 90; i++)
    put(`r${String(i).padStart(2, '0')}`, { updated: NOW - 3 * DAY + Math.floor(i / 15) * (DAY / 2) });
  const pass = (seconds: number): void => {
    clock.ms += seconds * 1000;
  };
  return { ...publisher, pass, put };
}

const events = ({ topic, feed }: Scene): Promise<Published[]> => topic(feed.name);

/** The readers' records by id, each as last published. Each event goes on from the one before, and differs from it. */
function view(published: readonly Published[]): Map<string, unknown> {
  const images = new Map<string, unknown>();
  for (const { key, decoded } of published) {
    if (decoded === null) continue;
    const { before, after } = decoded;
    expect(before).toEqual(images.get(key) ?? null);
    expect(after).not.toEqual(before);
    if (after === null) images.delete(key);
    else images.set(key, after);
  }
  return images;
}

/** Readers have exactly the API's present rows. */
async function expectEverything(scene: Scene): Promise<void> {
  const images = view(await events(scene));
  const names = new Map([...images].map(([id, after]) => [id, (after as { name: string }).name]));
  expect(names).toEqual(new Map([...scene.vendor.rows].map(([id, { name }]) => [id, name])));
}

describe.each(shapes)('by %s (filter: %s)', (style, filter) => {
  const shape = { style, filter };

  it('rows that are updated in mid-walk are neither lost nor published twice', async () => {
    const api = await scene({ ...shape, cap: style === 'none' ? 1000 : 10 });
    const { vendor, poll, pass, put } = api;
    const ids = [...vendor.rows.keys()];
    vendor.beforeAnswer = (request) => {
      pass(1);
      if (request % 2 === 0 && request < 80) put(ids[(request * 7) % ids.length]!, { name: `at ${request}` });
    };
    for (let i = 0; i < 4; i++) await poll();
    vendor.beforeAnswer = () => {};
    pass(60);
    await poll({ wide: true });
    await expectEverything(api);
  });

  it('a reconcile finds what moved no time stamp, and deletes what is gone; a dry run only says so', async () => {
    const api = await scene(shape);
    const { vendor, feed, poll, pass, put } = api;
    await poll();
    pass(60);
    put('new');
    pass(60);
    await poll();
    vendor.rows.delete('r17');
    vendor.rows.delete('r44');
    put('r30', { name: 'in silence', updated: vendor.rows.get('r30')!.updated });
    const told = { updated: 1, deleted: 2, missing: 0, why: null };
    expect(await reconciled(api, feed, { dryRun: true })).toMatchObject(told);
    expect(await events(api)).toHaveLength(91);
    expect(await api.reconcile()).toMatchObject(told);
    await expectEverything(api);
    expect(await api.reconcile()).toMatchObject({ updated: 0, deleted: 0, missing: 0 });
  });

  it('a backfill brings the rows of its days, each once', async () => {
    const api = await scene(shape, 'never');
    const { vendor, feed, poll, pass } = api;
    await poll();
    pass(60);
    expect(published(await events(api), 'r', 'backfill')).toEqual([]);
    const date = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10);
    const days = { from: date(NOW - 2 * DAY), to: date(NOW - 2 * DAY) };
    for (let i = 0; i < 2; i++) expect(await backfill(api, feed, days)).toMatchObject({ complete: true });
    const meant = [...vendor.rows.values()].filter(({ updated }) => date(updated) === days.from);
    expect(meant.length).toBeGreaterThan(0);
    expect(published(await events(api), 'r', 'backfill')).toEqual(meant.map(({ id }) => id).sort());
  });
});
