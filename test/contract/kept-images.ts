import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { CliProcess } from '../support/cli';
import type { CliPublisher, ReadRecord } from '../support/cli-publisher';
import { groupBy } from '../support/log-records';
import { writeAgain } from '../support/records';
import { runs } from '../support/runs';
import { until } from '../support/until';

/** What a publisher does with images that an earlier one has kept in a folder. */
export function keptImagesContract(publisher: CliPublisher): void {
  const { api, done, records, start, stillPolled } = publisher;
  const store = () => api().stores.ipos;
  const folder = (name: string) => path.join(publisher.folder(), name);
  const run = (name = 'state') => start(['run', '--log-level', 'debug', '--state-dir', folder(name)]);
  const filesOf = (kind: string, name = 'state') =>
    existsSync(folder(name)) ? readdirSync(folder(name)).filter((file) => file.endsWith(kind)) : [];

  async function stop(running: CliProcess): Promise<void> {
    expect((await running.stop()).code).toBe(0);
  }

  /** Changes by which events can be told: each name comes once. */
  let names = 0;
  function change(id: string): string {
    const name = `name ${++names}`;
    writeAgain(store(), id, { name });
    return name;
  }
  const publishes = (name: string) =>
    until(async () => (await records('ipos')).some(({ value }) => value!.after?.name === name));

  /** Each change of the API was published once, and the images are its records. */
  async function expectWhole(): Promise<void> {
    const changes = (await records('ipos')).map(({ value }) => value!);
    const times = groupBy(changes, ({ op, before, after }) =>
      JSON.stringify([op === 'r' ? 'c' : op, (after ?? before).id, after?.name]),
    );
    expect([...times].filter(([, all]) => all.length > 1).map(([which]) => which)).toStrictEqual([]);
    const images = new Map<string, ReadRecord['value']>();
    for (const { key, value } of await records('ipos.current')) images.set(key, value);
    const live = [...images].filter(([, value]) => value !== null);
    const shown = Object.fromEntries(
      store()
        .keys()
        .map((id) => [id, store().get(id)!.name]),
    );
    expect(Object.fromEntries(live.map(([id, value]) => [id, value!.name]))).toEqual(shown);
  }

  it('a publisher goes on with the images that the one before has kept', async () => {
    const first = run();
    await stillPolled('ipos');
    await publishes(change(store().keys()[0]!));
    await stop(first);
    expect([filesOf('.images').length, filesOf('.table').length]).toEqual([2, 2]);

    const name = change(store().keys()[1]!);
    const second = run();
    await second.sees(/Feed ipos goes on with the images that it kept/, 'stderr');
    await publishes(name);
    store().remove(store().keys()[2]!);
    expect((await done(['reconcile', 'ipos'])).code).toBe(0);
    expect(filesOf('.table')).toStrictEqual([]);
    await stop(second);
    await expectWhole();
  });

  it('it knows what another publisher, in another folder, has published since', async () => {
    const first = run();
    await first.sees(/ipos: first snapshot complete/, 'stderr');
    await stop(first);

    const other = run('other');
    await stillPolled('ipos');
    store().remove(store().keys()[5]!);
    store().upsert({ ...store().get(store().keys()[6]!), id: 'new' } as never);
    await publishes(change(store().keys()[7]!));
    expect((await done(['reconcile', 'ipos'])).code).toBe(0);
    await stop(other);

    const again = run();
    await again.sees(/Feed ipos goes on with the images that it kept.* changes=3/, 'stderr');
    await publishes(change(store().keys()[8]!));
    expect((await done(['reconcile', 'ipos'])).code).toBe(0);
    await stop(again);
    await expectWhole();
  });

  it('wherever it is killed, nothing is published twice, and nothing is lost', async () => {
    // Requests of a first snapshot do not tell that anything was committed.
    const first = run();
    await first.sees(/ipos: first snapshot complete/, 'stderr');
    await stop(first);
    for (let round = 0; round < runs(8); round++) {
      const running = run();
      const id = store().keys()[round % 20]!;
      await stillPolled('ipos', 1 + (round % 3));
      change(id);
      if (round % 2 === 0) await stillPolled('ipos', 2);
      running.signal(round % 4 === 3 ? 'SIGKILL' : 'SIGTERM');
      // From before it has let go of the feeds until after all is kept.
      let hasEnded = false;
      const ended = running.ended().finally(() => {
        hasEnded = true;
      });
      await until(() => hasEnded || filesOf('.table').length > round % 3);
      running.signal('SIGKILL');
      await ended;
    }
    const cleanly = run();
    await stillPolled('ipos');
    await stop(cleanly);
    const last = run();
    await last.sees(/Feed ipos goes on with the images that it kept/, 'stderr');
    expect((await done(['reconcile', 'ipos'])).code).toBe(0);
    await stop(last);
    await expectWhole();
  });
}
