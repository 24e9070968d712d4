import { randomUUID } from 'node:crypto';
import { pause } from '../async/wait';
import { HighwaterError } from '../errors';
import { type Command, type Facts, factsOf, namedCommand, type Outcome, outcomeOf } from './command';
import { type CommandRecord, commandCodec, writeCommandRecord } from './command-record';
import { createLedger } from './protocol';
import type { ServeCommandsDeps } from './serve-commands';

export interface AskOwnerDeps extends Pick<ServeCommandsDeps, 'log' | 'registry' | 'topic'> {
  /** How the owner names this process to people. */
  readonly instance: string;
  /** How long an owner has to accept. */
  readonly acceptWithinMs: number;
  /** How long an owner that has accepted may be silent. Default: 30 s, six of its heartbeats. */
  readonly silenceMs?: number;
  /** The owner of the feed has it from now on. */
  accepted?(owner: string): void;
  progress?(summary: string, facts: Facts): void;
}

export type Answer =
  | { readonly kind: 'answered'; readonly owner: string; readonly outcome: Outcome }
  /** Nobody has it and nobody will. */
  | { readonly kind: 'not accepted' }
  /** The signal came, and the owner goes on. */
  | { readonly kind: 'left'; readonly owner: string };

/** A request that its asker left behind is void after so long, by the owner's clock; they may differ. */
const expiresAfterMs = 60_000;
/** Time in which the log must show a written record. */
const settleWithinMs = 15_000;

/**
 * Asks the owner of a feed, wherever it runs, and waits for its answer. A request that nobody accepts in time is withdrawn. The
 * order in the log decides, so after `not accepted` nobody carries it out.
 *
 * @param signal ends the waiting: the request is withdrawn, or left to its owner if it is already accepted
 * @throws HighwaterError COMMAND_UNANSWERED when the owner is silent for too long, or the log does not show what becomes of
 * the request; LOG_*, KAFKA_*, REGISTRY_*, SCHEMA_* when it cannot be asked
 */
export async function askOwner(
  feed: string,
  command: Command,
  deps: AskOwnerDeps,
  signal: AbortSignal,
): Promise<Answer> {
  const { log, registry, topic, instance, acceptWithinMs, silenceMs = 30_000 } = deps;
  const codec = commandCodec(topic, registry);
  const now = Date.now();
  const request: CommandRecord = {
    request_id: randomUUID(),
    kind: 'request',
    feed,
    ...namedCommand(command),
    asked_by: instance,
    expires_ms: now + acceptWithinMs + expiresAfterMs,
    owner: null,
    owner_id: null,
    summary: null,
    facts: {},
    error: null,
    ts_ms: now,
  };
  const end = new AbortController();
  const writing = { log, topic, codec };
  const ledger = createLedger();
  // From the beginning: a topic that is being made, or an end that is asked for too late, would hide the answer.
  const records = log.read([topic.name], { fromBeginning: true, follow: true, signal: end.signal });
  const next = nextWithin(
    (async function* () {
      for await (const { value } of records) {
        const record = value === null ? null : await codec.decode(value);
        if (record !== null && record.request_id === request.request_id) yield record;
      }
    })(),
  );

  try {
    await writeCommandRecord(request, writing, signal).catch((error: unknown) => {
      // It may be on its way all the same: it is withdrawn below, which also holds when it arrives later than that.
      if (!signal.aborted) throw error;
    });
    const first = await settled(acceptWithinMs, signal);
    const owner = first ?? (await withdrawn());
    if (owner === 'withdrawn') return { kind: 'not accepted' };
    const name = owner.owner ?? 'the publisher';
    deps.accepted?.(name);
    return await answer(owner.owner_id, name);
  } finally {
    end.abort();
    next.abandon();
  }

  /** @returns the `accepted` that counts; null when the time is over, or the signal came */
  async function settled(withinMs: number, until: AbortSignal): Promise<CommandRecord | 'withdrawn' | null> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const record = await next.take(deadline - performance.now(), until);
      if (record === null) return null;
      if (record.kind === 'request' || !ledger.take(record)) continue;
      return record.kind === 'accepted' ? record : 'withdrawn';
    }
  }

  /** @returns the `accepted` that came before, if one did */
  async function withdrawn(): Promise<CommandRecord | 'withdrawn'> {
    const enough = AbortSignal.timeout(settleWithinMs);
    try {
      const record: CommandRecord = { ...request, kind: 'withdrawn', ts_ms: Date.now() };
      await writeCommandRecord(record, writing, enough);
    } catch (cause) {
      throw unanswered(`${command.name} of ${feed} could not be withdrawn`, cause);
    }
    const first = await settled(settleWithinMs, enough);
    if (first === null) throw unanswered(`the log does not show what became of ${command.name} of ${feed}`);
    return first;
  }

  async function answer(ownerId: string | null, owner: string): Promise<Answer> {
    for (let heardAt = performance.now(); ; ) {
      const record = await next.take(heardAt + silenceMs - performance.now(), signal);
      if (signal.aborted) return { kind: 'left', owner };
      if (record === null) {
        const seconds = Math.round(silenceMs / 1_000);
        throw unanswered(`${owner} accepted ${command.name} of ${feed} and has been silent for ${seconds} s`);
      }
      if (record.owner_id !== ownerId) continue;
      heardAt = performance.now();
      const outcome = outcomeOf(record);
      if (outcome !== null) return { kind: 'answered', owner, outcome };
      if (record.kind === 'progress' && record.summary)
        deps.progress?.(record.summary, factsOf(record.facts));
    }
  }
}

function unanswered(what: string, cause?: unknown): HighwaterError {
  return new HighwaterError('COMMAND_UNANSWERED', what, { cause });
}

/** Items one by one, with a limit for each wait. An item that comes later belongs to the next call. */
function nextWithin<T>(items: AsyncGenerator<T>) {
  let coming: Promise<IteratorResult<T>> | null = null;
  return {
    /** @returns null when the time is over, the signal came, or nothing more comes */
    async take(withinMs: number, signal: AbortSignal): Promise<T | null> {
      coming ??= items.next();
      const over = new AbortController();
      const late = pause(Math.max(0, withinMs), AbortSignal.any([signal, over.signal]));
      try {
        const first = await Promise.race([coming, late]);
        if (first === undefined) return null;
        coming = null;
        return first.done === true ? null : first.value;
      } finally {
        over.abort();
      }
    },
    abandon(): void {
      (coming ?? items.return(undefined)).catch(() => undefined);
    },
  };
}
