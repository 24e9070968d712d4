import { absenceProbe } from '../../src/pipeline/rounds/prove-absent';
import { type ReconcileOptions, reconcile } from '../../src/pipeline/rounds/reconcile';
import type { Simulator } from '../../src/simulator/simulator';
import { testFeed } from '../support/feeds';
import type { TestPublisher } from '../support/test-publisher';
import { world } from '../support/world';

/** The requests by which a reconcile asks once more for records that its scans have not shown. */

let api: Simulator;
let publisher: TestPublisher;
const { signal } = new AbortController();

beforeEach(async () => {
  const feed = testFeed('ipos', { pageSize: 20, pollIntervalMs: 10 });
  const vendor = { records: { insights: 0, analysts: 0, ipos: 50 } };
  ({ api, publisher } = await world({ feed, vendor }));
  await publisher.poll();
});

const keys = () => api.stores.ipos.keys();

/** Removes records. @returns puts them back as they were */
function hide(hidden: readonly string[]): () => void {
  const records = hidden.map((key) => api.stores.ipos.get(key)!);
  for (const key of hidden) api.stores.ipos.remove(key);
  return () => {
    for (const record of records)
      api.stores.ipos.upsert(record as never, { updated: record.updated as number });
  };
}

/** The ids of these records that are proved to be gone. */
async function gone(ids: readonly string[]): Promise<string[]> {
  const { deps } = publisher.owned();
  const isDoubtful = (number: number) => ids.includes(deps.state.records.idOf(number));
  return (await absenceProbe(deps, isDoubtful, signal)).gone(ids);
}

it('keeps each record that the API shows again, although neither scan has shown it', async () => {
  const [removed, ...shownAgain] = keys().slice(20, 46);
  hide([removed!]);
  const show = hide(shownAgain);
  const { deps } = publisher.owned();
  const options: ReconcileOptions = {
    dryRun: false,
    allowDeletes: 26,
    between: async () => {},
    poll: async () => void (await publisher.poll()),
    rest: async () => {},
    onProgress({ phase }) {
      if (phase === 'probe') show();
    },
  };
  await reconcile(deps, options, signal);

  const deleted = [removed!, ...shownAgain].filter((id) => deps.state.records.find(id) === -1);
  expect(deleted).toEqual([removed]);
});

it('keeps a record in the second that the filter leaves out, even if the filter began to do so only now', async () => {
  const { updated: _, ...record } = api.stores.ipos.get(keys()[0]!)!;
  const known = api.stores.ipos.upsert({ ...record, id: 'known' } as never);
  const { updated } = api.stores.ipos.get(known)!;
  const key = api.stores.ipos.upsert({ ...record, id: 'in its second' } as never, {
    updated: updated as number,
  });
  api.stores.ipos.upsert({ ...record, id: 'behind it' } as never, { updated: (updated as number) + 1 });
  await publisher.poll();
  api.behave({ since: 'after' });

  expect(await gone([key])).toStrictEqual([]);
});

it('does not believe an answer that shows only records in doubt', async () => {
  const [removed, shown, ...others] = keys();
  hide([removed!, ...others]);

  expect(await gone([removed!, shown!])).toStrictEqual([]);
});
