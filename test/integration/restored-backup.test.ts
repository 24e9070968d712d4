import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { connect } from '../../src/consumer/connect';
import { cliPublisher } from '../support/cli-publisher';
import { deadline } from '../support/log-records';
import { quietLogger } from '../support/source';

/** The steps of docs/runbook/backup-and-restore.md, on the embedded log. */

const { api, done, folder, records } = cliPublisher(() => ({}));
const data = () => path.join(folder(), 'data');
const backup = () => path.join(folder(), 'backup');

beforeEach(async () => {
  await publish();
  await consumed(60);
  back();
});

/** As a publisher that comes and goes. */
async function publish(): Promise<void> {
  expect(await done(['run', '--once', '--feeds', 'ipos'])).toMatchObject({ code: 0 });
}

/** As `.backup` of the sqlite3 shell does: what is committed, whoever writes meanwhile. */
function back(): void {
  mkdirSync(path.join(backup(), 'consumers'), { recursive: true });
  const groups = readdirSync(path.join(data(), 'consumers')).filter((name) => name.endsWith('.db'));
  for (const file of [...groups.map((name) => path.join('consumers', name)), 'highwater.db']) {
    const db = new Database(path.join(data(), file));
    db.exec(`VACUUM INTO '${path.join(backup(), file)}'`);
    db.close();
  }
}

function restore(...files: string[]): void {
  rmSync(data(), { recursive: true });
  for (const file of files) cpSync(path.join(backup(), file), path.join(data(), file), { recursive: true });
}

/** What a group is handed, up to so many events. @returns their ids, with what each says of the price */
async function consumed(count: number): Promise<Map<string, string>> {
  const log = connect({ dataDir: data(), logger: quietLogger() });
  const over = new AbortController();
  const seen = new Map<string, string>();
  const ended = log.consume(
    {
      group: 'desk',
      topics: ['ipos'],
      from: 'beginning',
      signal: AbortSignal.any([over.signal, deadline()]),
    },
    ({ value }) => {
      seen.set(value.event_id, `${value.op} ${value.before?.price_max} ${value.after?.price_max}`);
      if (seen.size === count) over.abort();
    },
  );
  try {
    await ended;
    return seen;
  } finally {
    await log.close();
  }
}

async function move(...prices: string[]): Promise<void> {
  for (const price of prices) {
    const truth = api().truth('ipos');
    const { updated: _, ...rest } = truth.get([...truth.keys()].sort()[0]!)!;
    api().stores.ipos.upsert({ ...rest, price_max: price } as never);
    await publish();
  }
}

it('an older copy gives numbers a second time that consumers have seen, unless the feed is reset', async () => {
  await move('1.00', '2.00');
  const before = await consumed(2);
  expect([...before.values()]).toEqual([expect.stringMatching(/^u .* 1\.00$/), 'u 1.00 2.00']);

  restore('highwater.db', 'consumers');
  await move('99.00');
  const [[id, said]] = [...(await consumed(1))] as [[string, string]];
  expect(before.has(id)).toBe(true);
  expect(before.get(id)).not.toBe(said);
});

it('with its consumers, and a reset before the publisher, it shows everybody the present state under numbers of its own', async () => {
  await move('1.00', '2.00');
  const before = await consumed(2);

  restore('highwater.db', 'consumers');
  const reset = await done(['reset', 'ipos', '--yes']);
  expect(reset).toMatchObject({ code: 0, out: expect.stringMatching(/begins anew as incarnation \w+/) });
  await publish();

  const after = await consumed(60);
  expect([...after.keys()].filter((id) => before.has(id))).toStrictEqual([]);
  expect([...after.values()].every((said) => said.startsWith('r '))).toBe(true);
  const current = (await records('ipos.current')).filter(({ value }) => value !== null);
  expect(current).toHaveLength(60);
});

it('a group that is newer than the copy is told, and reads nothing by mistake', async () => {
  await move('1.00', '2.00');
  await consumed(2);
  cpSync(path.join(data(), 'consumers'), path.join(folder(), 'newer'), { recursive: true });

  restore('highwater.db');
  cpSync(path.join(folder(), 'newer'), path.join(data(), 'consumers'), { recursive: true });
  await expect(consumed(1)).rejects.toMatchObject({ code: 'LOG_POSITION_LOST' });
});
