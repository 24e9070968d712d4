import { recordDecoder } from '../../src/avro/codec/record-decoder';
import { type OpenLog, openLog } from '../../src/cli/log/open-log';
import { type Config, loadConfig } from '../../src/config/load-config';
import type { Feed } from '../../src/feeds/feed';
import { scopeFingerprint } from '../../src/feeds/scope';
import { feedTopics } from '../../src/log/topics';
import { acquireFeed, type OwnedFeed } from '../../src/runtime/owned-feed';
import type { Simulator } from '../../src/simulator/simulator';
import { type CliProcess, commandsInFolder, type Outcome, outcome } from './cli';
import { deadline, readAll } from './log-records';
import type { Values } from './published';
import { scriptedVendor } from './scripted-vendor';
import { apiEnv, simulatedApi } from './simulated-api';
import { quietLogger } from './source';
import { until } from './until';

type Env = Readonly<Record<string, string>>;
type FeedName = 'ipos' | 'analysts';

export interface ReadRecord {
  readonly key: string;
  /** Decoded; null: a tombstone. */
  readonly value: Values | null;
}

/** Command lines over one log that publish the feeds ipos (60 records) and analysts of a simulated API, ten times a second. */
export interface CliPublisher {
  readonly folder: () => string;
  readonly api: () => Simulator;
  /** The settings of a publisher. */
  readonly publishing: () => Env;
  /** @param env besides where the log is; that of a publisher unless given */
  start(args: readonly string[], env?: Env, under?: readonly string[]): CliProcess;
  /** Runs in this process. @param under a command line that becomes a process of its own */
  done(args: readonly string[], env?: Env, under?: readonly string[]): Promise<Outcome>;
  /** A publisher at work, whose first snapshot is complete. @param args besides `run` */
  running(...args: string[]): Promise<CliProcess>;
  /** Until a feed has been polled some times more. */
  stillPolled(feed: FeedName, times?: number): Promise<void>;
  /** Whether ipos rests while the other feed is polled. */
  isPaused(): Promise<boolean>;
  /** All of a topic, named without its prefix. */
  records(topic: string): Promise<ReadRecord[]>;
  /** As a publisher in this process, while there is none else. */
  owning(feed: FeedName, work: (feed: Feed, owned: OwnedFeed) => Promise<void>): Promise<void>;
}

/**
 * For the tests of the file it is called in: each has a simulator and a folder of its own, and whatever it starts is stopped.
 * @param log settings that name the log; asked for when they are needed
 */
export function cliPublisher(log: () => Env): CliPublisher {
  const commands = commandsInFolder();
  const { folder } = commands;
  const api = simulatedApi({ insights: 20, analysts: 20, ipos: 60 });
  const started: CliProcess[] = [];
  beforeEach(() => {
    started.length = 0;
  });

  const publishing = (): Env => ({
    ...apiEnv(api()),
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_POLL_INTERVAL: '100ms',
    HIGHWATER_FEEDS: 'ipos,analysts',
  });
  const pollsOf = (feed: FeedName) => api().requests(feed).length;

  async function withLog<Result>(use: (log: OpenLog, config: Config) => Promise<Result>): Promise<Result> {
    const config = loadConfig({ flags: {}, env: { ...log(), ...publishing() }, cwd: folder() }, 'feeds');
    const open = openLog(config, { logger: quietLogger(), signal: deadline() });
    try {
      return await use(open, config);
    } finally {
      await open.commitLog.close();
    }
  }

  const publisher: CliPublisher = {
    folder,
    api,
    publishing,
    start(args, env = publishing(), under = []) {
      const run = commands.start(args, { ...log(), ...env }, { under });
      started.push(run);
      return run;
    },
    done: (args, env = publishing(), under) =>
      under === undefined
        ? commands.done(args, { ...log(), ...env })
        : outcome(publisher.start(args, env, under)),
    async running(...args) {
      const running = publisher.start(['run', ...args]);
      await running.sees(/ipos: (first )?snapshot complete/, 'stderr');
      return running;
    },
    async stillPolled(feed, times = 3) {
      const before = pollsOf(feed);
      await until(() => {
        if (pollsOf(feed) >= before + times) return true;
        if (started.length > 0 && started.every((one) => one.hasEnded()))
          throw new Error(`no publisher is left to poll ${feed}:\n${started.at(-1)!.stderr()}`);
        return false;
      });
    },
    async isPaused() {
      const before = pollsOf('ipos');
      await publisher.stillPolled('analysts', 5);
      return pollsOf('ipos') === before;
    },
    records: (topic) =>
      withLog(async ({ commitLog, registry }, { topicPrefix }) => {
        const decode = recordDecoder(registry);
        const found = await readAll(commitLog, [`${topicPrefix}${topic}`]);
        return Promise.all(found.map(async (record) => (await decode(record)) as ReadRecord));
      }),
    owning: (name, work) =>
      withLog(async ({ commitLog: log, registry }, { feeds, topicPrefix, appId, stateDir }) => {
        const feed = feeds.find((one) => one.name === name)!;
        const deps = {
          source: scriptedVendor(),
          log,
          registry,
          logger: quietLogger(),
          instance: 'test',
          stateDir,
          topics: feedTopics(feed, topicPrefix),
          appId,
          scope: scopeFingerprint(feed, api().url),
        };
        const owned = await acquireFeed(feed, deps, deadline());
        await work(feed, owned);
        await owned.release();
      }),
  };
  return publisher;
}
