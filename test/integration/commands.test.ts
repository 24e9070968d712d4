import type { ServerResponse } from 'node:http';
import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import type { SchemaRegistry } from '../../src/avro/registry/registry';
import { type AskOwnerDeps, askOwner } from '../../src/commands/ask-owner';
import type { Request } from '../../src/commands/inbox';
import { type CommandServer, serveCommands } from '../../src/commands/serve-commands';
import { HighwaterError } from '../../src/errors';
import type { CommitLog } from '../../src/log/commit-log';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { commandsTopic } from '../../src/log/topics';
import { createRedactor } from '../../src/secrets/redaction';
import { type HttpServer, sendJson, startHttpServer } from '../support/http-server';
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

interface Owner extends CommandServer {
  /** A feed that no other process owns. */
  readonly ownFeed: string;
}

interface OwnerOptions {
  readonly instance?: string;
  readonly log?: Pick<CommitLog, 'append' | 'read'>;
  readonly registry?: SchemaRegistry;
  /** Offset of its clock. */
  readonly aheadMs?: number;
}

/** A process that owns feeds, without a feed task: the test takes the requests from the inboxes. */
function owner({ instance = 'owner:1', aheadMs = 0, ...options }: OwnerOptions = {}): Owner {
  const { commitLog, registry } = open();
  const ownFeed = `only of ${instance}`;
  const server = serveCommands({
    log: commitLog,
    registry,
    logger,
    topic,
    instance,
    owns: (feed: string) => feed === ownFeed || owned.has(feed),
    redact: createRedactor(['s3cr3t-t0k3n']),
    heartbeatMs: 200,
    now: () => Date.now() + aheadMs,
    ...options,
  });
  servers.push(server);
  return { ...server, ownFeed };
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

/** Waits until each process has read all that the topic holds now: it is handed a request that comes after it. */
async function hasReadAll(...owners: readonly Owner[]): Promise<void> {
  for (const one of owners) {
    const asking = ask(one.ownFeed);
    (await taken(one, one.ownFeed)).answer({ ok: true, summary: '', facts: {} });
    await asking;
  }
}

/** Waits for a request, then for what may come after it: all that these processes would carry out, out of their inboxes. */
async function delivered(feed: string, ...owners: readonly Owner[]): Promise<Request[]> {
  const inboxes = owners.map((one) => one.inboxOf(feed));
  await Promise.race(inboxes.map((inbox) => inbox.filled(deadline())));
  await hasReadAll(...owners);
  return inboxes.flatMap((inbox) => {
    const requests: Request[] = [];
    for (let next = inbox.take(); next !== null; next = inbox.take()) requests.push(next);
    return requests;
  });
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
    kind: 'answered',
    owner: 'owner:1',
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
  const late = owner({ instance: 'owner:3' });
  const next = ask('analysts');
  const requests = await delivered('analysts', server, late);
  expect(requests).toHaveLength(1);
  requests[0]!.answer({ ok: true, summary: 'the second one', facts: {} });
  expect(await next).toMatchObject({ outcome: { summary: 'the second one' } });
});

it('an owner that comes while somebody asks takes the request', async () => {
  const asking = ask();
  const reader = open().commitLog;
  await until(async () => (await readAll(reader, [topic.name])).length === 1);
  (await taken(owner())).answer({ ok: true, summary: 'done', facts: {} });

  expect(await asking).toMatchObject({ kind: 'answered' });
});

it('a process that acquires the feed while somebody asks takes the request, unless it is withdrawn by then', async () => {
  const server = owner();
  expect(await ask('analysts', { acceptWithinMs: 300 })).toEqual({ kind: 'not accepted' });
  const asking = ask('analysts');
  const reader = open().commitLog;
  await until(async () => (await readAll(reader, [topic.name])).length === 3);
  await hasReadAll(server);
  owned.add('analysts');
  server.acquired('analysts');
  const requests = await delivered('analysts', server);
  expect(requests).toHaveLength(1);
  requests[0]!.answer({ ok: true, summary: 'done', facts: {} });

  expect(await asking).toMatchObject({ kind: 'answered' });
});

it('if two processes hold themselves for the owner, only one carries the request out', async () => {
  const [a, b] = [owner({ instance: 'owner:a' }), owner({ instance: 'owner:b' })];
  const asking = ask();
  const requests = await delivered('ipos', a, b);
  expect(requests).toHaveLength(1);
  requests[0]!.answer({ ok: true, summary: 'once', facts: {} });
  expect(await asking).toMatchObject({ outcome: { summary: 'once' } });
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
  const requests = await delivered('ipos', server);
  expect(requests).toHaveLength(1);
  requests[0]!.answer({ ok: true, summary: 'the second one', facts: {} });
  expect(await next).toMatchObject({ outcome: { summary: 'the second one' } });
});

it('an owner that is silent for too long is not waited for', async () => {
  owner();
  // Less than its signs of life take.
  await expect(ask('ipos', { silenceMs: 100 })).rejects.toMatchObject({
    code: 'COMMAND_UNANSWERED',
    message: expect.stringContaining('owner:1 accepted pause of ipos'),
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

it('a command that was not begun when the feed is lost, or the owner ends, is answered and not carried out', async () => {
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

it('an owner whose clock is far ahead accepts nothing that has expired by it', async () => {
  const aheadMs = 600_000;
  const ahead = owner({ aheadMs });
  expect(await ask('ipos', { acceptWithinMs: 800 })).toEqual({ kind: 'not accepted' });

  await ahead.close();

  // A later reader recognises it as an old request.
  const later = owner({ instance: 'owner:3', aheadMs });
  const asking = ask('ipos', { acceptWithinMs: 10 * aheadMs });
  const { answer } = await taken(later);
  answer({ ok: true, summary: 'done', facts: {} });
  expect(await asking).toMatchObject({ kind: 'answered' });
});

it.each([
  ['the request', 1],
  ['its own answer', 2],
])('an owner whose reading fails after %s goes on, and carries nothing out twice', async (_, records) => {
  const { commitLog } = open();
  let readable = records;
  const log: Pick<CommitLog, 'append' | 'read'> = {
    append: commitLog.append,
    read: async function* (topics, options) {
      for await (const record of commitLog.read(topics, options)) {
        yield record;
        if (--readable === 0) throw new HighwaterError('LOG_FAILED', 'gone for a moment');
      }
    },
  };
  const server = owner({ log });
  const asking = ask();
  const requests = await delivered('ipos', server);
  expect(requests).toHaveLength(1);
  requests[0]!.answer({ ok: true, summary: 'done', facts: {} });

  expect(await asking).toMatchObject({ outcome: { ok: true } });
  expect(logger.warnings).toHaveLength(1);
});

describe('a record of another program before a request', () => {
  let server: HttpServer;
  afterEach(() => server.stop());

  const found = (schema: object) => (response: ServerResponse) => sendJson(response, schema);
  const refused = (status: number, error_code: number) => (response: ServerResponse) =>
    sendJson(response, { error_code, message: 'no' }, status);

  it.each<[what: string, answer: (response: ServerResponse) => void]>([
    ['a JSON schema', found({ schemaType: 'JSON', schema: '{"type":"object"}' })],
    ['a Protobuf schema', found({ schemaType: 'PROTOBUF', schema: 'syntax = "proto3";' })],
    ['an Avro schema of something else', found({ schema: '{"type":"record","name":"Other","fields":[]}' })],
    ['no Avro schema', found({ schema: '{"type":"record","name":"highwater.Command"}' })],
    ['an id that nobody may ask for', refused(403, 40301)],
    ['an id that is unknown', refused(404, 40403)],
    ['an id at another address', refused(404, 404)],
  ])('is passed over, said once, and the request is answered: %s', async (_, answer) => {
    server = await startHttpServer((_request, response) => answer(response));
    const remote = confluentRegistry(
      { url: server.url, auth: null, registration: 'lookup' },
      { logger, timeoutMs: 5_000 },
    );
    const { commitLog: log, registry: own } = open();
    const foreignId = 4_000;
    const value = Buffer.alloc(13, 0x80);
    value.writeUIntBE(foreignId, 0, 5);
    const foreign = { topic: topic.name, key: 'ipos', value, headers: {}, timestamp: Date.now() };
    await log.append(topic, [foreign, foreign], deadline());
    const registry = {
      ...own,
      schemaById: (id: number) => (id === foreignId ? remote : own).schemaById(id),
    };
    const process = owner({ log, registry });

    const asking = ask('ipos', { log, registry });
    (await taken(process)).answer({ ok: true, summary: 'done', facts: {} });
    expect(await asking).toMatchObject({ outcome: { ok: true } });
    expect(logger.warnings).toEqual([expect.stringContaining('with the schema id 4000 are passed over')]);
  });
});
