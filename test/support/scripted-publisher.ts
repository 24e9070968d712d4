import { Type } from 'avsc';
import type { Feed } from '../../src/feeds/feed';
import type { ProducerRecord } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { type PageReport, type PollResult, poll } from '../../src/pipeline/poll';
import { pollRound } from '../../src/pipeline/round';
import { acquireFeed, type OwnedFeed } from '../../src/runtime/owned-feed';
import { endsWithTest } from './ends';
import { testFeed } from './feeds';
import { type MemorySession, memorySession } from './memory-session';
import type { Values } from './published';
import { memoryRegistry } from './registry';
import { type ScriptedVendor, scriptedVendor } from './scripted-vendor';
import { quietLogger } from './source';
import { foundEmpty } from './test-publisher';

/**
 * One feed between a scripted vendor and a log in memory, over a clock that only moves while somebody waits for it. The
 * timers and the date of the test are fakes from then on. Pages have ten rows.
 */
export interface ScriptedPublisher {
  /** Its name, which is that of its topic of changes. */
  readonly feed: string;
  readonly vendor: ScriptedVendor;
  readonly session: MemorySession;
  readonly logger: ReturnType<typeof quietLogger>;
  readonly owned: OwnedFeed;
  /** Pages as they were reported, with how many transactions there were by then. */
  readonly reports: (PageReport & { readonly transactions: number; readonly atMs: number })[];
  poll(options?: { readonly wide?: boolean; readonly signal?: AbortSignal }): Promise<PollResult>;
  /** Everything in a topic so far, decoded. */
  topic(name: string): Values[];
  records(): ProducerRecord[];
}

export async function scriptedPublisher(
  definition: 'ipos' | 'insights' | Feed,
  maxRecordBytes?: number,
  hasSnapshot = true,
): Promise<ScriptedPublisher> {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
  endsWithTest(() => jest.useRealTimers());
  const settings = { pageSize: 10, pollIntervalMs: 3_600_000, wideOverlapSeconds: 100_000 };
  const feed =
    typeof definition === 'string' ? testFeed(definition, settings) : { ...definition, ...settings };
  const { name } = feed;
  const topics = feedTopics(feed, '');
  const vendor = scriptedVendor();
  const session = memorySession(maxRecordBytes);
  const logger = quietLogger();
  const reports: ScriptedPublisher['reports'] = [];
  const owned = await acquireFeed(
    feed,
    {
      source: vendor,
      log: { acquire: async () => session } as never,
      registry: memoryRegistry(),
      logger,
      topics,
      scope: 'scope',
      appId: 'test',
      instance: 'test',
      stateDir: null,
      onPage: (page) =>
        reports.push({ ...page, transactions: session.transactions.length, atMs: Date.now() }),
    },
    new AbortController().signal,
  );
  const { codec } = owned.deps;
  const envelope = Type.forSchema(codec.schemas.envelope as never, { registry: {} });
  const types = new Map([
    [topics.changes.name, { decode: (value: Buffer) => envelope.fromBuffer(value.subarray(5)) }],
    [topics.current.name, codec.image],
    [topics.sourceOffset.name, codec.sourceOffset],
    [topics.deadLetters.name, codec.deadLetter],
    ...topics.transitions.map(
      (topic, i) => [topic.name, codec.transitions.get(feed.transitions[i]!.type)!] as const,
    ),
  ] as [string, { decode(value: Buffer): unknown }][]);
  const publisher: ScriptedPublisher = {
    feed: name,
    vendor,
    session,
    logger,
    owned,
    reports,
    async poll({ wide = false, signal = new AbortController().signal } = {}) {
      const polled = poll(owned.deps, pollRound(owned.deps, wide), signal);
      return underFakeTime(polled);
    },
    records: () => session.transactions.flatMap(({ records }) => records),
    topic: (of) =>
      publisher
        .records()
        .filter(({ topic }) => topic === of)
        .map(({ value }) => types.get(of)!.decode(value!) as Values),
  };
  // An empty first snapshot, so that everything after it is a change.
  foundEmpty(owned.deps.state);
  if (hasSnapshot) await publisher.poll();
  reports.length = 0;
  return publisher;
}

async function underFakeTime<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  while (!isOver) await jest.advanceTimersByTimeAsync(10);
  return work;
}

/** So many ms of the fake clock. */
export const passing = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
