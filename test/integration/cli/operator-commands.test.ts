import path from 'node:path';
import { connect } from '../../../src/log/local/file/sqlite';
import { openLocalLog } from '../../../src/log/local/local-log';
import { operatorCommandContract } from '../../contract/operator-commands';
import { jsonLines } from '../../support/cli';
import { cliPublisher } from '../../support/cli-publisher';
import { readAll } from '../../support/log-records';
import { DEADLINE_MS, until } from '../../support/until';

const publisher = cliPublisher(() => ({}));
const { api, done, folder, isPaused, publishing, running: startPublisher, start, stillPolled } = publisher;

operatorCommandContract(publisher);

const kinds = (out: string) => jsonLines<{ kind: string; summary: string | null; owner: string | null }>(out);

describe('with a publisher at work', () => {
  it('pause and resume reach it, and both are answered', async () => {
    const running = await startPublisher();
    // Without the API: who only asks does not read it.
    const paused = await done(['pause', 'ipos'], {});
    expect(paused).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Feed ipos is paused.*\n$/),
      err: expect.stringMatching(new RegExp(`^\\S+:${running.pid} has feed ipos and accepted pause.\n$`)),
    });
    expect(await isPaused()).toBe(true);

    const resumed = await done(['resume', 'ipos', '--json'], {});
    expect(resumed.code).toBe(0);
    const [accepted, answer] = kinds(resumed.out);
    expect(accepted).toMatchObject({ kind: 'accepted', owner: expect.stringContaining(`:${running.pid}`) });
    expect(answer).toMatchObject({ kind: 'done', feed: 'ipos', command: 'resume', error: null });
    await stillPolled('ipos');
  });

  it('one command reaches all feeds or those that are named, and one that fails does not keep the others from it', async () => {
    await startPublisher();
    const mixed = await done(['pause', 'nosuch', 'ipos']);
    expect(mixed).toMatchObject({ code: 2, out: expect.stringMatching(/^Feed ipos is paused/) });
    expect(mixed.err).toContain('there is no feed nosuch');
    expect(await isPaused()).toBe(true);
    const all = await done(['resume', '--all']);
    expect(all).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Feed (ipos|analysts) is .*\nFeed (ipos|analysts) is /),
    });
    expect(await isPaused()).toBe(false);
    for (const wrong of [['pause'], ['pause', 'ipos', '--all']]) {
      const { code, err } = await done(wrong);
      expect([code, err]).toEqual([2, expect.stringContaining('Name the feeds, or use --all')]);
    }
  });

  it('an answer that is a refusal ends with 1 and three parts', async () => {
    await startPublisher();
    await done(['pause', 'ipos']);
    const { code, out, err } = await done(['reconcile', 'ipos', '--dry-run', '--json']);

    expect(code).toBe(1);
    expect(kinds(out).at(-1)).toMatchObject({ kind: 'failed', error: { code: 'COMMAND_REFUSED' } });
    expect(err).toMatch(/error COMMAND_REFUSED .*paused.*\n {2}now: {2}.*\n {2}do: /);
  });

  it('Ctrl-C ends the waiting, and the publisher goes on with what it accepted', async () => {
    const running = await startPublisher();
    api().fault({ fault: { kind: 'hang' }, feed: 'ipos', probability: 1 } as never);
    const asking = start(['reconcile', 'ipos', '--dry-run']);
    await asking.sees(/accepted reconcile/, 'stderr');
    asking.signal('SIGINT');

    expect(await asking.ended()).toEqual({ code: null, signal: 'SIGINT' });
    expect(asking.stderr()).toMatch(
      new RegExp(`:${running.pid} goes on with reconcile of ipos; this command does not wait for the answer`),
    );
    api().clearFaults();
    await stillPolled('ipos');
  });

  it('one that stands still does not carry out what it was asked meanwhile', async () => {
    const running = await startPublisher();
    // Stopped within a transaction, it would hold the lock that the command needs.
    const db = connect(path.join(folder(), 'data', 'highwater.db'), DEADLINE_MS);
    db.exec('BEGIN IMMEDIATE');
    running.signal('SIGSTOP');
    db.exec('ROLLBACK');
    db.close();
    const { code, err } = await done(['pause', 'ipos', '--wait', '700ms']);
    expect(code).toBe(1);
    expect(err).toMatch(
      new RegExp(`COMMAND_NOT_ACCEPTED .*process ${running.pid} on .*\n {2}now: {2}The request is withdrawn`),
    );
    running.signal('SIGCONT');

    await stillPolled('ipos');
    // It gets the next command, so it has read the earlier ones.
    expect((await done(['resume', 'ipos'])).code).toBe(0);
    expect(await isPaused()).toBe(false);
  });
});

describe('without a publisher', () => {
  it('the command acquires the feed, carries out what was asked, and lets go of it', async () => {
    expect((await done(['run', '--once'])).code).toBe(0);
    const paused = await done(['pause', 'ipos']);
    expect(paused).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Feed ipos is paused.*\n$/),
      err: 'No publisher has accepted pause of ipos: this command acquires the feed.\n',
    });

    start(['run']);
    await stillPolled('analysts');
    expect(await isPaused()).toBe(true);
    expect((await done(['resume', 'ipos'])).code).toBe(0);
    await stillPolled('ipos');
  });

  it('does not wait for a publisher that was killed', async () => {
    const running = await startPublisher();
    await running.stop('SIGKILL');
    const before = Date.now();
    expect((await done(['pause', 'ipos', '--wait', '60s'])).code).toBe(0);
    expect(Date.now() - before).toBeLessThan(20_000);
  });

  it('needs the API then, and says so', async () => {
    await done(['run', '--once']);
    const { code, err } = await done(['pause', 'ipos'], {});
    expect([code, err]).toEqual([2, expect.stringContaining('HIGHWATER_API_URL')]);
  });

  it('makes no log where there is none', async () => {
    const { code, err } = await done(['pause', 'ipos', '--data-dir', 'elsewhere']);
    expect([code, err]).toEqual([1, expect.stringContaining('LOG_MISSING')]);
    const { commitLog } = openLocalLog({ dataDir: path.join(folder(), 'elsewhere') });
    expect(await commitLog.topicNames()).toBeNull();
  });

  it('writes nothing into the command topic', async () => {
    await done(['run', '--once']);
    await done(['pause', 'ipos']);
    const { commitLog } = openLocalLog({ dataDir: path.join(folder(), 'data') });
    expect(await readAll(commitLog, ['highwater.commands'])).toStrictEqual([]);
    expect(await commitLog.topicNames()).not.toContain('highwater.commands');
    await commitLog.close();
  });
});

describe('a command line that is wrong', () => {
  it.each([
    [['pause', 'nothing'], 'there is no feed nothing; there are analysts, ipos'],
    [['reset', 'ipos'], 'no terminal to confirm it'],
    [['backfill', 'ipos', '--from', '2026-02-30', '--to', '2026-03-01'], 'a date such as'],
    [['backfill', 'ipos', '--from', '2026-03-02', '--to', '2026-03-01'], 'is after --to'],
    [['backfill', 'ipos', '--from', '2026-03-02'], "required option '--to <date>'"],
    [['reconcile', 'ipos', '--allow-deletes', 'many'], 'a whole number'],
    [['dead-letters', 'retry'], 'no feed is named'],
  ])('%j ends with 2', async (args, says) => {
    const { code, out, err } = await done(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(says);
    expect(err).toMatch(/\n {2}now: {2}.+\n {2}do: {3}.+/);
  });
});

describe('while the API accepts requests and does not answer', () => {
  const hang = () => api().fault({ feed: 'ipos', fault: { kind: 'hang' }, probability: 1 });
  // No request is given up before the test ends.
  const patient = {
    HIGHWATER_REQUEST_TIMEOUT: '1h',
    HIGHWATER_IDLE_TIMEOUT: '1h',
    HIGHWATER_RETRY_TIME: '1h',
  };
  const env = () => ({ ...publishing(), ...patient });
  const waiting = () => `Waiting for a page of ipos from ${api().url}.`;

  async function startHanging(): Promise<void> {
    const publisher = start(['run'], env());
    await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
    hang();
    const before = api().requests('ipos').length;
    await until(() => api().requests('ipos').length > before);
  }

  it.each([
    ['reconcile', 'ipos'],
    ['backfill', 'ipos', '--from', '2026-01-01', '--to', '2026-02-01'],
    ['dead-letters', 'retry', 'ipos'],
    ['snapshot', 'ipos'],
  ])('%s says what the publisher waits for, once', async (...args) => {
    await startHanging();
    const [forPeople, forPrograms] = [start(args), start([...args, '--json'])];
    await forPeople.sees(/Waiting/, 'stderr');
    await forPrograms.sees(/"waiting":true/, 'stdout');
    expect(forPeople.stderr().split(waiting())).toHaveLength(2);
    expect(kinds(forPrograms.stdout())).toContainEqual(
      expect.objectContaining({ kind: 'progress', summary: waiting(), facts: { waiting: true } }),
    );
  });

  it('a pause is carried out at once', async () => {
    await startHanging();
    expect(await done(['pause', 'ipos'])).toMatchObject({ code: 0 });
    api().clearFaults();
    expect((await done(['resume', 'ipos'])).code).toBe(0);
    await stillPolled('ipos');
  });

  it('a command that acquires the feed itself says what it waits for', async () => {
    expect((await done(['run', '--once'])).code).toBe(0);
    hang();
    const alone = start(['reconcile', 'ipos'], env());
    await alone.sees(/Waiting/, 'stderr');
    expect(alone.stderr()).toContain(waiting());
  });

  it('doctor says what it waits for, also to programs', async () => {
    hang();
    const checks = [start(['doctor'], env()), start(['doctor', '--json'], env())];
    for (const check of checks) {
      await check.sees(/Waiting/, 'stderr');
      expect(check.stderr().split(waiting())).toHaveLength(2);
    }
  });
});
