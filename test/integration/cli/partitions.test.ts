import { jsonLines } from '../../support/cli';
import { cliPublisher } from '../../support/cli-publisher';
import { writeAgain } from '../../support/records';

const publisher = cliPublisher(() => ({}));

it('a new topic has as many partitions as the setting says, and keeps them', async () => {
  const store = publisher.api().stores.ipos;
  const partitions = async () => {
    const { out } = await publisher.done(['tail', 'ipos', '--json', '--from-beginning', '--no-follow']);
    const lines = jsonLines<{ key: string; partition: number }>(out);
    return lines.map(({ key, partition }) => [key, partition] as const);
  };
  expect((await publisher.done(['run', '--once', '--partitions', '5'])).code).toBe(0);
  const first = new Map(await partitions());
  expect(new Set(first.values())).toEqual(new Set([0, 1, 2, 3, 4]));

  for (const key of store.keys()) writeAgain(store, key, { notes: 'Changed' });
  expect((await publisher.done(['run', '--once'])).code).toBe(0);
  const all = await partitions();
  expect(all).toHaveLength(2 * first.size);
  expect(all.filter(([key, partition]) => first.get(key) !== partition)).toStrictEqual([]);

  const refused = await publisher.done(['run', '--once', '--partitions', '0']);
  expect(refused.code).toBe(2);
  expect(refused.err).toMatch(/partitions .*expected a whole number/);
});
