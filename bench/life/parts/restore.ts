import { rmSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type * as ConsumerLogModule from '../../../src/log/kafka/consumer-log';
import type * as TopicsModule from '../../../src/log/topics';
import type * as OwnedFeedModule from '../../../src/runtime/owned-feed';
import type * as StandbyModule from '../../../src/runtime/standby';
import type { Standby } from '../../../src/runtime/standby';
import { fromDist } from '../../dist';
import { measureOwn } from '../../measure/own-usage';
import { openPublisher, type PublisherSetup } from '../publisher';
import { quiet } from '../quiet';

/** The only argument. */
export interface RestoredInput {
  readonly setup: PublisherSetup;
  /** Images come from the log, as the run before has kept them, or from a standby in this process (on Kafka). */
  readonly from: 'log' | 'kept' | 'standby';
}

/** What a restarted publisher reads before its first poll, and the memory that it then needs. */
export interface Restored {
  readonly records: number;
  readonly imageBytes: number;
  readonly seconds: number;
  readonly cpuMs: number;
  /** A standby before it takes over: how long it copied, and its memory when garbage is collected. */
  readonly copied: { readonly seconds: number; readonly rss: number } | null;
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
  if (from !== 'kept') rmSync(stateDir, { recursive: true, force: true });
  const deps = {
    log: log.commitLog,
    registry: log.registry,
    logger: quiet,
    topics: feedTopics(feed!, config.topicPrefix),
    ...{ scope: '', appId: config.appId, instance: 'bench', stateDir },
    source: { fetchPage: () => Promise.reject(new Error('nothing is fetched')) },
  };
  async function settledRss(): Promise<number> {
    collect();
    // Only a second collection frees the memory outside the heap.
    await new Promise((resolve) => setTimeout(resolve, 500));
    collect();
    return process.memoryUsage.rss();
  }
  const before = process.memoryUsage.rss();
  let copied: Restored['copied'] = null;
  let standby: Standby | null = null;
  if (from === 'standby') {
    const { standBy } = fromDist<typeof StandbyModule>('runtime/standby');
    const { openKafkaConsumerLog } = fromDist<typeof ConsumerLogModule>('log/kafka/consumer-log');
    const began = performance.now();
    await new Promise<void>((resolve) => {
      const info = (message: string) => void (message.includes('is here and follows the log') && resolve());
      const logger = { ...quiet, info };
      const consumerLog = openKafkaConsumerLog({ ...config, kafka: config.kafka!, logger: quiet });
      const times = { beginAfterMs: 0, againAfterMs: 1_000, lookEveryMs: 200, differsForMs: 1e9 };
      standby = standBy(feed!, { ...deps, logger, log: consumerLog }, times);
    });
    copied = { seconds: (performance.now() - began) / 1_000, rss: await settledRss() };
  }
  const usage = measureOwn();
  await (standby as Standby | null)?.end();
  const owned = await acquireFeed(feed!, deps, new AbortController().signal);
  const { wallMs, cpuMs, peakRssBytes } = usage();
  const after = process.memoryUsage.rss();
  const settled = await settledRss();
  const { recordCount, imageBytes } = owned.deps.state;
  const rss = { before, after, settled, peak: peakRssBytes };
  const keepUsage = measureOwn();
  await owned.close();
  const keepSeconds = keepUsage().wallMs / 1_000;
  const figures = { records: recordCount, imageBytes, seconds: wallMs / 1_000, cpuMs, keepSeconds };
  console.log(JSON.stringify({ ...figures, copied, rss } satisfies Restored));
  await log.commitLog.close();
}

main(JSON.parse(process.argv[2]!)).then(() => process.exit(0));
