import type { FeedName } from '../../src/simulator/endpoints';
import type { KafkaProxy } from '../support/kafka-proxy';
import { DEADLINE_MS, until } from '../support/until';
import type { CliProcess } from './cli-process';
import { feedOf, watchPages } from './page-commits';

export interface CommitCuts {
  /** `request`: the broker never hears of the commit. `answer`: it carries it out, and the publisher does not hear of that. */
  readonly where: 'request' | 'answer';
  /** Every n-th commit of all feeds together, including fences. */
  readonly every: number;
  readonly times: number;
  /** No further cut after this time. Default: two minutes. */
  readonly cutForMs?: number;
}

/** One commit that was lost on its way. */
export interface Cut {
  readonly feed: FeedName;
  /** The commit of a page; otherwise of the fence of a new producer. */
  readonly ofPage: boolean;
}

export interface CommitCutsReport {
  readonly cuts: readonly Cut[];
  /** From a cut until the feed had committed a page again, in ms; further cuts of it until then are of the same. */
  readonly recoveredMs: readonly number[];
}

/**
 * Cuts commits under a publisher, and waits until every feed that was hit has committed a page again.
 * @throws Error when the publisher ends, or some feed does not come back
 */
export async function cutCommits(
  { where, every, times, cutForMs = 120_000 }: CommitCuts,
  publisher: CliProcess,
  proxy: KafkaProxy,
): Promise<CommitCutsReport> {
  const cuts: Cut[] = [];
  const recoveredMs: number[] = [];
  const hitAt = new Map<FeedName, number>();
  const isBack = (): boolean => {
    if (publisher.hasExited()) throw new Error(`the publisher has ended: ${publisher.output()}`);
    return hitAt.size === 0;
  };

  // Registered before the pages are watched, so a cut answer does not count as a commit that the publisher knows.
  const cutting = proxy.at({ api: 'EndTxn', commits: true, where, nth: every, every, times }, (message) => {
    const feed = feedOf(message)!;
    cuts.push({ feed, ofPage: !pages.isFencing(feed) });
    if (!hitAt.has(feed)) hitAt.set(feed, performance.now());
    return 'cut';
  });
  const pages = watchPages(proxy, (feed) => {
    const at = hitAt.get(feed);
    if (at !== undefined) recoveredMs.push(performance.now() - at);
    hitAt.delete(feed);
  });
  try {
    const end = performance.now() + cutForMs;
    await until(
      () => isBack() && (cutting.met() === times || performance.now() > end),
      cutForMs + DEADLINE_MS,
    );
    cutting.remove();
    await until(isBack);
  } catch (cause) {
    const lost = `${cutting.met()} ${where}s cut; not back: ${[...hitAt.keys()]}`;
    throw new Error(`${lost}: ${publisher.output()}`, { cause });
  } finally {
    cutting.remove();
    pages.remove();
  }
  return { cuts, recoveredMs };
}
