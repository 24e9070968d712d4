import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import path from 'node:path';
import { connect } from '../../../src/log/local/file/sqlite';
import { freePort } from '../../../tools/servers/ports';
import { cliPublisher } from '../../support/cli-publisher';
import { fillDisk, hasSmallDisks, onSmallDisk } from '../../support/small-disk';
import { until } from '../../support/until';

/** Faults of the embedded log's files, and the reactions of the commands. */

const publisher = cliPublisher(() => ({}));
/** Changes the file as a damaged disk would. */
function damage(sql: string): void {
  const db = connect(data('highwater.db'), 5_000);
  expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  db.close();
}
const data = (...names: string[]) => path.join(publisher.folder(), 'data', ...names);

describe('a publisher whose data folder', () => {
  it.each<[string, () => void]>([
    ['is deleted', () => rmSync(data(), { recursive: true })],
    ['is moved', () => renameSync(data(), `${data()}-old`)],
    ['loses its publisher.lock', () => rmSync(data('publisher.lock'))],
    ['loses its write-ahead log', () => rmSync(data('highwater.db-wal'))],
    [
      'is replaced by a copy',
      () => {
        renameSync(data(), `${data()}-old`);
        cpSync(`${data()}-old`, data(), { recursive: true });
      },
    ],
  ])('%s ends with an error that names the file, before it reports another commit', async (_, damage) => {
    const running = await publisher.running();
    damage();
    publisher.api().marketDay.step();
    expect(await running.ended()).toEqual({ code: 1, signal: null });
    expect(running.stderr()).toMatch(/error LOG_GONE {2}\S+ was deleted, moved or replaced/);
    expect(running.stderr()).not.toMatch(/everything that was read is committed|a fault in highwater/);
  });

  it('is deleted before it is told to end does not claim that everything is committed', async () => {
    const running = await publisher.running('--poll-interval', '1h');
    rmSync(data(), { recursive: true });
    expect(await running.stop()).toEqual({ code: 1, signal: null });
    expect(running.stderr()).toContain('error LOG_GONE');
    expect(running.stderr()).not.toContain('everything that was read is committed');
  });
});

it('a log in which bits of a text have changed ends each command by an error, none by a signal', async () => {
  expect((await publisher.done(['run', '--once'])).code).toBe(0);
  damage(`UPDATE records SET headers = CAST(x'7b22ff227d' AS TEXT) WHERE topic = 'ipos.current'`);
  // With the images that it has kept, a publisher would not read this topic.
  for (const name of readdirSync(data())) if (name.endsWith('.table')) rmSync(data(name));
  for (const args of [
    ['tail', 'ipos.current', '--no-follow'],
    ['run', '--once'],
    ['pause', 'ipos'],
  ]) {
    // A process of its own: a crash of the library would end the tests as well.
    const { code, err } = await publisher.done(args, undefined, []);
    expect([args, code]).toEqual([args, 1]);
    expect(err).toContain('LOG_CORRUPT');
    expect(err).toContain('highwater.db: a text in it is not UTF-8');
  }
});

describe('a log whose highwater.db', () => {
  it.each<[string, () => void]>([
    ['was cut to 0 bytes', () => truncateSync(data('highwater.db'))],
    ['was deleted', () => rmSync(data('highwater.db'))],
  ])('%s beside its write-ahead log is refused by name, and left as it is', async (_, cut) => {
    const killed = await publisher.running();
    await killed.stop('SIGKILL');
    cut();
    const wal = readFileSync(data('highwater.db-wal'));
    const { code, err } = await publisher.done(['run', '--once']);
    expect([code, err]).toEqual([1, expect.stringContaining('error LOG_CORRUPT')]);
    expect(err).toContain('highwater.db-wal holds');
    expect(readFileSync(data('highwater.db-wal')).equals(wal)).toBe(true);
  });

  it('was cut to 0 bytes after an ordinary end is not taken for a new one', async () => {
    expect((await publisher.done(['run', '--once'])).code).toBe(0);
    truncateSync(data('highwater.db'));
    for (const command of [['run', '--once'], ['status']]) {
      const { code, err } = await publisher.done(command);
      expect([command, code, err]).toEqual([
        command,
        1,
        expect.stringMatching(/LOG_CORRUPT .*it is empty, while .*\.images/),
      ]);
    }
  });
});

const isRoot = process.geteuid?.() === 0;

if (!isRoot) process.stderr.write('NOT RUN: tests of other owners, which only root can make\n');
(isRoot ? describe : describe.skip)('a user who may not write', () => {
  const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];

  it.each<[string, string, () => void]>([
    ['the folder of another user', 'data', () => chmodSync(data(), 0o700)],
    ['files of another user', 'highwater.db', () => chownSync(data(), 65534, 65534)],
    [
      'the database',
      'highwater.db',
      () => {
        for (const name of ['', ...readdirSync(data())]) chownSync(data(name), 65534, 65534);
        chmodSync(data('highwater.db'), 0o444);
      },
    ],
  ])('%s is told which file is in the way and whose it is, with exit code 2', async (_, name, change) => {
    chmodSync(publisher.folder(), 0o755);
    expect((await publisher.done(['run', '--once'])).code).toBe(0);
    chmodSync(data(), 0o755);
    change();
    for (const args of [
      ['run', '--once'],
      ['pause', 'ipos'],
    ]) {
      const { code, err } = await publisher.done(args, undefined, nobody);
      expect([args, code, err]).toEqual([args, 2, expect.stringContaining('error LOG_UNWRITABLE')]);
      expect(err).toMatch(
        new RegExp(`${name} cannot be written \\(E\\w+\\): it belongs to user \\d+, .* user 65534`),
      );
    }
  });

  it('reads a log that is one file, which nobody has open', async () => {
    chmodSync(publisher.folder(), 0o755);
    expect((await publisher.done(['run', '--once'])).code).toBe(0);
    const tail = ['tail', 'ipos', '--no-follow', '--json'];
    const shown = (await publisher.done(tail)).out;
    expect(shown.split('\n').length).toBeGreaterThan(2);
    expect(statSync(data('highwater.db-wal')).size).toBe(0);
    for (const ending of ['wal', 'shm']) rmSync(data(`highwater.db-${ending}`));
    chmodSync(data(), 0o755);
    const before = readdirSync(data());
    const read = (...args: string[]) => publisher.done(args, undefined, nobody);
    expect(await read(...tail)).toMatchObject({ code: 0, err: '', out: shown });
    expect((await read('export', 'ipos', '--as-of', 'now')).code).toBe(0);
    expect(readdirSync(data())).toEqual(before);
  });

  it('the groups of a folder that this user may not open are not called none', async () => {
    chmodSync(publisher.folder(), 0o755);
    expect((await publisher.done(['run', '--once'])).code).toBe(0);
    chmodSync(data(), 0o700);
    const { code, err } = await publisher.done(['groups'], undefined, nobody);
    expect([code, err]).toEqual([2, expect.stringContaining('error LOG_UNWRITABLE')]);
  });
});

(hasSmallDisks ? describe : describe.skip)('on a full disk', () => {
  /** Leaves room for so many KB. */
  const leaving = (kilobytes: number) => `${fillDisk}; truncate -s -${kilobytes}k "$disk/filling"`;

  it.each(['pause', 'reset --yes'])('%s says that it was done if and only if it was', async (line) => {
    const [command = '', ...flags] = line.split(' ');
    // Its commits are in the write-ahead log, and need room again in the database.
    const killed = await publisher.running();
    await killed.stop('SIGKILL');
    const seen = new Set<string>();
    for (const kilobytes of [0, 64, 128, 192]) {
      const under = onSmallDisk(data(), 4, leaving(kilobytes));
      const { code, out, err } = await publisher.done([command, 'ipos', ...flags], undefined, under);
      rmSync(`${data()}.held`, { recursive: true });
      const isDone = /Feed ipos (is paused|begins again)/.test(out);
      expect([kilobytes, code, isDone, err]).toEqual([
        kilobytes,
        isDone ? 0 : 1,
        code === 0,
        isDone ? expect.not.stringContaining('error') : expect.stringContaining('error LOG_FULL'),
      ]);
      seen.add(String(isDone));
    }
    expect(seen).toEqual(new Set(['true', 'false']));
  });

  it('restore says that nothing was restored', async () => {
    const earlier = await publisher.running();
    earlier.signal('SIGTERM');
    await earlier.ended();
    const file = path.join(publisher.folder(), 'backup.db');
    expect((await publisher.done(['backup', file])).code).toBe(0);
    const under = onSmallDisk(data(), 4, leaving(64));
    const { code, err } = await publisher.done(['restore', file], undefined, under);
    expect([code, err]).toEqual([1, expect.stringMatching(/LOG_FULL.*Nothing was restored/s)]);
    expect(err).not.toMatch(/batch|resume/);
  });

  it('a publisher that has begun on it publishes by itself once there is room', async () => {
    const earlier = await publisher.running();
    await earlier.stop();
    publisher.api().marketDay.start(10);
    const running = publisher.start(['run'], undefined, onSmallDisk(data(), 4, fillDisk));
    await running.sees(/LOG_FULL.*LOG_FULL/s, 'stderr');
    // Only the publisher has the mount.
    rmSync(`/proc/${running.pid}/root${data('filling')}`);
    await running.sees(/Feed ipos is read again/, 'stderr');
  });

  it('status names it, though no port of the publisher is set, and the publisher does not end well', async () => {
    const earlier = await publisher.running();
    await earlier.stop();
    const running = publisher.start(['run'], undefined, onSmallDisk(data(), 6));
    await publisher.stillPolled('ipos');
    const seen = `/proc/${running.pid}/root${data()}`;
    execFileSync('sh', ['-c', fillDisk], { env: { ...process.env, disk: seen } });
    publisher.api().marketDay.start(10);
    await running.sees(/LOG_FULL/, 'stderr');
    const env = { ...publisher.publishing(), HIGHWATER_DATA_DIR: seen };
    await until(async () => (await publisher.done(['status'], env)).out.includes('LOG_FULL'));
    const { code, out } = await publisher.done(['status'], env);
    expect([code, out]).toEqual([3, expect.stringMatching(/✗ ipos: LOG_FULL: .* 0 MB are free, and 16/)]);
    await running.stop();
    expect(running.stderr()).toMatch(
      /Ended\. The last page of \w+ is not committed: the next start reads it/,
    );
  });
});

it('a second publisher is refused before it names a dashboard', async () => {
  await publisher.running();
  const { code, err } = await publisher.done(['run'], {
    ...publisher.publishing(),
    HIGHWATER_HTTP_PORT: String(await freePort()),
  });
  expect([code, err]).toEqual([1, expect.stringContaining('error LOG_OWNED')]);
  expect(err).not.toContain('Dashboard');
});
