import { randomUUID } from 'node:crypto';
import { pause } from '../async/wait';
import type { SchemaRegistry } from '../avro/registry/registry';
import { HighwaterError } from '../errors';
import type { CommitLog, SharedTopicSpec } from '../log/commit-log';
import type { Logger } from '../logging/logger';
import type { Redact } from '../secrets/redaction';
import { type Command, commandOf, type Said, saidAccepted, saidOutcome, saidProgress } from './command';
import { type CommandRecord, commandCodec, writeCommandRecord } from './command-record';
import { createInbox, type Inbox, type Request } from './inbox';
import { createLedger, ownerStep } from './protocol';

export interface ServeCommandsDeps {
  readonly log: Pick<CommitLog, 'append' | 'read'>;
  readonly registry: SchemaRegistry;
  readonly logger: Logger;
  readonly topic: SharedTopicSpec;
  /** How askers name this process to people. */
  readonly instance: string;
  /** Whether this process owns the feed now. */
  owns(feed: string): boolean;
  /** What the work of the feed waits for, in a line for people; null: nothing. */
  waitsFor?(feed: string): string | null;
  readonly redact: Redact;
  /** Progress is repeated so often, so that askers know that the owner lives. Default: 5 s. */
  readonly heartbeatMs?: number;
  /** Own clock, ms. */
  readonly now?: () => number;
}

export type CommandServer = ReturnType<typeof serveCommands>;

/** After a failure the topic is followed again, with growing pauses. */
const [firstRetryMs, lastRetryMs] = [500, 30_000];
const closeWithinMs = 3_000;
/** Progress is written at most so often. */
const progressEveryMs = 1_000;
/** How long a settled request is remembered behind its expiry: clocks may step. */
const forgetAfterMs = 600_000;
/** How often a write is tried: an asker waits less long for `accepted` than for an outcome, and progress is repeated anyway. */
const tries: Partial<Record<Said['kind'], number>> = { accepted: 3, progress: 1 };
const answerTries = 5;
const [soonMs, retryMs] = [100, 2_000];

/**
 * Follows the command topic from its beginning, accepts what concerns a feed of this process, and puts it into that feed's
 * inbox. Whatever fails here, publishing goes on.
 */
export function serveCommands(deps: ServeCommandsDeps) {
  const { log, registry, logger, topic, instance, redact, heartbeatMs = 5_000, now: clock = Date.now } = deps;
  const codec = commandCodec(topic, registry, { passesOver });
  const ownerId = randomUUID();
  const ledger = createLedger();
  /** Requests for feeds that this process does not own yet. Nobody has accepted or withdrawn them, as far as it has read. */
  const kept = new Map<string, CommandRecord>();
  /** Read, answered by `accepted`, and not read back yet. */
  const accepting = new Map<string, CommandRecord>();
  const stop = new AbortController();
  let isClosing = false;
  const writing = { log, topic, codec };
  /** All that was said by now is written or given up, in its order. */
  let answered: Promise<void> = Promise.resolve();
  /** Accepted, and not answered yet. */
  const open = new Map<Request, CommandRecord>();
  const inboxes = new Map<string, Inbox>();
  const { notStarted, notFinished, tooLate, unknownCommand } = refusalsBy(instance);

  const following = follow();

  async function follow(): Promise<void> {
    let failures = 0;
    while (!stop.signal.aborted) {
      try {
        const options = { fromBeginning: true, follow: true, signal: stop.signal };
        for await (const { value } of log.read([topic.name], options)) {
          const record = value === null ? null : await codec.decode(value);
          if (record !== null) await take(record);
          failures = 0;
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        const code = error instanceof HighwaterError ? error.code : 'UNEXPECTED';
        const facts = { code, why: error instanceof Error ? error.message : String(error) };
        if (failures === 0)
          logger.warn('commands of operators cannot be read now; that is tried again', facts);
        else logger.debug('commands of operators cannot be read', facts);
      }
      failures++;
      await pause(Math.min(lastRetryMs, firstRetryMs * 2 ** failures), stop.signal);
    }
  }

  function passesOver(schemaId: number, why: string): void {
    logger.warn(
      `Records of ${topic.name} with the schema id ${schemaId} are passed over: they cannot be read as commands.`,
      {
        schemaId,
        why,
        now: 'All other records of the topic are read.',
        remedy: 'Find out which program writes to this topic: only highwater should.',
      },
    );
  }

  async function take(record: CommandRecord): Promise<void> {
    const now = clock();
    ledger.forget(now - forgetAfterMs);
    for (const requests of [kept, accepting])
      for (const [id, { expires_ms }] of requests) if (expires_ms < now - forgetAfterMs) requests.delete(id);
    const { request_id } = record;
    const isAccepting = (id: string) => accepting.has(id);
    const owns = (feed: string) => !isClosing && deps.owns(feed);
    const step = ownerStep(record, ledger, { ownerId, now, owns, isAccepting });
    if (step === 'keep') kept.set(request_id, record);
    else if (record.kind === 'accepted' || record.kind === 'withdrawn') kept.delete(request_id);
    if (step === 'accept') return accept(record);
    if (step === null || step === 'keep') return;
    const asked = accepting.get(request_id)!;
    accepting.delete(request_id);
    if (step === 'lost') return;
    const refuse = (error: HighwaterError) => void say(asked, saidOutcome({ ok: false, error }));
    if (step === 'too late') return refuse(tooLate(asked));
    const command = commandOf(asked);
    if (command === null) return refuse(unknownCommand(asked));
    if (!owns(asked.feed)) return refuse(notStarted(asked));
    logger.info(`${asked.command} is asked for`, { feed: asked.feed, by: asked.asked_by });
    inboxOf(asked.feed).put(openRequest(asked, command));
  }

  function accept(record: CommandRecord): Promise<void> {
    accepting.set(record.request_id, record);
    return say(record, saidAccepted);
  }

  /** Its progress is repeated until it is answered. Only the first answer counts. */
  function openRequest(asked: CommandRecord, command: Command): Request {
    let latest = saidProgress('', {});
    let toldAt = 0;
    const tell = (now = latest): void => {
      toldAt = Date.now();
      void say(asked, now);
    };
    const heartbeat = setInterval(() => {
      const waiting = deps.waitsFor?.(asked.feed) ?? null;
      tell(waiting === null ? latest : saidProgress(waiting, { waiting: true }));
    }, heartbeatMs).unref();
    const request: Request = {
      command,
      progress(summary, facts) {
        if (!open.has(request)) return;
        latest = saidProgress(summary, facts);
        // The clock may step back.
        if (Math.abs(Date.now() - toldAt) >= progressEveryMs) tell();
      },
      answer(outcome) {
        if (!open.delete(request)) return;
        clearInterval(heartbeat);
        void say(asked, saidOutcome(outcome));
      },
    };
    open.set(request, asked);
    return request;
  }

  /** Resolves when it is written or given up; of that the log tells. */
  function say(asked: CommandRecord, said: Said): Promise<void> {
    answered = answered.then(() => write(asked, said));
    return answered;
  }

  async function write(asked: CommandRecord, said: Said): Promise<void> {
    const most = tries[said.kind] ?? answerTries;
    for (let attempt = 1; ; attempt++) {
      const record = { ...asked, ...said, owner: instance, owner_id: ownerId, ts_ms: clock() };
      try {
        await writeCommandRecord(redacted(record, redact), writing, stop.signal);
        return;
      } catch (error) {
        if (stop.signal.aborted) return;
        const facts = { feed: asked.feed, command: asked.command, said: said.kind, error };
        // A process that ends has no time to lose.
        const isUrgent = isClosing || said.kind === 'accepted';
        if (attempt < most) await pause(isUrgent ? soonMs : retryMs, stop.signal);
        else {
          if (said.kind === 'progress') logger.debug('progress of a command could not be told', facts);
          else logger.warn('the asker of a command could not be answered', facts);
          return;
        }
      }
    }
  }

  function inboxOf(feed: string): Inbox {
    const inbox = inboxes.get(feed) ?? createInbox();
    inboxes.set(feed, inbox);
    return inbox;
  }

  /** Answers requests that nobody has begun to carry out. */
  function refuseWaiting(feed: string): void {
    for (const request of inboxOf(feed).takeAll())
      request.answer({ ok: false, error: notStarted(open.get(request)!) });
  }

  return {
    inboxOf,
    /** The feed is owned from now on. Requests that came before are accepted. */
    acquired(feed: string): void {
      const now = clock();
      for (const [id, record] of kept) {
        if (record.feed !== feed || isClosing) continue;
        kept.delete(id);
        if (record.expires_ms > now) void accept(record);
      }
    },
    /** The feed is owned no more: what waits for it is answered, and never carried out. */
    lost: refuseWaiting,
    /** Takes no more requests, answers the open ones, and ends within seconds. */
    async close(): Promise<void> {
      isClosing = true;
      for (const feed of inboxes.keys()) refuseWaiting(feed);
      for (const [request, asked] of open) request.answer({ ok: false, error: notFinished(asked) });
      const inTime = new AbortController();
      await Promise.race([answered, pause(closeWithinMs, inTime.signal)]);
      inTime.abort();
      stop.abort();
      await following;
    },
  };
}

/** The answers to a command that the owner did not carry out to its end. @param instance how askers name the owner to people */
function refusalsBy(instance: string) {
  const refused = (what: string, remedy = 'Ask again.') =>
    new HighwaterError('COMMAND_REFUSED', what, { now: 'Nothing of it was done.', remedy });
  return {
    notStarted: ({ command, feed }: CommandRecord) =>
      refused(`${instance} let go of the feed ${feed} before it began with ${command}`),
    notFinished: ({ command, feed }: CommandRecord) =>
      new HighwaterError(
        'COMMAND_INTERRUPTED',
        `${instance} ended while it carried out ${command} of ${feed}`,
      ),
    tooLate: ({ command, feed, expires_ms }: CommandRecord) =>
      refused(
        `${instance} came to ${command} of ${feed} after ${new Date(expires_ms).toISOString()}, when it had expired`,
      ),
    unknownCommand: ({ command, feed }: CommandRecord) =>
      refused(
        `${instance}, which owns ${feed}, does not know the command ${command}, or not so`,
        'Use the same version of highwater as the publisher.',
      ),
  };
}

/** Figures are numbers and names of ours; texts may quote a server. */
function redacted(record: CommandRecord, redact: Redact): CommandRecord {
  const { summary, error } = record;
  return {
    ...record,
    summary: summary === null ? null : redact(summary),
    error: error && {
      ...error,
      message: redact(error.message),
      now: redact(error.now),
      remedy: redact(error.remedy),
    },
  };
}
