import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ipos } from '../../../../src/feeds/ipos';
import { prepareFile } from '../../../../src/log/local/file/file-format';
import { pragma, prepare } from '../../../../src/log/local/file/sqlite';
import { writer } from '../../../../src/log/local/writer';
import { feedTopics } from '../../../../src/log/topics';
import { localLogs } from '../../../support/local-logs';
import { batch, deadline, readAll, record, restored } from '../../../support/log-records';

const { folder, file, topics, open, outside, own } = localLogs({ busyTimeoutMs: 50 });
const page = (size: number, bytes = 1) =>
  Array.from({ length: size }, (_, i) => record(topics.changes.name, `${i}`, Buffer.alloc(bytes)));

describe('file of the embedded log', () => {
  it('has the tables of the contract, in WAL mode, with a version', async () => {
    await own();
    const db = outside();
    const columns = (table: string) =>
      prepare(db, `SELECT name, type FROM pragma_table_info('${table}')`)
        .all()
        .map((row) => (row as string[]).join(' '));

    expect(columns('records')).toEqual([
      'topic TEXT',
      'partition INTEGER',
      'offset INTEGER',
      'timestamp INTEGER',
      'key TEXT',
      'headers TEXT',
      'value BLOB',
    ]);
    expect(columns('schemas')).toEqual(['id INTEGER', 'subject TEXT', 'version INTEGER', 'schema TEXT']);
    expect(pragma(db, 'journal_mode')).toBe('wal');
    expect(pragma(db, 'user_version')).toBe(1);
  });

  it('counts the offsets of a partition without a gap, also over failures and restarts', async () => {
    const { log, session } = await own();
    await session.commit(batch(session, topics, page(70)));
    const db = outside();
    db.exec(
      `CREATE TRIGGER broken BEFORE INSERT ON records WHEN NEW.key = '60' BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
    await expect(session.commit(batch(session, topics, page(70)))).rejects.toMatchObject({
      code: 'LOG_FAILED',
    });
    db.exec('DROP TRIGGER broken');
    await session.commit(batch(session, topics, page(70)));
    await log.commitLog.close();
    const { session: later } = await own(open());
    await later.commit(batch(later, topics, page(70)));

    const counts = prepare(
      db,
      `SELECT min(offset), max(offset) - count(*) FROM records WHERE topic = 'ipos' GROUP BY partition`,
    ).all();
    expect(counts).toEqual([
      [0, -1],
      [0, -1],
      [0, -1],
    ]);
  });

  it('keeps one row for each key of a compacted topic, in the place of its last commit', async () => {
    const { session } = await own();
    for (let i = 0; i < 3; i++) {
      await session.commit(batch(session, topics, [record(topics.current.name, 'a', `${i}`)], i));
    }
    await session.commit(batch(session, topics, [record(topics.current.name, 'a', null)], 3));

    const db = outside();
    const rows = prepare(db, 'SELECT topic, offset, value FROM records ORDER BY rowid').all();
    expect(rows).toEqual([
      ['ipos.current', 3, null],
      ['ipos.source-offset', 3, Buffer.from('commit 3')],
    ]);
  });

  it('can be read by any program while the publisher holds it', async () => {
    const { session } = await own();
    await session.commit(batch(session, topics, page(3)));
    const program = `
      const Database = require('libsql');
      const db = new Database(process.argv[1]);
      console.log(db.prepare('SELECT count(*) FROM records').raw().get()[0]);`;

    const { stdout } = spawnSync(process.execPath, ['-e', program, file()], { encoding: 'utf8' });

    expect(stdout.trim()).toBe('4');
  });

  it('is one file that holds everything after the log was closed', async () => {
    const { log, session } = await own();
    await session.commit(batch(session, topics, page(3)));
    await log.commitLog.close();

    const copy = path.join(folder(), 'copy');
    mkdirSync(copy);
    spawnSync('cp', [file(), copy]);
    expect(await readAll(open({ dataDir: copy }).commitLog, [topics.changes.name])).toHaveLength(3);
  });

  it('is closed at once though another program reads it', async () => {
    const busyTimeoutMs = 10_000;
    const { log, session } = await own(open({ busyTimeoutMs }));
    const reader = outside();
    reader.exec('BEGIN');
    prepare(reader, 'SELECT * FROM records').all();
    await session.commit(batch(session, topics, page(3)));
    const began = performance.now();
    await log.commitLog.close();

    expect(performance.now() - began).toBeLessThan(busyTimeoutMs);
    reader.exec('COMMIT');
    expect(prepare(reader, 'SELECT count(*) FROM records').all()).toEqual([[4]]);
  });

  it('is not made by readers, nor is its folder', async () => {
    const log = open({ dataDir: path.join(folder(), 'data') });

    expect(await readAll(log.commitLog, ['ipos'])).toStrictEqual([]);
    await log.commitLog.close();
    expect(readdirSync(folder())).toStrictEqual([]);
  });

  it('is refused when a later program wrote it', async () => {
    const { log } = await own();
    await log.commitLog.close();
    const db = outside();
    db.exec('PRAGMA user_version = 9');
    db.close();

    await expect(own()).rejects.toMatchObject({
      code: 'LOG_NEWER',
      message: expect.stringMatching(/highwater\.db has format 9; .* up to 2/),
    });
    expect(() =>
      open().commitLog.read(['ipos'], { fromBeginning: true, follow: false, signal: deadline() }),
    ).toThrow(expect.objectContaining({ code: 'LOG_NEWER' }));
  });

  it('is refused when it is no database, and left as it is', async () => {
    writeFileSync(file(), 'id,updated\n1,2\n'.repeat(400));

    await expect(own()).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      message: expect.stringContaining('highwater.db: file is not a database'),
    });
  });

  // The database library ends the process over a text that is not UTF-8.
  it.each([
    ['headers that are not UTF-8', `UPDATE records SET headers = CAST(x'7b22ff227d' AS TEXT)`],
    ['headers that are not JSON', `UPDATE records SET headers = '{"a'`],
    ['keys that are not UTF-8', `UPDATE records SET key = CAST(x'6bff' AS TEXT)`],
    ['times that are text', `UPDATE records SET timestamp = CAST(x'ff00ff' AS TEXT)`],
    ['schemas that are not UTF-8', `UPDATE schemas SET schema = CAST(x'22ff22' AS TEXT)`],
    ['schemas that are not JSON', `UPDATE schemas SET schema = '{"a'`],
    ['subjects that are not UTF-8', `UPDATE schemas SET subject = CAST(x'ff' AS TEXT)`],
    ['topics that are not UTF-8', `INSERT INTO topics VALUES (99, CAST(x'ff' AS TEXT), 1, 'delete')`],
    ['cleanups that are not UTF-8', `UPDATE topics SET cleanup = CAST(x'ff' AS TEXT)`],
    ['an owner that is not UTF-8', `UPDATE publisher SET host = CAST(x'ff' AS TEXT)`],
    ['an epoch that is not UTF-8', `UPDATE feeds SET owner_epoch = CAST(x'ff' AS TEXT)`],
  ])('names itself when a damaged disk shows %s', async (_, sql) => {
    const { log, session } = await own();
    await log.registry.register('a-value', 'string');
    await session.commit(batch(session, topics, page(3)));
    const db = outside();
    expect(prepare(db, sql).run().changes).toBeGreaterThan(0);
    db.close();

    const { commitLog, registry } = open();
    const asked: (() => Promise<unknown>)[] = [
      () => readAll(commitLog, [topics.changes.name]),
      () => commitLog.topicNames(),
      () => commitLog.owners(['ipos'], deadline()),
      () => registry.inspect('a-value', 'string'),
      () => session.commit(batch(session, topics, page(3), 2)),
    ];
    const answers = await Promise.allSettled(asked.map(async (ask) => ask()));

    const failed = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    expect(failed).not.toEqual([]);
    for (const error of failed) {
      expect(error).toMatchObject({
        code: 'LOG_CORRUPT',
        message: expect.stringContaining(file()),
      });
    }
  });

  it('names itself when a damaged disk shows offsets that do not ascend, instead of being read for ever', async () => {
    const { log, session } = await own();
    const { name } = topics.current;
    const images = Array.from({ length: 9 }, (_, i) => record(name, `${i}`, 'image'));
    await session.commit(batch(session, topics, images));
    await log.commitLog.close();
    const db = outside();
    db.exec(
      `UPDATE records SET offset = 0x41424344 WHERE rowid IN
         (SELECT rowid FROM records WHERE topic = '${name}' AND partition = 0 ORDER BY offset DESC LIMIT 1)`,
    );
    pragma(db, 'wal_checkpoint(TRUNCATE)');
    db.close();
    const bytes = readFileSync(file());
    for (let at = bytes.indexOf('ABCD'); at >= 0; at = bytes.indexOf('ABCD', at)) bytes.writeUInt32BE(0, at);
    writeFileSync(file(), bytes);

    const { commitLog } = open();
    await expect(readAll(commitLog, [name])).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  });

  it('shows a value as its bytes when a damaged disk calls it a text', async () => {
    const { log, session } = await own();
    await session.commit(batch(session, topics, page(1)));
    const db = outside();
    db.exec(`UPDATE records SET value = CAST(x'ff00ff' AS TEXT)`);
    db.close();

    expect(await readAll(log.commitLog, ['ipos'])).toMatchObject([{ value: Buffer.from('ff00ff', 'hex') }]);
  });

  it('names a folder that cannot be made', async () => {
    writeFileSync(path.join(folder(), 'occupied'), '');

    await expect(own(open({ dataDir: path.join(folder(), 'occupied', 'data') }))).rejects.toMatchObject({
      code: 'LOG_UNWRITABLE',
      message: expect.stringContaining('occupied'),
    });
  });

  it('names a file that cannot be opened', async () => {
    mkdirSync(file());

    await expect(own()).rejects.toMatchObject({
      code: 'LOG_UNWRITABLE',
      message: `${file()}: the file cannot be opened`,
    });
  });

  it('names a folder that cannot be written', async () => {
    chmodSync(folder(), 0o500);
    // The superuser may write anywhere, so the test is nobody for a moment.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    try {
      await expect(own()).rejects.toMatchObject({ code: 'LOG_UNWRITABLE' });
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder(), 0o700);
    }
  });

  // SQLite itself ends the transaction when a one-row statement finds the disk full, and leaves it open after a longer one.
  it.each([
    [30, 6000],
    [150, 1000],
  ])(
    'takes a batch of %i records again that a full disk refused, when there is room',
    async (size, bytes) => {
      const db = outside();
      prepareFile(db, file());
      const full = writer(db, { file: file() });
      const owned = await full.claimFeed(topics, 'epoch 1');
      const { records } = batch({ ownerEpoch: 'epoch 1' }, topics, page(size, bytes));
      const large = {
        feed: 'ipos',
        records,
        position: { incarnation: 'i1', ownerEpoch: 'epoch 1', commit: 1 },
      };
      pragma(db, `max_page_count = ${Number(pragma(db, 'page_count')) + 20}`);

      await expect(full.commit(large, 'epoch 1', owned)).rejects.toMatchObject({ code: 'LOG_FULL' });
      expect(await readAll(open().commitLog, ['ipos', 'ipos.source-offset'])).toStrictEqual([]);
      pragma(db, 'max_page_count = 1000000');
      await full.commit(large, 'epoch 1', owned);

      const read = await readAll(open().commitLog, ['ipos']);
      expect(read).toHaveLength(size);
      expect(Math.min(...read.map(({ logOffset }) => logOffset))).toBe(0);
      await full.close();
    },
  );

  it('goes on after another program has held a transaction for too long', async () => {
    const { session } = await own();
    const db = outside();
    db.exec('BEGIN IMMEDIATE');

    await expect(session.commit(batch(session, topics, page(1)))).rejects.toMatchObject({ code: 'LOG_BUSY' });
    db.exec('ROLLBACK');
    await session.commit(batch(session, topics, page(1)));

    expect(await restored(session, topics.sourceOffset.name)).toEqual({ ipos: 'commit 1' });
  });

  it('refuses to keep a compacted topic as a plain one', async () => {
    const { log } = await own();

    const clash = feedTopics({ ...ipos, name: 'other', topic: 'ipos.current' }, '');
    await expect(log.commitLog.acquire(clash, deadline())).rejects.toMatchObject({
      code: 'LOG_TOPIC_MISMATCH',
      message: expect.stringContaining('ipos.current'),
    });
    const within = feedTopics({ ...ipos, name: 'own', topic: 'own.current' }, '');
    await expect(log.commitLog.acquire(within, deadline())).rejects.toMatchObject({
      code: 'LOG_TOPIC_MISMATCH',
    });
  });

  it('keeps the partitions that a topic was made with', async () => {
    const { log, session } = await own();
    await session.commit(batch(session, topics, page(30)));
    const changes = { ...topics.changes, partitions: 7 };
    const again = await log.commitLog.acquire({ ...topics, changes }, deadline());
    await again.commit(batch(again, topics, page(30)));

    const partitions = (await readAll(log.commitLog, ['ipos'])).map(({ partition }) => partition);
    expect(new Set(partitions)).toEqual(new Set([0, 1, 2]));
  });

  it('takes no record that would end the process in the database library', async () => {
    const { session } = await own();
    const wrong = [{ value: 'text' }, { value: undefined }, { timestamp: 1.5 }, { key: true }];

    for (const part of wrong) {
      const broken = { ...record('ipos', 'a', '1'), ...part } as ReturnType<typeof record>;
      await expect(session.commit(batch(session, topics, [broken]))).rejects.toThrow(TypeError);
    }
  });
});
