import { type AskOwnerDeps, askOwner } from '../../src/commands/ask-owner';
import type { Request } from '../../src/commands/inbox';
import { type CommandServer, serveCommands } from '../../src/commands/serve-commands';
import { HighwaterError } from '../../src/errors';
import type { CommitLog } from '../../src/log/commit-log';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { commandsTopic } from '../../src/log/topics';
import { createRedactor } from '../../src/redaction';
import { deadline, readAll } from '../support/log-records';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const folder = tempFolder();
const topic = commandsTopic('highwater', '');
const logger = quietLogger();
const opened: LocalLog[] = [];
const servers: CommandServer[] = [];
let owned: Set<string>;

beforeEach(() => {
  owned = new Set(['ipos']);
  logger.warnings.length = 0;
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  for (const { commitLog } of opened.splice(0)) await commitLog.close();
});

function open(): LocalLog {
  const log = openLocalLog({ dataDir: folder() });
  opened.push(log);
  return log;
}

/** A process that owns feeds, without a feed task: the test takes what is in the inboxes. */
function owner(
  instance = 'owner:1',
  log: Pick<CommitLog, 'append' | 'read'> | null = null,
  aheadMs = 0,
): CommandServer {
  const own = open();
  const server = serveCommands({
    ...{ log: log ?? own.commitLog, registry: own.registry, logger, topic, instance },
    ...{ owns: (feed: string) => owned.has(feed), redact: createRedactor(['s3cr3t-t0k3n']) },
    ...{ heartbeatMs: 200, now: () => Date.now() + aheadMs },
  });
  servers.push(server);
  return server;
}

function ask(
  feed = 'ipos',
  deps: Partial<AskOwnerDeps> = {},
  signal: AbortSignal = deadline(),
): ReturnType<typeof askOwner> {
  const { commitLog: log, registry } = open();
  const own = { log, registry, topic, instance: 'asker:2', acceptWithinMs: 10_000 };
  return askOwner(feed, { name: 'pause' }, { ...own, ...deps }, signal);
}

async function taken(server: CommandServer, feed = 'ipos'): Promise<Request> {
  await server.inboxOf(feed).filled(deadline());
  return server.inboxOf(feed).take()!;
}

it('a request reaches the owner of its feed, which tells how far it is and answers', async () => {
  const server = owner();
  const told: unknown[] = [];
  const asking = ask('ipos', {
    accepted: (by) => void told.push(by),
    progress: (summary, facts) => void told.push([summary, facts]),
  });
  const { command, progress, answer } = await taken(server);
  expect(command).toEqual({ name: 'pause' });
  progress('half of it', { rows: 5 });
  answer({ ok: true, summary: 'all of it', facts: { rows: 10, whole: true } });
  answer({ ok: true, summary: 'again', facts: {} });

  expect(await asking).toEqual({
    ...{ kind: 'answered', owner: 'owner:1' },
    outcome: { ok: true, summary: 'all of it', facts: { rows: 10, whole: true } },
  });
  expect(told).toEqual(['owner:1', ['half of it', { rows: 5 }]]);
});

it('an error of the owner comes with its three parts, and without secrets', async () => {
  const server = owner();
  const asking = ask();
  const error = new HighwaterError('SOURCE_UNAUTHORIZED', 'GET /x?token=s3cr3t-t0k3n', {
    remedy: 'a new one',
  });
  (await taken(server)).answer({ ok: false, error });

  const { outcome } = (await asking) as { outcome: { error: HighwaterError } };
  expect(outcome.error).toMatchObject({ code: 'SOURCE_UNAUTHORIZED', remedy: 'a new one', now: error.now });
  const bytes = (await readAll(open().commitLog, [topic.name])).map(({ value }) => value!.toString('latin1'));
  expect(bytes.join()).not.toContain('s3cr3t');
});

it('a request for a feed that nobody owns is withdrawn, and void for whoever owns it later', async () => {
  const server = owner();
  expect(await ask('analysts', { acceptWithinMs: 300 })).toEqual({ kind: 'not accepted' });

  owned.add('analysts');
  const late = owner('owner:3');
  const next = ask('analysts');
  const [first] = await Promise.race([
    taken(server, 'analysts').then((one) => [one, server] as const),
    taken(late, 'analysts').then((one) => [one, late] as const),
  ]);
  first.answer({ ok: true, summary: 'the second one', facts: {} });
  expect(await next).toMatchObject({ outcome: { summary: 'the second one' } });
  expect([server.inboxOf('analysts').take(), late.inboxOf('analysts').take()]).toEqual([null, null]);
});

it('an owner that comes while somebody asks takes the request', async () => {
  const asking = ask();
  const reader = open().commitLog;
  await until(async () => (await readAll(reader, [topic.name])).length === 1);
  (await taken(owner())).answer({ ok: true, summary: 'done', facts: {} });

  expect(await asking).toMatchObject({ kind: 'answered' });
});

it('of two that hold themselves for the owner, one carries the request out', async () => {
  const [a, b] = [owner('owner:a'), owner('owner:b')];
  const asking = ask();
  const winner = await Promise.race(
    [a, b].map((server) => taken(server).then((one) => [one, server] as const)),
  );
  winner[0].answer({ ok: true, summary: '', facts: {} });
  await asking;

  const records = (await readAll(open().commitLog, [topic.name])).length;
  // request, one accepted or two, progress perhaps, done
  expect(records).toBeGreaterThanOrEqual(3);
  expect([a.inboxOf('ipos').take(), b.inboxOf('ipos').take()]).toEqual([null, null]);
});

it('the signal withdraws a request that nobody has accepted, and leaves an accepted one to its owner', async () => {
  const early = new AbortController();
  const nobody = ask('analysts', {}, early.signal);
  const reader = open().commitLog;
  await until(async () => (await readAll(reader, [topic.name])).length === 1);
  early.abort();
  expect(await nobody).toEqual({ kind: 'not accepted' });

  const server = owner();
  const late = new AbortController();
  const asking = ask('ipos', { accepted: () => late.abort() }, late.signal);
  const { answer } = await taken(server);
  expect(await asking).toEqual({ kind: 'left', owner: 'owner:1' });
  answer({ ok: true, summary: 'done', facts: {} });
});

it('a request that was interrupted while it was written is withdrawn too', async () => {
  const stop = new AbortController();
  const { commitLog, registry } = open();
  const slow: Pick<CommitLog, 'append' | 'read'> = {
    read: commitLog.read,
    async append(to, records, signal) {
      // It is written, and who wrote it learns of nothing but the signal.
      await commitLog.append(to, records, deadline());
      if (!stop.signal.aborted) stop.abort();
      signal.throwIfAborted();
    },
  };
  expect(await ask('ipos', { log: slow, registry }, stop.signal)).toEqual({ kind: 'not accepted' });

  const server = owner();
  const next = ask();
  (await taken(server)).answer({ ok: true, summary: 'the second one', facts: {} });
  expect(await next).toMatchObject({ outcome: { summary: 'the second one' } });
  expect(server.inboxOf('ipos').take()).toBeNull();
});

it('an owner that is silent for too long is not waited for', async () => {
  owner();
  // Less than its signs of life take.
  await expect(ask('ipos', { silenceMs: 100 })).rejects.toMatchObject({
    ...{ code: 'COMMAND_UNANSWERED', message: expect.stringContaining('owner:1 accepted pause of ipos') },
  });
});

it('an owner at work shows that it lives, though it has nothing to tell', async () => {
  const server = owner();
  const asking = ask('ipos', { silenceMs: 2_000 });
  const { answer } = await taken(server);
  const reader = open().commitLog;
  // Request, accepted, and signs of life.
  await until(async () => (await readAll(reader, [topic.name])).length > 14);
  answer({ ok: true, summary: 'at last', facts: {} });
  expect(await asking).toMatchObject({ outcome: { ok: true } });
});

it('what was not begun when the feed is lost, or the owner ends, is answered and not carried out', async () => {
  const server = owner();
  const lost = ask();
  await server.inboxOf('ipos').filled(deadline());
  server.lost('ipos');
  expect(await lost).toMatchObject({ outcome: { error: { code: 'COMMAND_REFUSED' } } });
  expect(server.inboxOf('ipos').take()).toBeNull();

  const ended = ask();
  await taken(server);
  await server.close();
  expect(await ended).toMatchObject({
    outcome: { error: { code: 'COMMAND_INTERRUPTED', message: expect.stringContaining('owner:1 ended') } },
  });
});

it('an owner whose clock is far ahead accepts nothing, and says why, once for each request', async () => {
  const aheadMs = 600_000;
  const ahead = owner('owner:1', null, aheadMs);
  expect(await ask('ipos', { acceptWithinMs: 800 })).toEqual({ kind: 'not accepted' });
  await until(() => logger.warnings.length > 0);
  expect(logger.warnings).toEqual([
    expect.stringMatching(
      /^pause of feed ipos was not accepted: .* this clock is 60[01] s ahead of that of asker:2/,
    ),
  ]);

  await ahead.close();

  // Who reads the same later takes it for what it is: a request of the past.
  const later = owner('owner:3', null, aheadMs);
  const asking = ask('ipos', { acceptWithinMs: 10 * aheadMs });
  const { answer } = await taken(later);
  answer({ ok: true, summary: 'done', facts: {} });
  expect(await asking).toMatchObject({ kind: 'answered' });
  expect(logger.warnings).toHaveLength(1);
});

it('goes on when the topic cannot be read for a while, and takes nothing twice', async () => {
  const { commitLog } = open();
  let failing = 1;
  const log: Pick<CommitLog, 'append' | 'read'> = {
    append: commitLog.append,
    read: async function* (topics, options) {
      for await (const record of commitLog.read(topics, options)) {
        yield record;
        if (failing-- > 0) throw new HighwaterError('LOG_FAILED', 'gone for a moment');
      }
    },
  };
  const server = owner('owner:1', log);
  const asking = ask();
  const { answer } = await taken(server);
  answer({ ok: true, summary: 'done', facts: {} });

  expect(await asking).toMatchObject({ outcome: { ok: true } });
  expect(logger.warnings).toHaveLength(1);
  expect(server.inboxOf('ipos').take()).toBeNull();
});
