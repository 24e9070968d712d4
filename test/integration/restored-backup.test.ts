import { cpSync, existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { connect } from '../../src/consumer/connect';
import { openLocalLog } from '../../src/log/local/local-log';
import { truthOf } from '../faults/restless-market';
import { cliPublisher } from '../support/cli-publisher';
import { judgeFile } from '../support/judge/judge';
import { describeVerdict } from '../support/judge/verdict';
import { collect, deadline } from '../support/log-records';
import { writeAgain } from '../support/records';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

/** The steps of docs/runbook/backup-and-restore.md, on the embedded log. */

const { api, done, folder, records, running, start } = cliPublisher(() => ({}));
const data = () => path.join(folder(), 'data');
const copy = () => path.join(folder(), 'backups.db');

/** As a publisher that comes and goes. */
async function publish(): Promise<void> {
  expect(await done(['run', '--once', '--feeds', 'ipos'])).toMatchObject({ code: 0 });
}

async function move(...prices: string[]): Promise<void> {
  for (const price of prices) {
    const { ipos } = api().stores;
    writeAgain(ipos, ipos.keys().sort()[0]!, { price_max: price });
    await publish();
  }
}

/** @returns its output with `--json` */
async function json(...args: string[]): Promise<Readonly<Record<string, unknown>>> {
  const ended = await done([...args, '--json']);
  expect(ended).toMatchObject({ code: 0, err: '' });
  return JSON.parse(ended.out) as Readonly<Record<string, unknown>>;
}

/** Events that a group gets, up to a number. @returns their ids, each with the price */
async function consumed(
  count: number,
  from: 'beginning' | 'end' = 'beginning',
): Promise<Map<string, string>> {
  const log = connect({ dataDir: data(), logger: quietLogger() });
  const over = new AbortController();
  const seen = new Map<string, string>();
  const signal = AbortSignal.any([over.signal, deadline()]);
  const ended = log.consume({ group: 'desk', topics: ['ipos'], from, signal }, ({ value }) => {
    seen.set(value.event_id, `${value.op} ${value.before?.price_max} ${value.after?.price_max}`);
    if (seen.size === count) over.abort();
  });
  try {
    await ended;
    return seen;
  } finally {
    await log.close();
  }
}

/** Every event that a log holds: its id, and all that it says. */
function eventsOf(file: string): Map<string, string> {
  const db = new Database(file);
  const rows = db
    .prepare(
      `SELECT json_extract(headers, '$.ce_id'), key || hex(value) || headers FROM records
       WHERE json_extract(headers, '$.ce_id') IS NOT NULL`,
    )
    .raw()
    .all() as [string, string][];
  db.close();
  expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length);
  return new Map(rows);
}

const offsets = (db: string): [number, number][] => {
  const opened = new Database(db);
  const rows = opened.prepare("SELECT partition, offset FROM records WHERE topic = 'ipos'").raw().all();
  opened.close();
  return rows as [number, number][];
};

/** What `groups` shows of the group at `ipos`: its lag in each partition, and why it goes no further. */
async function waiting(): Promise<{ readonly lags: unknown[]; readonly notes: unknown[] }> {
  const { out } = await done(['groups', '--json']);
  const rows = out.split('\n').filter((line) => line !== '');
  const own = rows.map((line) => JSON.parse(line)).filter(({ topic }) => topic === 'ipos');
  return { lags: own.map(({ lag }) => lag), notes: own.map(({ note }) => note) };
}

/** As if all groups were newer than the backup. */
async function restoreWithoutGroups(): Promise<void> {
  const db = new Database(copy());
  db.exec('DELETE FROM group_positions');
  db.close();
  expect(await json('restore', copy())).toMatchObject({ groups: 0 });
}

it('a publisher that is killed after a backup and goes on from it publishes no event id twice, and loses nothing', async () => {
  const publisher = await running();
  await publisher.sees(/analysts: (first )?snapshot complete/, 'stderr');
  api().marketDay.start(15);
  const events = () => eventsOf(path.join(data(), 'highwater.db')).size;
  await until(() => events() > 120);
  const made = await start(['backup', copy(), '--json'], {}).ended();
  expect(made).toMatchObject({ code: 0 });
  const atBackup = events();
  await until(() => events() > atBackup + 40);
  await publisher.stop('SIGKILL');

  const restored = start(['restore', copy(), '--json'], {});
  expect(await restored.ended()).toMatchObject({ code: 0 });
  const { replaced, feeds } = JSON.parse(restored.stdout());
  expect(feeds).toEqual(
    ['analysts', 'ipos'].map((feed) => expect.objectContaining({ feed, records: expect.any(Number) })),
  );
  const again = await running();
  await again.sees(/analysts: (first )?snapshot complete/, 'stderr');
  const begun = events();
  await until(() => events() > begun + 40);
  api().marketDay.stop();
  const truth = { ipos: truthOf(api(), 'ipos'), analysts: truthOf(api(), 'analysts') };
  for (const feed of ['ipos', 'analysts']) await json('reconcile', feed).catch(() => undefined);
  expect(await again.stop()).toMatchObject({ code: 0 });

  const before = eventsOf(path.join(replaced, 'highwater.db'));
  const after = eventsOf(path.join(data(), 'highwater.db'));
  const inBackup = eventsOf(copy());
  expect(before.size).toBeGreaterThan(inBackup.size + 30);
  const both = [...after.keys()].filter((id) => before.has(id));
  expect(both.filter((id) => after.get(id) !== before.get(id))).toStrictEqual([]);
  expect(new Set(both)).toEqual(new Set(inBackup.keys()));
  const places = new Set(offsets(path.join(replaced, 'highwater.db')).map(String));
  const shared = offsets(path.join(data(), 'highwater.db')).filter((place) => places.has(String(place)));
  expect(new Set(shared.map(String))).toEqual(new Set(offsets(copy()).map(String)));
  const verdict = judgeFile(path.join(data(), 'highwater.db'), truth, { goneForMs: 100 });
  expect(describeVerdict(verdict)).toBe('nothing to object to');
});

describe('a backup', () => {
  beforeEach(async () => {
    await publish();
    await consumed(60);
  });

  it('is one file for this user, with the records and the positions of groups', async () => {
    const made = await json('backup', 'backups.db');
    expect(made).toMatchObject({ file: copy(), bytes: statSync(copy()).size, groups: 1 });
    expect(statSync(copy()).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder()).sort()).toEqual(['backups.db', 'data']);
  });

  it('leaves a newer group where it stands: at the end of the backup, it gets the reads', async () => {
    await json('backup', copy());
    await restoreWithoutGroups();
    await publish();
    expect((await waiting()).lags.reduce((sum: number, lag) => sum + Number(lag), 0)).toBe(60);
    const said = [...(await consumed(60, 'end')).values()];
    expect(said.every((one) => one.startsWith('r '))).toBe(true);
  });

  it('replaces an earlier backup only when it is told to, and no other file', async () => {
    await json('backup', copy());
    const exists = { code: 1, err: expect.stringContaining('BACKUP_EXISTS') };
    expect(await done(['backup', copy()])).toMatchObject(exists);
    await json('backup', copy(), '--overwrite');
    const other = path.join(data(), 'highwater.db');
    expect(await done(['backup', other, '--overwrite'])).toMatchObject(exists);
    expect(await done(['backup', path.join(folder(), 'none', 'b.db')])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/BACKUP_FAILED.*ENOENT/s),
    });
  });

  it('says that a file may not become so large', async () => {
    const limited = ['sh', '-c', 'ulimit -f 8; exec "$0" "$@"'];
    const { code, err } = await done(['backup', copy()], {}, limited);
    expect([code, err]).toEqual([1, expect.stringContaining('error BACKUP_FAILED')]);
    expect(readdirSync(folder())).not.toContain('backups.db');
  });

  it('goes to stdout for a container that has no program to copy a file out', async () => {
    const piped = ['sh', '-c', '"$0" "$@" > "$COPY"'];
    expect(await start(['backup', '-'], { COPY: copy() }, piped).ended()).toMatchObject({ code: 0 });
    expect(await json('restore', copy())).toMatchObject({ groups: 1 });
  });

  it('is refused by a publisher when it is put in place by hand', async () => {
    await json('backup', copy());
    rmSync(data(), { recursive: true });
    cpSync(copy(), path.join(data(), 'highwater.db'));
    expect(await done(['run', '--once', '--feeds', 'ipos'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('LOG_UNRESTORED'),
    });
  });

  it('is not made of topics of Kafka', async () => {
    const env = { KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };
    for (const command of ['backup', 'restore'])
      expect(await done([command, copy()], env)).toMatchObject({
        code: 2,
        err: expect.stringContaining('BACKUP_ON_KAFKA'),
      });
  });
});

describe('a restore', () => {
  let before: ReadonlyMap<string, string>;
  beforeEach(async () => {
    await publish();
    await consumed(60);
    await json('backup', copy());
    await move('1.00', '2.00');
    before = await consumed(2);
  });

  it('shows everybody the present state under numbers of its own, and sets groups back', async () => {
    expect(await json('restore', copy())).toMatchObject({
      groups: 1,
      madeMs: expect.any(Number),
      feeds: [{ feed: 'ipos', records: 60, incarnation: expect.any(String) }],
    });
    await publish();

    const after = await consumed(60);
    expect([...after.keys()].filter((id) => before.has(id))).toStrictEqual([]);
    expect([...after.values()].every((said) => said.startsWith('r '))).toBe(true);
    const current = (await records('ipos.current')).filter(({ value }) => value !== null);
    expect(current).toHaveLength(60);
  });

  it('keeps the log that it replaces, and the positions of its groups', async () => {
    const file = path.join(data(), 'highwater.db');
    const replacedEvents = eventsOf(file);
    const { replaced } = (await json('restore', copy())) as { replaced: string };
    expect(eventsOf(path.join(replaced, 'highwater.db'))).toEqual(replacedEvents);
    expect(existsSync(path.join(replaced, 'consumers', 'desk.db'))).toBe(true);
    const kept = /\.(images|table)$/; // of the state before, which the next publisher removes
    expect(
      readdirSync(data())
        .filter((name) => !kept.test(name))
        .sort(),
    ).toEqual(['consumers', 'highwater.db', 'publisher.lock', path.basename(replaced)]);
  });

  it('is refused while a publisher has the folder, and changes nothing', async () => {
    const publisher = start(['run']);
    await publisher.sees(/analysts: (first )?snapshot complete/, 'stderr');
    const refused = await done(['restore', copy()]);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('LOG_OWNED') });
    await publisher.stop();
    expect(readdirSync(data()).filter((name) => /restoring|replaced/.test(name))).toStrictEqual([]);
  });

  describe('that is killed between two of its last steps', () => {
    const kill = path.join(__dirname, '../support/kill-at-rename.cjs');

    /** @returns whether the restore came to that rename */
    async function killedAt(rename: number): Promise<boolean> {
      const env = { NODE_OPTIONS: `--require ${kill}`, KILL_AT_RENAME: String(rename) };
      const { code } = await start(['restore', copy()], env).ended();
      return code !== 0;
    }
    const leftovers = () => readdirSync(data()).filter((name) => /^(restor|placing)/.test(name));

    /** The log and the group's position are those of the copy, and the log that was replaced is whole. */
    async function expectRestored(): Promise<void> {
      const feeds = new Map((await consumed(60)).entries());
      expect([...feeds.keys()].filter((id) => before.has(id))).toStrictEqual([]);
      expect([...feeds.values()].every((said) => said.startsWith('r '))).toBe(true);
      expect(leftovers().filter((name) => name !== 'restoring')).toStrictEqual([]);
      const replaced = readdirSync(data()).filter((name) => name.startsWith('replaced-'));
      const all = replaced.flatMap((name) => [...eventsOf(path.join(data(), name, 'highwater.db')).keys()]);
      expect([...before.keys()].filter((id) => !all.includes(id))).toStrictEqual([]);
    }

    it('is finished by the next publisher, or has changed nothing', async () => {
      let rename = 1;
      let finished = 0;
      for (; await killedAt(rename); rename++) {
        const isBegun = leftovers().some(
          (name) => name.startsWith('restored-') || name.startsWith('placing-'),
        );
        if (isBegun) {
          finished++;
          const { code, err } = await done(['run', '--once', '--feeds', 'ipos']);
          expect([code, err]).toEqual([0, expect.stringContaining('finished a restore')]);
          await expectRestored();
        }
        rmSync(data(), { recursive: true });
        await publish();
        await consumed(60);
        await json('backup', copy(), '--overwrite');
        await move('1.00', '2.00');
        before = await consumed(2);
      }
      // The log, the group's positions and the folder, there and back.
      expect(finished).toBeGreaterThanOrEqual(5);
    }, 120_000);

    it('is finished before a second restore, and until then no other program begins a log', async () => {
      for (let rename = 1; leftovers().every((name) => !name.startsWith('placing-')); rename++)
        await killedAt(rename);
      const { commitLog } = openLocalLog({ dataDir: data() });
      const topic = { name: 'x', partitions: 1, cleanup: 'delete', retentionMs: 1_000 } as const;
      await expect(commitLog.append(topic, [], deadline())).rejects.toMatchObject({
        code: 'RESTORE_UNFINISHED',
      });
      await commitLog.close();
      await json('restore', copy());
      await publish();
      await expectRestored();
    }, 120_000);
  });

  it.each([
    ['nothing', () => rmSync(copy())],
    ['text', () => writeFileSync(copy(), 'id,updated\n1,2\n'.repeat(400))],
    ['half of a copy', () => truncateSync(copy(), Math.floor(statSync(copy()).size / 8192) * 4096)],
  ])('refuses a file that holds %s, and leaves the log in place', async (_what, damage) => {
    damage();
    const invalid = expect.stringContaining('error BACKUP_INVALID');
    expect(await done(['restore', copy()])).toMatchObject({ code: 1, err: invalid });
    await publish();
    expect(readdirSync(data())).not.toContain('restoring');
  });

  it('tells a group that was ahead of the copy, however far the log has grown since', async () => {
    await restoreWithoutGroups();
    const lost = { code: 'LOG_POSITION_LOST', message: expect.stringContaining('ipos') };
    for (const _ of ['before', 'after a poll']) {
      await expect(consumed(60)).rejects.toMatchObject(lost);
      const { lags, notes } = await waiting();
      expect(lags).toContain(null);
      expect(notes[lags.indexOf(null)]).toBe('its position, which is no longer in the log');
      await publish();
    }
  });

  it('lets readers of the last records see those before the restore, too', async () => {
    await json('restore', copy());
    await publish();
    const log = openLocalLog({ dataDir: data() });
    const last = async (positionsToEnd: number) => {
      const options = {
        fromBeginning: true,
        notBefore: { positionsToEnd },
        follow: false,
        signal: deadline(),
      };
      return (await collect(log.commitLog.read(['ipos'], options))).length;
    };
    // 60 events before the restore and 60 after it, spread over three partitions.
    const places = offsets(path.join(data(), 'highwater.db'));
    const held = [0, 1, 2].map((one) => places.filter(([partition]) => partition === one).length);
    for (const count of [2, 25, 1_000]) {
      const expected = held.reduce((sum, all) => sum + Math.min(all, count), 0);
      expect(await last(count)).toBe(expected);
    }
    expect(await last(1_000)).toBe(120);
    await log.commitLog.close();
  });
});
