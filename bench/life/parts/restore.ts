import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type * as TopicsModule from '../../../src/log/topics';
import type * as OwnedFeedModule from '../../../src/runtime/owned-feed';
import { fromDist } from '../../dist';
import { measureOwn } from '../../measure/own-usage';
import { openPublisher, type PublisherSetup } from '../publisher';
import { quiet } from '../quiet';

/** What a restarted publisher reads before its first poll, and the memory that it then needs. Its only argument: the setup. */
export interface Restored {
  readonly records: number;
  readonly imageBytes: number;
  readonly seconds: number;
  readonly cpuMs: number;
  /** Of the process: before, as it was left, when garbage is collected, and the most there was. */
  readonly rss: {
    readonly before: number;
    readonly after: number;
    readonly settled: number;
    readonly peak: number;
  };
}

async function main(setup: PublisherSetup): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { feedTopics } = fromDist<typeof TopicsModule>('log/topics');
  const { acquireFeed } = fromDist<typeof OwnedFeedModule>('runtime/owned-feed');
  const { config, log } = openPublisher(setup);
  const [feed] = config.feeds;
  const deps = {
    log: log.commitLog,
    registry: log.registry,
    logger: quiet,
    topics: feedTopics(feed!, config.topicPrefix),
    ...{ scope: '', appId: config.appId, instance: 'bench', stateDir: config.stateDir },
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
  const restored: Restored = { records: recordCount, imageBytes, seconds: wallMs / 1_000, cpuMs, rss };
  console.log(JSON.stringify(restored));
  await owned.release();
  await log.commitLog.close();
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
