import { rmSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type * as TopicsModule from '../../../src/log/topics';
import type * as OwnedFeedModule from '../../../src/runtime/owned-feed';
import { fromDist } from '../../dist';
import { measureOwn } from '../../measure/own-usage';
import { openPublisher, type PublisherSetup } from '../publisher';
import { quiet } from '../quiet';

/** The only argument. */
export interface RestoredInput {
  readonly setup: PublisherSetup;
  /** Images come from the log, or as the run before has kept them. */
  readonly from: 'log' | 'kept';
}

/** What a restarted publisher reads before its first poll, and the memory that it then needs. */
export interface Restored {
  readonly records: number;
  readonly imageBytes: number;
  readonly seconds: number;
  readonly cpuMs: number;
  /** Time that it takes to keep the images at the end. */
  readonly keepSeconds: number;
  /** Of the process: before, as it was left, when garbage is collected, and the most there was. */
  readonly rss: {
    readonly before: number;
    readonly after: number;
    readonly settled: number;
    readonly peak: number;
  };
}

async function main({ setup, from }: RestoredInput): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { feedTopics } = fromDist<typeof TopicsModule>('log/topics');
  const { acquireFeed } = fromDist<typeof OwnedFeedModule>('runtime/owned-feed');
  const { config, log } = openPublisher(setup);
  const [feed] = config.feeds;
  const stateDir = path.join(setup.dataDir, 'restored');
  if (from === 'log') rmSync(stateDir, { recursive: true, force: true });
  const deps = {
    log: log.commitLog,
    registry: log.registry,
    logger: quiet,
    topics: feedTopics(feed!, config.topicPrefix),
    ...{ scope: '', appId: config.appId, instance: 'bench', stateDir },
    source: { fetchPage: () => Promise.reject(new Error('nothing is fetched')) },
  };
  const before = process.memoryUsage.rss();
  const usage = measureOwn();
  const owned = await acquireFeed(feed!, deps, new AbortController().signal);
  const { wallMs, cpuMs, peakRssBytes } = usage();
  const after = process.memoryUsage.rss();
  collect();
  // What was outside the heap is given back by a second look.
  await new Promise((resolve) => setTimeout(resolve, 500));
  collect();
  const settled = process.memoryUsage.rss();
  const { recordCount, imageBytes } = owned.deps.state;
  const rss = { before, after, settled, peak: peakRssBytes };
  const keepUsage = measureOwn();
  await owned.close();
  const keepSeconds = keepUsage().wallMs / 1_000;
  const figures = { records: recordCount, imageBytes, seconds: wallMs / 1_000, cpuMs, keepSeconds };
  console.log(JSON.stringify({ ...figures, rss } satisfies Restored));
  await log.commitLog.close();
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
