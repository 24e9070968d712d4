import { randomUUID } from 'node:crypto';
import type { SchemaRegistry } from '../avro/registry';
import { HighwaterError } from '../errors';
import type { CommitLog, SharedTopicSpec } from '../log/commit-log';
import type { Logger } from '../logger';
import type { Redact } from '../redaction';
import { pause } from '../wait';
import { saidOutcome, saidProgress } from './answers';
import { clocksApart } from './clocks-apart';
import type { Outcome } from './command';
import { commandOf } from './command-arguments';
import { type CommandRecord, commandCodec } from './command-record';
import { writeCommandRecord } from './command-writer';
import { createInbox, type Inbox, type Request } from './inbox';
import { createLedger } from './ledger';
import { ownerStep } from './owner-step';

export interface ServeCommandsDeps {
  readonly log: Pick<CommitLog, 'append' | 'read'>;
  readonly registry: SchemaRegistry;
  readonly logger: Logger;
  readonly topic: SharedTopicSpec;
  /** How askers name this process to people. */
  readonly instance: string;
  /** Whether this process owns the feed now. */
  owns(feed: string): boolean;
  /** Takes secrets out of what is said. */
  readonly redact: Redact;
  /** Progress is repeated so often, so that askers know that the owner lives. Default: 5 s. */
  readonly heartbeatMs?: number;
  /** Own clock, ms. */
  readonly now?: () => number;
}

/** Requests of operators for the feeds of this process. */
export interface CommandServer {
  inboxOf(feed: string): Inbox;
  /** The feed is owned no more: what waits for it is answered, and never carried out. */
  lost(feed: string): void;
  /** Takes no more requests, answers those that are open, and ends within seconds. */
  close(): Promise<void>;
}

/** Progress is written at most so often. */
const progressEveryMs = 1_000;
/** What cannot be written is tried so often: the asker waits less long for the one than for the other. */
const [acceptTries, answerTries] = [3, 5];
const [soonMs, retryMs] = [100, 2_000];
/** The topic is followed anew after a failure: first soon, then seldom. */
const [firstRetryMs, lastRetryMs] = [500, 30_000];
const closeWithinMs = 3_000;
const nothing = 'Nothing of it was done.';
/** How long a settled request is remembered behind its expiry: clocks may step. */
const forgetAfterMs = 600_000;

/**
 * Follows the command topic from its beginning, accepts what concerns a feed of this process, and puts it into that feed's
 * inbox. Whatever fails here, publishing goes on.
 */
export function serveCommands(deps: ServeCommandsDeps): CommandServer {
  const { log, registry, logger, topic, instance, redact, heartbeatMs = 5_000, now: clock = Date.now } = deps;
  const codec = commandCodec(topic, registry);
  const writing = { log, topic, codec };
  const ownerId = randomUUID();
  const ledger = createLedger();
  const clocks = clocksApart();
  /** Read, answered by `accepted`, and not read back yet. */
  const accepting = new Map<string, CommandRecord>();
  const open = new Set<OpenRequest>();
  const inboxes = new Map<string, Inbox>();
  const stop = new AbortController();
  let isClosing = false;
  /** What is said goes out in its order. */
  let said: Promise<void> = Promise.resolve();

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

  async function take(record: CommandRecord): Promise<void> {
    const [now, readAt] = [clock(), performance.now()];
    ledger.forget(now - forgetAfterMs);
    for (const [id, { expires_ms }] of accepting) if (expires_ms < now - forgetAfterMs) accepting.delete(id);
    const { request_id } = record;
    const isAccepting = (id: string) => accepting.has(id);
    const owns = (feed: string) => !isClosing && deps.owns(feed);
    const step = ownerStep(record, ledger, { ownerId, now, owns, isAccepting });
    if (step === 'accept') {
      accepting.set(request_id, record);
      await say(record, { kind: 'accepted', summary: null, facts: {}, error: null }, acceptTries);
      return;
    }
    if (step === 'expired') return clocks.passedOver(record, readAt);
    const aheadMs = clocks.settled(record, readAt, now);
    if (aheadMs !== null) warnOfClock(record, aheadMs);
    if (step === null) return;
    const asked = accepting.get(request_id)!;
    accepting.delete(request_id);
    if (step === 'lost') return;
    const request = openRequest(asked);
    const command = commandOf(asked);
    if (step === 'too late') request.answer(failure(tooLate(asked)));
    else if (command === null) request.answer(failure(unknownCommand(asked)));
    else if (isClosing || !deps.owns(asked.feed)) request.answer(failure(notStarted(asked)));
    else {
      const { feed, asked_by: by } = asked;
      logger.info(`${asked.command} is asked for`, { feed, by });
      inboxOf(asked.feed).put(request.for(command));
    }
  }

  function warnOfClock({ command, feed, asked_by: by }: CommandRecord, aheadMs: number): void {
    const ahead = Math.round(aheadMs / 1_000);
    logger.warn(
      `${command} of feed ${feed} was not accepted: it had expired, for this clock is ${ahead} s ahead of that of ${by}. Set both by NTP.`,
      { feed, command, by, ahead },
    );
  }

  function say(
    asked: CommandRecord,
    what: Pick<CommandRecord, 'kind' | 'summary' | 'facts' | 'error'>,
    tries: number,
  ): Promise<void> {
    said = said.then(async () => {
      for (let attempt = 1; ; attempt++) {
        const record = { ...asked, ...what, owner: instance, owner_id: ownerId, ts_ms: clock() };
        try {
          await writeCommandRecord(cleaned(record), writing, stop.signal);
          return;
        } catch (error) {
          if (stop.signal.aborted) return;
          const facts = { feed: asked.feed, command: asked.command, said: what.kind, error };
          const isUrgent = isClosing || what.kind === 'accepted';
          if (attempt < tries) await pause(isUrgent ? soonMs : retryMs, stop.signal);
          else {
            if (what.kind === 'progress') logger.debug('progress of a command could not be told', facts);
            else logger.warn('the asker of a command could not be answered', facts);
            return;
          }
        }
      }
    });
    return said;
  }

  /** Figures are numbers and names of ours; texts may quote a server. */
  function cleaned(record: CommandRecord): CommandRecord {
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

  interface OpenRequest {
    readonly asked: CommandRecord;
    isTaken: boolean;
    for(command: NonNullable<ReturnType<typeof commandOf>>): Request;
    answer(outcome: Outcome): void;
  }

  function openRequest(asked: CommandRecord): OpenRequest {
    let latest = saidProgress('', {});
    let toldAt = 0;
    const tell = (): void => {
      toldAt = Date.now();
      void say(asked, latest, 1);
    };
    const heartbeat = setInterval(tell, heartbeatMs).unref();
    const request: OpenRequest = {
      asked,
      isTaken: false,
      for: (command) => ({
        command,
        progress(summary, facts) {
          if (!open.has(request)) return;
          latest = saidProgress(summary, facts);
          const isBack = Math.abs(Date.now() - toldAt) >= progressEveryMs;
          if (isBack) tell();
        },
        answer: request.answer,
      }),
      answer(outcome) {
        if (!open.delete(request)) return;
        clearInterval(heartbeat);
        void say(asked, saidOutcome(outcome), answerTries);
      },
    };
    open.add(request);
    return request;
  }

  function inboxOf(feed: string): Inbox {
    const known = inboxes.get(feed);
    if (known !== undefined) return known;
    const inner = createInbox();
    const entryOf = (request: Request) => [...open].find(({ answer }) => answer === request.answer);
    const inbox: Inbox = {
      ...inner,
      first() {
        // What was answered meanwhile, since the feed was lost before it was begun, is never shown.
        for (let next = inner.first(); next !== null; next = inner.first()) {
          if (entryOf(next) !== undefined) return next;
          inner.take();
        }
        return null;
      },
      take() {
        const next = inbox.first();
        if (next === null) return null;
        entryOf(next)!.isTaken = true;
        return inner.take();
      },
    };
    inboxes.set(feed, inbox);
    return inbox;
  }

  function failure(error: HighwaterError): Outcome {
    return { ok: false, error };
  }

  function notStarted({ command, feed }: CommandRecord): HighwaterError {
    const what = `${instance} let go of the feed ${feed} before it began with ${command}`;
    return new HighwaterError('COMMAND_REFUSED', what, { now: nothing, remedy: 'Ask again.' });
  }

  function notFinished({ command, feed }: CommandRecord): HighwaterError {
    return new HighwaterError(
      'COMMAND_INTERRUPTED',
      `${instance} ended while it carried out ${command} of ${feed}`,
    );
  }

  function tooLate({ command, feed, expires_ms }: CommandRecord): HighwaterError {
    const what = `${instance} came to ${command} of ${feed} after ${new Date(expires_ms).toISOString()}, when it had expired`;
    return new HighwaterError('COMMAND_REFUSED', what, { now: nothing, remedy: 'Ask again.' });
  }

  function unknownCommand({ command, feed }: CommandRecord): HighwaterError {
    const what = `${instance}, which owns ${feed}, does not know the command ${command}, or not so`;
    const remedy = 'Use the same version of highwater as the publisher.';
    return new HighwaterError('COMMAND_REFUSED', what, { now: nothing, remedy });
  }

  return {
    inboxOf,
    lost(feed) {
      for (const { asked, isTaken, answer } of [...open])
        if (asked.feed === feed && !isTaken) answer(failure(notStarted(asked)));
    },
    async close() {
      isClosing = true;
      for (const { asked, isTaken, answer } of [...open])
        answer(failure(isTaken ? notFinished(asked) : notStarted(asked)));
      const inTime = new AbortController();
      await Promise.race([said, pause(closeWithinMs, inTime.signal)]);
      inTime.abort();
      stop.abort();
      await following;
    },
  };
}
