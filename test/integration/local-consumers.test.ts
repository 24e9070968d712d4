import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { connect, type HighwaterLog } from '../../src/consumer';
import type { ConsumeOptions } from '../../src/consumer/options';
import { backUp } from '../../src/log/local/backup';
import { openLocalConsumerLog } from '../../src/log/local/consumer/consumer-log';
import { openLocalLog } from '../../src/log/local/local-log';
import { build } from '../support/build';
import { changeWriter } from '../support/change-writer';
import { deadline, record } from '../support/log-records';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** Consumers of the embedded log and what happens to its files. */

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
// Its folder is removed after everything has ended.
const folder = tempFolder();

function connected(): HighwaterLog {
  const log = connect({ dataDir: folder(), logger: quietLogger() });
  ends.push(() => log.close());
  return log;
}

async function publisher() {
  const { commitLog, registry } = openLocalLog({ dataDir: folder() });
  const writer = await changeWriter({ commitLog, registry }, '');
  const close = async () => {
    await writer.close();
    await commitLog.close();
  };
  ends.push(close);
  return { ...writer, close };
}

function consuming(log: HighwaterLog, more: Partial<ConsumeOptions> = {}) {
  const seen: string[] = [];
  const stop = new AbortController();
  const ended = log.consume(
    { group: 'g', topics: ['ipos'], from: 'beginning', signal: stop.signal, ...more },
    ({ key }) => void seen.push(key),
  );
  ended.catch(() => undefined);
  return { seen, ended, stop: () => stop.abort() };
}

it('a program names the file with settings that the publisher has', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  const config = path.join(folder(), 'feeds.yaml');
  writeFileSync(config, `dataDir: ${folder()}\n`);
  const log = connect({ config, logger: quietLogger() });
  ends.push(() => log.close());
  const { seen } = consuming(log);
  await until(() => seen.length === 1);
  expect(() => connect({ config: path.join(folder(), 'gone.yaml') })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('gone.yaml') }),
  );
});

it('a consumer in a folder without a log names it, leaves nothing there, and reads the log once it is there', async () => {
  const empty = path.join(folder(), 'elsewhere');
  const logger = quietLogger();
  const log = connect({ dataDir: empty, logger });
  ends.push(() => log.close());
  const { seen, stop, ended } = consuming(log);
  await until(() => logger.warnings.length === 2);
  const missing = `There is no log in ${path.join(empty, 'highwater.db')} yet (LOG_MISSING).`;
  expect(logger.warnings[0]).toBe(missing);
  expect(() => log.read('ipos')).toThrow(expect.objectContaining({ code: 'LOG_MISSING' }));
  const table = await log.table('ipos');
  expect([table.size, logger.warnings[2]]).toEqual([0, missing]);
  expect(existsSync(empty)).toBe(false);

  const { commitLog, registry } = openLocalLog({ dataDir: empty });
  ends.push(() => commitLog.close());
  const writer = await changeWriter({ commitLog, registry }, '');
  ends.push(() => writer.close());
  await writer.write({ id: 'a', status: 'Filed' });
  await until(() => seen.length === 1 && table.size === 1);
  stop();
  await ended;
});

it('a consumer whose process is killed in the middle is followed by the one that waits, which repeats what was in hand', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  const program = `
    const { connect } = require(${JSON.stringify(path.join(await build(), 'consumer'))});
    const log = connect({ dataDir: ${JSON.stringify(folder())} });
    log.consume({ group: 'g', topics: ['ipos'], from: 'beginning' }, ({ key }) => {
      console.log(key);
      if (key === 'b') return new Promise(() => {});
    });`;
  const first: ChildProcess = spawn(process.execPath, ['-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ends.push(() => first.kill('SIGKILL'));
  let said = '';
  first.stdout!.on('data', (chunk) => (said += chunk));
  await until(() => said === 'a\n');
  const second = consuming(connected());
  await write({ id: 'b', status: 'Filed' });
  await until(() => said === 'a\nb\n');
  expect(second.seen).toStrictEqual([]);

  first.kill('SIGKILL');
  await once(first, 'exit');
  await write({ id: 'c', status: 'Filed' });

  await until(() => second.seen.includes('b') && second.seen.includes('c'));
  second.stop();
  await second.ended;
});

it('ends when its folder is deleted, instead of waiting for what no publisher writes any more', async () => {
  const before = await publisher();
  await before.write({ id: 'a', status: 'Filed' });
  const log = connected();
  const { seen, ended } = consuming(log);
  const table = await log.table('ipos');
  await until(() => seen.length === 1);
  await before.close();
  rmSync(folder(), { recursive: true });
  const after = await publisher();
  await after.write({ id: 'b', status: 'Filed' });

  await expect(ended).rejects.toMatchObject({ code: 'LOG_POSITION_LOST' });
  await expect(table.closed).rejects.toMatchObject({ code: 'LOG_POSITION_LOST' });

  const again = consuming(connected());
  await until(() => again.seen.length === 1);
  expect([seen, again.seen]).toEqual([['a'], ['b']]);
});

it('a group whose file is damaged can be joined again once that is mended', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  const file = path.join(folder(), 'consumers', 'g.db');
  mkdirSync(path.dirname(file));
  writeFileSync(file, 'no database '.repeat(1_000));
  const log = connected();
  await expect(consuming(log).ended).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
  rmSync(file);
  const { seen } = consuming(log);
  await until(() => seen.length === 1);
});

it('a group whose consumer is killed while it makes its file has no file, and a backup is made', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  const killed = spawn(
    process.execPath,
    [path.join(__dirname, '../support/consumer.cjs'), await build(), 'ipos'],
    {
      env: {
        ...process.env,
        CONSUMER_GROUP: 'g',
        HIGHWATER_DATA_DIR: folder(),
        NODE_OPTIONS: `--require ${path.join(__dirname, '../support/kill-at-rename.cjs')}`,
        KILL_AT_RENAME: '1',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  ends.push(() => killed.kill('SIGKILL'));
  expect(await once(killed, 'exit')).toEqual([null, 'SIGKILL']);
  const groups = readdirSync(path.join(folder(), 'consumers'));
  expect(groups.filter((name) => name.endsWith('.db'))).toStrictEqual([]);
  const target = path.join(folder(), 'copy.db');
  expect(await backUp(folder(), target, false, deadline())).toMatchObject({ groups: 0 });

  const { seen } = consuming(connected());
  await until(() => seen.length === 1);
  expect(readdirSync(path.join(folder(), 'consumers')).filter((name) => /partial/.test(name))).toStrictEqual(
    [],
  );
});

it.each([
  ['a file of 0 bytes of a group', 'g.db', ''],
  ['a file whose name is no group’s', '100%.db', 'no database'],
])('a backup is made beside %s', async (_what, name, content) => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  mkdirSync(path.join(folder(), 'consumers'));
  writeFileSync(path.join(folder(), 'consumers', name), content);
  const target = path.join(folder(), 'copy.db');
  expect(await backUp(folder(), target, false, deadline())).toMatchObject({ groups: 0 });
  const { seen } = consuming(connected());
  await until(() => seen.length === 1);
  await until(async () => (await backUp(folder(), target, true, deadline())).groups === 1);
});

it('a group whose position was removed ends by name, or goes on with what is kept if it is told to', async () => {
  const { write } = await publisher();
  await write({ id: 'a', status: 'Filed' });
  const first = consuming(connected());
  await until(() => first.seen.length === 1);
  first.stop();
  await first.ended;
  await write({ id: 'a', status: 'Priced' });
  // As retention does in the course of time.
  const file = new Database(path.join(folder(), 'highwater.db'));
  file.exec("DELETE FROM records WHERE topic = 'ipos'");
  file.close();
  await write({ id: 'a', status: 'Withdrawn' });

  await expect(consuming(connected()).ended).rejects.toMatchObject({ code: 'LOG_POSITION_LOST' });
  const logger = quietLogger();
  const log = connect({ dataDir: folder(), logger });
  ends.push(() => log.close());
  const second = consuming(log, { onLost: 'continue' });
  await until(() => second.seen.length === 1);
  expect(logger.warnings).toEqual([
    expect.stringContaining('were removed before they were read: offsets 1 to 1'),
  ]);
});

it('follows a topic from its beginning though the first records are gone', async () => {
  const { consumerLog } = openLocalConsumerLog({ dataDir: folder(), logger: quietLogger() });
  ends.push(() => consumerLog.close());
  const spec = { name: 'g.dead-letters', partitions: 1, cleanup: 'delete', retentionMs: 60_000 } as const;
  const late = AbortSignal.timeout(60_000);
  const old = { ...record(spec.name, 'old', '1'), timestamp: 1 };
  await consumerLog.append(spec, [old, old], late);
  await consumerLog.append(spec, [record(spec.name, 'new', '2')], late);
  const keys: string[] = [];
  for await (const { key } of consumerLog.follow(spec.name, new Map(), late)) {
    keys.push(key);
    if (key === 'new') break;
  }
  expect(keys.at(-1)).toBe('new');
  await expect(
    consumerLog
      .follow(spec.name, new Map([[0, 2]]), late)
      [Symbol.asyncIterator]()
      .next(),
  ).resolves.toMatchObject({ value: { key: 'new' } });
  expect(() => consumerLog.follow(spec.name, new Map([[0, 0]]), late)).toThrow(
    expect.objectContaining({ code: 'LOG_POSITION_LOST' }),
  );
});
