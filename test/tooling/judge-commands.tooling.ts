import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { cliStarter } from '../faults/cli-process';
import { truthOf } from '../faults/restless-market';
import type { ChangeEvent, Envelope } from '../support/judge/change-log';
import type { ApiVersion } from '../support/judge/history';
import { type ApiTruth, judgeFile, type Knowledge } from '../support/judge/judge';
import { replay } from '../support/judge/replay';
import { describeVerdict, findings, type Violation } from '../support/judge/verdict';

let api: Simulator;
let good: GoodLog;
let shared = '';
const folder = (): string => shared;
beforeAll(async () => {
  shared = mkdtempSync(path.join(tmpdir(), 'highwater-'));
  good = await goodLog();
});
afterAll(async () => {
  await api?.stop();
  rmSync(shared, { recursive: true, force: true });
});

interface GoodLog {
  readonly file: string;
  readonly truth: Record<'insights' | 'ipos', ApiTruth>;
  readonly known: Knowledge;
  /** Ids by what happened to them. */
  readonly deleted: string;
  readonly returned: string;
  readonly reset: string;
  /** After the last reconcile, at a second that no poll reads. */
  readonly hidden: { readonly removed: string; readonly silent: string; readonly late: string };
}

/** A log of deletes, a return, a later snapshot and a reset, by the real program. */
async function goodLog(): Promise<GoodLog> {
  api = await startSimulator({ seed: 3, records: { insights: 100, analysts: 20, ipos: 120 } });
  const { insights, ipos } = api.stores;
  const cli = await cliStarter();
  const dataDir = path.join(folder(), 'data');
  const env = {
    HIGHWATER_API_URL: api.url,
    HIGHWATER_API_TOKEN: api.token,
    HIGHWATER_FEEDS: 'insights,ipos',
    HIGHWATER_POLL_INTERVAL: '100ms',
    HIGHWATER_DATA_DIR: dataDir,
  };
  const run = async (...args: string[]): Promise<void> => {
    const one = cli.start(args, { env, cwd: folder() });
    if ((await one.exited) !== 0) throw new Error(`${args.join(' ')}: ${one.output()}`);
  };
  const now = (): number => Math.floor(Date.now() / 1000);
  const silent = (key: string, name: string): void => {
    const record = ipos.get(key)!;
    ipos.upsert({ ...record, name }, { key, updated: record.updated as number });
  };
  const late = (id: string): void => {
    ipos.upsert({ ...ipos.get(ipos.keys()[20]!)!, id, updated: now() - 864_000 });
  };

  const [deleted, returned, third, fourth, removed, changed] = ipos.keys() as [string, ...string[]];
  const back = ipos.get(returned!)!;
  await run('run', '--once');
  for (const key of [deleted, returned!, third!]) ipos.remove(key);
  silent(fourth!, 'Changed in silence');
  late('too late');
  await run('reconcile', 'ipos');
  ipos.upsert({ ...back, name: 'Here again', updated: now() }, { key: returned! });
  await run('run', '--once');
  await run('snapshot', 'ipos');
  await run('run', '--once');
  const [reset, other] = insights.keys() as [string, string];
  for (const key of [reset, other]) insights.remove(key);
  await run('reset', 'insights', '--yes');
  for (let i = 0; i < 30; i++) api.marketDay.step();
  await run('run', '--once');
  ipos.remove(removed!);
  silent(changed!, 'Changed and not found yet');
  late('later');
  return {
    file: path.join(dataDir, 'highwater.db'),
    truth: { insights: truthOf(api, 'insights'), ipos: truthOf(api, 'ipos') },
    known: { snapshots: { ipos: 1 }, goneForMs: 100 },
    deleted,
    returned: returned!,
    reset,
    hidden: { removed: removed!, silent: changed!, late: 'later' },
  };
}

function kindsOf(violations: readonly Violation[]): string[] {
  return [...new Set(violations.map(({ rule, harm }) => `${rule} ${harm}`))].sort();
}

describe('the judge, of what operators do', () => {
  it('passes a good log, and objects when the API says otherwise', async () => {
    const { file, truth, known, deleted, returned, hidden } = good;
    const verdict = judgeFile(file, truth, known);
    expect(describeVerdict(verdict)).toBe('nothing to object to');
    expect(verdict.feeds.ipos!.byOp).toMatchObject({ d: 3 });
    expect(verdict.feeds.ipos!.byOp.r).toBeGreaterThan(200);
    expect(verdict.feeds.insights!.incarnations).toBe(2);

    const judged = (change: (version: ApiVersion) => readonly ApiVersion[], told = known): string[] => {
      const history = truth.ipos.history.flatMap(change);
      return kindsOf(judgeFile(file, { ...truth, ipos: { ...truth.ipos, history } }, told).violations);
    };
    const as = (id: string, change: (version: ApiVersion) => readonly ApiVersion[]) =>
      judged((version) => (version.id === id ? change(version) : [version]));
    const isGone = ({ record }: ApiVersion): boolean => record === null;

    expect(judged((version) => [version])).toStrictEqual([]);
    // What the API shows is missing, or was never shown, or was shown in another order.
    const records = new Map(truth.ipos.records);
    const shown = (ipos: Partial<ApiTruth>): string[] =>
      kindsOf(judgeFile(file, { ...truth, ipos: { ...truth.ipos, ...ipos } }, known).violations);
    const [id, record] = [...records][10]!;
    expect(shown({ records: new Map(records).set(id, { ...record, name: 'Another' }) })).toEqual(['I1 lost']);
    expect(as(id, () => [])).toContain('I1 wrong');
    expect(shown({ history: [...truth.ipos.history].reverse() })).toContain('I4 order');
    // A delete of a record that was shown at that moment or just before.
    expect(as(deleted, (version) => (isGone(version) ? [] : [version]))).toContain('I7 wrong');
    const later = (version: ApiVersion) => ({ ...version, shownFromMs: version.shownFromMs + 60_000 });
    expect(as(deleted, (version) => [isGone(version) ? later(version) : version])).toEqual(['I7 wrong']);
    expect(judged((version) => [version], { ...known, goneForMs: 60_000 })).toEqual(['I7 wrong']);
    // A record that came back differs from the deleted one.
    const wasThere = (version: ApiVersion) =>
      isGone(version)
        ? [truth.ipos.history.findLast(({ id }) => id === returned)!, version]
        : truth.ipos.history.find(({ id }) => id === returned) === version
          ? [version]
          : [];
    expect(as(returned, wasThere)).toContain('I4 order');
    // No snapshot was asked for.
    expect(judged((version) => [version], { ...known, snapshots: {} })).toEqual(['I3 twice']);
    // A row that only a reconcile finds is lost if a reconcile has come after it, or if a poll should have found it.
    const earlier = (version: ApiVersion) => [
      { ...version, shownFromMs: Math.min(version.shownFromMs, Date.now() - 3_600_000) },
    ];
    expect(as(hidden.removed, earlier)).toEqual(['I1 wrong']);
    expect(as(hidden.silent, earlier)).toEqual(['I1 lost']);
    expect(as(hidden.late, earlier)).toEqual(['I1 lost']);
    expect(judged((version) => [version], { ...known, overlapSeconds: 1e9 })).toEqual(['I1 lost']);
  });

  it('objects to each damage', async () => {
    const { file, truth, known, deleted, reset } = good;
    const key = (id: string) => `key = '${id}'`;
    const current = (feed: string) => `topic = '${feed}.current'`;
    const image = `(SELECT value FROM records WHERE ${current('ipos')} AND value IS NOT NULL LIMIT 1)`;
    const damages: readonly [string, string, string][] = [
      [
        'the tombstone of a delete is an image',
        `UPDATE records SET value = ${image} WHERE ${current('ipos')} AND ${key(deleted)}`,
        'I5 torn',
      ],
      [
        'the tombstone of a delete is gone',
        `DELETE FROM records WHERE ${current('ipos')} AND ${key(deleted)}`,
        'I5 torn',
      ],
      ['an image is gone', `DELETE FROM records WHERE ${current('ipos')} AND ${key('too late')}`, 'I5 torn'],
      [
        'a live record has a tombstone',
        `UPDATE records SET value = NULL WHERE ${current('ipos')} AND ${key('too late')}`,
        'I5 torn',
      ],
      [
        'a reset has left an image',
        `UPDATE records SET value = (SELECT value FROM records WHERE ${current('insights')} AND value IS NOT NULL LIMIT 1)
         WHERE ${current('insights')} AND ${key(reset)}`,
        'I5 torn',
      ],
      [
        'a reset has removed what was not there',
        `UPDATE records SET key = 'another' WHERE ${current('insights')} AND ${key(reset)}`,
        'I5 torn',
      ],
      [
        'a reset has written once too often',
        `UPDATE records SET offset = offset + 1 WHERE rowid = (SELECT rowid FROM records WHERE ${current('insights')}
         AND partition = 1 ORDER BY offset DESC LIMIT 1)`,
        'I5 torn',
      ],
      [
        'an event of the ended incarnation is gone',
        `DELETE FROM records WHERE rowid = (SELECT min(rowid) FROM records WHERE topic = 'insights')`,
        'I2 lost',
      ],
      [
        'a delete is gone',
        `DELETE FROM records WHERE topic = 'ipos' AND headers LIKE '%"op":"d"%'`,
        'I2 lost',
      ],
      [
        'the later snapshot stands twice',
        `INSERT INTO records SELECT topic, partition, offset + 100000, timestamp, key, headers, value FROM records
         WHERE topic = 'ipos' AND headers LIKE '%"op":"r"%'`,
        'I3 twice',
      ],
    ];
    const verdicts = damages.map(([name, sql], i) => {
      // A closed file may still hold a WAL, so each damage has a file of its own.
      const damaged = path.join(folder(), `damaged-${i}.db`);
      copyFileSync(file, damaged);
      const db = new Database(damaged);
      const { changes } = db.prepare(sql).run();
      db.close();
      expect([name, changes]).not.toEqual([name, 0]);
      return [name, kindsOf(judgeFile(damaged, truth, known).violations)];
    });
    expect(verdicts).toEqual(damages.map(([name, , kind]) => [name, expect.arrayContaining([kind])]));
  });

  it('objects to a life of one record that cannot have been', () => {
    const a = { id: 'one', updated: 1, name: 'A' };
    const b = { id: 'one', updated: 2, name: 'B' };
    const kinds = (snapshots: number, ...steps: readonly Step[]): string[] => {
      const found = findings('ipos');
      const events = steps.map((step, i) => eventOf(step, i + 1));
      replay('ipos', { incarnation: 'i', events }, snapshots, found);
      return kindsOf(found.violations);
    };
    const read: Step = { op: 'r', before: null, after: a, origin: 'snapshot' };
    const gone: Step = { op: 'd', before: a, after: null, origin: 'reconcile' };
    const created: Step = { op: 'c', before: null, after: b, origin: 'poll' };

    expect(kinds(0, read, gone, created)).toStrictEqual([]);
    expect(kinds(1, read, read)).toStrictEqual([]);
    expect(kinds(1, read, { ...read, origin: 'poll' })).toStrictEqual([]);
    expect(kinds(1, read, read, read)).toEqual(['I3 twice']);
    expect(kinds(1, read, { ...read, after: b })).toEqual(['I3 wrong']);
    expect(kinds(0, gone)).toEqual(['I3 lost']);
    expect(kinds(0, read, gone, gone)).toEqual(['I3 lost']);
    expect(kinds(0, read, { ...gone, before: b })).toEqual(['I3 lost']);
    expect(kinds(0, read, created)).toEqual(['I3 twice']);
    expect(kinds(0, { ...read, origin: 'poll' })).toEqual(['I3 wrong']);
    expect(kinds(0, { ...created, origin: 'backfill' })).toEqual(['I3 wrong']);
    expect(kinds(0, read, { ...gone, origin: 'poll' })).toEqual(['I3 wrong']);
  });
});

type Step = Pick<Envelope, 'op' | 'before' | 'after'> & { readonly origin: string };

function eventOf({ op, before, after, origin }: Step, seq: number): ChangeEvent {
  const row = {
    topic: 'ipos',
    partition: 0,
    offset: seq,
    timestamp: seq,
    key: 'one',
    headers: {},
    value: null,
  };
  const source = {
    name: 'a',
    feed: 'ipos',
    updated: 1,
    ts_ms: 1000,
    snapshot: 'false',
    origin,
    incarnation: 'i',
    seq,
  };
  const envelope = { op, before, after, changed_fields: [], source, ts_ms: seq, event_id: `ipos:i:${seq}` };
  return { row, id: 'one', seq, incarnation: 'i', envelope, afterBytes: null };
}
