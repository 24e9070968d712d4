import { setTimeout as delay } from 'node:timers/promises';
import { feedNames } from '../../src/simulator/endpoints';
import type { ProxiedKafka } from '../support/proxied-kafka';
import { DEADLINE_MS, until } from '../support/until';
import type { CliProcess } from './cli-process';
import { observed } from './crash-run';
import type { KafkaPublisherLog } from './kafka-publisher-log';

/** Faults of the broker during a transaction of the publisher. */
export interface BrokerStrike {
  /** `kill`: SIGKILL, then another start on the same data. `freeze`: SIGSTOP, then SIGCONT. */
  readonly does: 'kill' | 'freeze';
  /**
   * `begun`: records are on their way to it. `end-lost`: it never gets the request to commit. `end-late`: it is struck as the
   * request comes to it. `ended`: it has committed and the answer is lost.
   */
  readonly at: keyof typeof points;
  /** Time for which it is away, in ms; the time of its start comes on top. */
  readonly forMs: number;
}

const points = {
  begun: { api: 'Produce', where: 'request', fate: 'pass' },
  'end-lost': { api: 'EndTxn', commits: true, where: 'request', fate: 'cut' },
  'end-late': { api: 'EndTxn', commits: true, where: 'request', fate: 'pass' },
  ended: { api: 'EndTxn', commits: true, where: 'answer', fate: 'cut' },
} as const;

export interface StrikeReport extends BrokerStrike {
  /** From the broker's return until every feed had committed again, ms. */
  readonly recoveredMs: number;
  /** Transactions over all feeds that were committed from the strike until then. */
  readonly commits: number;
}

/** The transaction timeout of the publisher: after a longer silence the broker ends the open transaction. */
export const transactionTimeoutMs = 10_000;

/**
 * Strikes a broker under a publisher and waits until every feed is published again.
 * @throws Error when the publisher ends, or some feed does not come back
 */
export async function strikeBroker(
  strike: BrokerStrike,
  publisher: CliProcess,
  { kafka, log }: { readonly kafka: ProxiedKafka; readonly log: KafkaPublisherLog },
): Promise<StrikeReport> {
  const { broker, proxy } = kafka;
  const { fate, ...point } = points[strike.at];
  let struck = false;
  const before = await observed(log);
  const watch = proxy.at(point, async () => {
    if (strike.does === 'kill') await broker.kill();
    else broker.freeze();
    struck = true;
    return fate;
  });
  await until(() => struck);
  watch.remove();
  await delay(strike.forMs);
  if (strike.does === 'kill') await broker.restart();
  else broker.thaw();

  const back = Date.now();
  let commits = 0;
  const seen = new Map(feedNames.map((feed) => [feed, new Set<number>()]));
  await until(async () => {
    if (publisher.hasExited()) throw new Error(`the publisher has ended: ${publisher.output()}`);
    const now = await observed(log);
    commits = 0;
    for (const feed of feedNames) {
      const [old, commit] = [before, now].map((observation) => observation[feed]?.commit ?? 0) as [
        number,
        number,
      ];
      commits += commit - old;
      // The transaction in progress may be one more. The next one is certainly from after the strike.
      if (commit > old) seen.get(feed)!.add(commit);
    }
    return [...seen.values()].every(({ size }) => size >= 2);
  }, DEADLINE_MS).catch((cause: unknown) => {
    const progress = [...seen].map(([feed, { size }]) => `${feed} ${size}`);
    throw new Error(
      `${JSON.stringify(strike)}: not every feed came back, new commits: ${progress}: ${publisher.output()}`,
      { cause },
    );
  });
  return { ...strike, recoveredMs: Date.now() - back, commits };
}
