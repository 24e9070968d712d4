import { setTimeout as sleep } from 'node:timers/promises';
import { type PublisherSetup, publish } from '../publisher';

/** Changes at the API, and how long each page of them took from the end of its answer until it was committed. */
export interface LatencyInput {
  readonly setup: PublisherSetup;
  /** Pages with changes that count. */
  readonly pages: number;
  readonly warmUp: number;
  /** Between a page and the next change, at most. */
  readonly pauseMs: number;
}

export interface Latency {
  /** From the body's last byte until the page was told to be committed, by page, ms. */
  readonly pages: readonly number[];
  /** The transaction's part of it. */
  readonly transactions: readonly number[];
  readonly changes: readonly number[];
  readonly rows: readonly number[];
}

async function main({ setup, pages, warmUp, pauseMs }: LatencyInput): Promise<void> {
  const stop = new AbortController();
  const found = { pages: [], transactions: [], changes: [], rows: [] } as {
    [name in keyof Latency]: number[];
  };
  /** When the answers came that no page has been made of yet. */
  const answeredAt: number[] = [];
  let transactionMs = 0;
  let committed = () => {};
  let snapshotDone = () => {};
  const ready = new Promise<void>((resolve) => {
    snapshotDone = resolve;
  });
  const publishing = publish(
    setup,
    false,
    (event) => {
      switch (event.kind) {
        case 'requested':
          answeredAt.push(performance.now());
          break;
        case 'transaction':
          transactionMs = event.seconds * 1_000;
          break;
        case 'page': {
          const began = answeredAt.shift()!;
          const { changes, rows } = event.report;
          if (changes.count === 0 || event.report.progress.duringSnapshot) break;
          found.pages.push(performance.now() - began);
          found.transactions.push(transactionMs);
          found.changes.push(changes.count);
          found.rows.push(rows);
          committed();
          break;
        }
        case 'polled':
          answeredAt.length = 0;
          snapshotDone();
      }
    },
    stop.signal,
  );
  await Promise.race([ready, publishing]);
  for (let i = 0, from = 0; i < warmUp + pages; i++) {
    const count = 1 + (i % 10);
    const done = new Promise<void>((resolve) => {
      committed = resolve;
    });
    await (await fetch(`${setup.api.url}/touch?from=${from}&count=${count}`)).arrayBuffer();
    await Promise.race([done, publishing]);
    from += count;
    await sleep(Math.random() * pauseMs);
  }
  stop.abort();
  await publishing;
  const counted = (all: readonly number[]) => all.slice(warmUp, warmUp + pages);
  const latency: Latency = {
    pages: counted(found.pages),
    transactions: counted(found.transactions),
    changes: counted(found.changes),
    rows: counted(found.rows),
  };
  console.log(JSON.stringify(latency));
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
