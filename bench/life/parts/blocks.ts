import path from 'node:path';
import type * as TopicsModule from '../../../src/log/topics';
import type * as PollModule from '../../../src/pipeline/poll';
import type * as RoundModule from '../../../src/pipeline/round';
import type * as ReconcileModule from '../../../src/pipeline/rounds/reconcile';
import type * as TransactModule from '../../../src/pipeline/transaction/transact';
import type * as OwnedFeedModule from '../../../src/runtime/owned-feed';
import type * as ClientModule from '../../../src/source/client';
import type * as BudgetModule from '../../../src/source/request-budget';
import type { Source } from '../../../src/source/source';
import { fromDist } from '../../dist';
import { watchBlocks } from '../../measure/longest-block';
import { openPublisher, type PublisherSetup } from '../publisher';
import { quiet } from '../quiet';

/** How long the event loop stood still at most, ms, while an owner worked on a feed with all its records. Its only argument: the setup. */
export interface Blocks {
  readonly records: number;
  /** From the log, and with the images that were kept. */
  readonly restore: number;
  readonly warmRestore: number;
  readonly keep: number;
  readonly polls: number;
  /** With one record missing from the answers. */
  readonly reconcile: number;
  readonly snapshot: number;
}

const POLLS = 50;

async function main(setup: PublisherSetup): Promise<void> {
  const { feedTopics } = fromDist<typeof TopicsModule>('log/topics');
  const { acquireFeed } = fromDist<typeof OwnedFeedModule>('runtime/owned-feed');
  const { poll } = fromDist<typeof PollModule>('pipeline/poll');
  const { pollRound } = fromDist<typeof RoundModule>('pipeline/round');
  const { reconcile } = fromDist<typeof ReconcileModule>('pipeline/rounds/reconcile');
  const { movePosition } = fromDist<typeof TransactModule>('pipeline/transaction/transact');
  const { createSource } = fromDist<typeof ClientModule>('source/client');
  const { createRequestBudget } = fromDist<typeof BudgetModule>('source/request-budget');
  const { config, log } = openPublisher(setup);
  const feed = { ...config.feeds[0]!, pollIntervalMs: 0 };
  const { signal } = new AbortController();
  const api = config.api!;
  const budget = createRequestBudget(api.budget);
  const client = createSource({ ...api, ...api.access.get(feed.name)!, budget, logger: quiet });
  let gone: string | null = null;
  const source: Source = {
    async fetchPage(of, request, stop) {
      const page = await client.fetchPage(of, request, stop);
      if (gone === null) return page;
      return { ...page, rows: page.rows.filter((row) => (row as { readonly id: string }).id !== gone) };
    },
  };
  const topics = feedTopics(feed, config.topicPrefix);
  const deps = {
    ...{ log: log.commitLog, registry: log.registry, logger: quiet, topics, source },
    ...{ scope: '', appId: config.appId, instance: 'bench', stateDir: path.join(setup.dataDir, 'blocks') },
  };

  async function longestBlock(work: () => Promise<unknown>): Promise<number> {
    const blocks = watchBlocks();
    await work();
    return blocks();
  }

  let owned!: Awaited<ReturnType<typeof acquireFeed>>;
  const acquire = async (): Promise<void> => {
    owned = await acquireFeed(feed, deps, signal);
  };
  const restore = await longestBlock(acquire);
  const keep = await longestBlock(() => owned.close());
  const warmRestore = await longestBlock(acquire);
  const pollOnce = async (wide: boolean): Promise<void> => {
    await poll(owned.deps, pollRound(owned.deps, wide), signal);
  };
  await pollOnce(true);
  const polls = await longestBlock(async () => {
    for (let i = 0; i < POLLS; i++) await pollOnce(false);
  });
  const { state } = owned.deps;
  const records = state.recordCount;
  const [some] = state.records.numbers(Math.floor(records / 2));
  gone = state.records.idOf(some!);
  const none = async (): Promise<void> => {};
  const reconciling = { dryRun: false, allowDeletes: 1, between: none, rest: none, poll: none };
  const reconcileBlock = await longestBlock(async () => {
    const { deleted } = await reconcile(owned.deps, reconciling, signal);
    if (deleted !== 1) throw new Error(`${deleted} records were deleted`);
  });
  gone = null;
  const snapshot = await longestBlock(async () => {
    const { seq } = state.offset;
    await movePosition(owned.deps, { snapshot: 'pending', snapshot_seq: seq, high_water_mark: 0 });
    await pollOnce(false);
  });
  const found: Blocks = { records, restore, keep, warmRestore, polls, reconcile: reconcileBlock, snapshot };
  console.log(JSON.stringify(found));
  await owned.close();
  client.close();
  budget.close();
  await log.commitLog.close();
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
