import { setTimeout as sleep } from 'node:timers/promises';
import { measureOwn } from '../../measure/own-usage';
import { type PublisherSetup, publish } from '../publisher';

/** Polls of a publisher that has read everything. */
export interface PollsInput {
  readonly setup: PublisherSetup;
  /** Polls before the first one that counts. */
  readonly warmUp: number;
  /** Polls that count; 0: none, what is measured is the time between polls. */
  readonly polls: number;
  /** Of the time between polls. */
  readonly idleMs: number;
}

export interface Polls {
  readonly polls: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** From the begin of each poll to its end. */
  readonly pollingMs: number;
  readonly requests: number;
  readonly retries: number;
  readonly transactions: number;
  readonly rows: number;
  readonly changes: number;
  /** Of answers' bodies. */
  readonly bytes: number;
  readonly records: number;
}

async function main({ setup, warmUp, polls, idleMs }: PollsInput): Promise<void> {
  const stop = new AbortController();
  const found = {
    polls: 0,
    pollingMs: 0,
    requests: 0,
    retries: 0,
    transactions: 0,
    rows: 0,
    changes: 0,
    records: 0,
  };
  let left = warmUp;
  let usage: ReturnType<typeof measureOwn> | null = null;
  let bytesBefore = 0;
  let ended = { wallMs: 0, cpuMs: 0 };
  const bytes = async () => {
    const answer = await fetch(`${setup.api.url}/stats`);
    return ((await answer.json()) as { readonly bytes: number }).bytes;
  };
  const end = () => {
    ended = usage!();
    stop.abort();
  };
  await publish(
    setup,
    false,
    (event) => {
      if (event.kind === 'acquired') found.records = event.state.recordCount;
      if (event.kind === 'polled' && left > 0 && --left === 0) {
        void bytes().then(async (already) => {
          bytesBefore = already;
          // What a start leaves to do is not the time between polls.
          if (polls === 0) await sleep(idleMs / 5);
          usage = measureOwn();
          if (polls === 0) setTimeout(end, idleMs);
        });
        return;
      }
      if (usage === null || stop.signal.aborted) return;
      if (event.kind === 'requested') found.requests++;
      if (event.kind === 'retried') found.retries++;
      if (event.kind === 'transaction') found.transactions++;
      if (event.kind !== 'polled') return;
      found.polls++;
      found.pollingMs += event.seconds * 1_000;
      found.rows += event.result.rows;
      found.changes += event.result.changes;
      if (polls > 0 && found.polls === polls) end();
    },
    stop.signal,
  );
  const { wallMs, cpuMs } = ended;
  const result: Polls = { ...found, wallMs, cpuMs, bytes: (await bytes()) - bytesBefore };
  console.log(JSON.stringify(result));
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
