import type { AnswerQueue } from './answer-queue';
import { saidOutcome, saidProgress } from './answers';
import type { Command, Outcome } from './command';
import type { CommandRecord } from './command-record';
import { createInbox, type Inbox, type Request } from './inbox';

/** A request that was accepted and is not answered yet. */
export interface OpenRequest {
  readonly asked: CommandRecord;
  /** Out of the inbox: it is carried out, or about to be. */
  readonly isTaken: boolean;
  /** As the loop of its feed sees it. */
  for(command: Command): Request;
  /** Only the first answer counts. */
  answer(outcome: Outcome): void;
}

/** The open requests of one process, and the inboxes in which they wait for their feeds. */
export interface OpenRequests {
  open(asked: CommandRecord): OpenRequest;
  all(): readonly OpenRequest[];
  inboxOf(feed: string): Inbox;
}

/** Progress is written at most so often. */
const progressEveryMs = 1_000;

/** @param heartbeatMs progress is repeated so often, so that askers know that the owner lives */
export function openRequests({ say }: AnswerQueue, heartbeatMs: number): OpenRequests {
  const open = new Set<{ -readonly [field in keyof OpenRequest]: OpenRequest[field] }>();
  const inboxes = new Map<string, Inbox>();

  function openRequest(asked: CommandRecord): OpenRequest {
    let latest = saidProgress('', {});
    let toldAt = 0;
    const tell = (): void => {
      toldAt = Date.now();
      void say(asked, latest);
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
        void say(asked, saidOutcome(outcome));
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
        // A request that was answered because the feed was lost before work on it began is never shown.
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

  return { open: openRequest, all: () => [...open], inboxOf };
}
