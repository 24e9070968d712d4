import { valueDecoder } from '../avro/codec/record-decoder';
import { feedSchemas, type RecordSchema, readSchema } from '../avro/schemas';
import { HighwaterError } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { TopicEnds } from '../log/consumer-log';
import { feedTopics } from '../log/topics';
import { eventFilter, type LogEvent, toEvent } from './event';
import { takePart } from './handling/consume';
import { batchJob, eventJob, type JobDeps } from './handling/handlers';
import type { PartitionJob } from './handling/partition-work';
import type { HighwaterLog } from './highwater-log';
import { assertLog, warnIfMissing, warnIfNoTopic } from './missing';
import { type ConnectOptions, type Opened, openLog, wrongOptions } from './open-log';
import type { ConsumeOptions, GroupConsumeOptions, ReadOptions } from './options';
import { openTable } from './table';

/**
 * Opens the log to which highwater publishes, on Kafka or embedded. Without options it finds the log as the commands do: by the
 * environment (`KAFKA_BROKERS`, `SCHEMA_REGISTRY_URL`, `HIGHWATER_DATA_DIR`, …) and `highwater.yaml`. It connects at first use.
 * @throws HighwaterError CONFIG_INVALID
 */
export function connect(options?: ConnectOptions): HighwaterLog {
  return highwaterLog(openLog(options));
}

/** @param skips as `ConsumeDeps` has it */
export function highwaterLog(
  { log, registry, feeds, topicPrefix, logger, refusals }: Opened,
  skips?: (topic: string) => void,
): HighwaterLog {
  const decoder = valueDecoder(registry, knownSchemas(feeds));
  const names = feeds.map(({ name }) => name);
  const closing = new AbortController();
  const deps = { log, decoder, logger, topicPrefix, refusals, closing: closing.signal, skips };
  const under = new Set<Promise<unknown>>();

  /** `close` waits for this work before it closes the connections. */
  function tracked<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = work.then(
      () => under.delete(settled),
      () => under.delete(settled),
    );
    under.add(settled);
    return work;
  }

  function consumer<Options extends GroupConsumeOptions, Handler>(
    jobOf: (options: Options, handler: Handler, deps: JobDeps) => PartitionJob,
  ) {
    return async (given: Options, handler: Handler): Promise<void> => {
      checkConsume(given, names);
      if (closing.signal.aborted) throw new HighwaterError('LOG_CLOSED', 'the log was closed');
      warnIfMissing(log, logger);
      await tracked(takePart(given, (jobDeps) => jobOf(given, handler, jobDeps), deps));
    };
  }

  const opened = {
    consume: consumer(eventJob),
    consumeBatches: consumer(batchJob),
    read(topic: string, given: ReadOptions = {}) {
      if (given.follow) warnIfMissing(log, logger);
      else assertLog(log);
      return events(`${topicPrefix}${topic}`, given);
    },
    async table(name: string, given: Parameters<typeof openTable>[0] = {}) {
      warnIfMissing(log, logger);
      // All topics of a feed that is not declared here have their default names.
      const { topic } = feeds.find((feed) => feed.name === name) ?? { topic: name };
      const topics = feedTopics({ name, topic, transitions: [] }, topicPrefix);
      return tracked(openTable(given, { ...deps, topics, track: (following) => void tracked(following) }));
    },
    async close() {
      closing.abort();
      await Promise.all(under);
      await log.close();
    },
  };
  // The overloads give each topic the type of its events. They exist only for the compiler.
  return opened as unknown as HighwaterLog;

  /**
   * Events of a topic, without a group: no work is shared and no position is kept.
   * @param topic full name
   */
  async function* events(
    topic: string,
    { from = 'beginning', follow = false, where, signal = new AbortController().signal }: ReadOptions,
  ): AsyncGenerator<LogEvent> {
    const wanted = eventFilter(where);
    const isAtEnd = from === 'end';
    const look = async () => {
      const found = await log.ends(topic, 'reachable', signal);
      warnIfNoTopic(topic, found, logger, { isAwaited: follow });
      return found;
    };
    const { topicId, ends } = isAtEnd ? await look() : BEGINNING;
    if (isAtEnd && !follow) return;
    // Beside the reading, which tells of every failure itself, and waits longer for the brokers.
    if (follow && !isAtEnd) void look().catch(() => undefined);
    const records = follow ? log.follow(topic, ends, signal, topicId) : log.load(topic, signal);
    let isEmpty = true;
    for await (const record of records) {
      isEmpty = false;
      if (wanted(record)) yield await toEvent(record, decoder);
    }
    if (isEmpty && !follow) await look();
  }
}

const BEGINNING: TopicEnds = { topicId: null, ends: new Map() };

/** Letters of a topic of Kafka, which the dead letters of the group are to have. */
const TOPIC_LETTERS = /^[\w.-]+$/;

/**
 * Refuses options that TypeScript takes, and with which a consumer would wait for nothing, or fail at its first dead letter.
 * @param feeds names of feeds, whose own dead letters are in `<feed>.dead-letters`
 * @throws HighwaterError CONFIG_INVALID
 */
function checkConsume(
  { group, topics, onFailure, maxBatch = 1 }: ConsumeOptions & { readonly maxBatch?: number },
  feeds: readonly string[],
): void {
  if (!group) throw wrongOptions('consume: group: a name is needed');
  if (topics.length === 0) throw wrongOptions('consume: topics: at least one is needed');
  if (!(Number.isInteger(maxBatch) && maxBatch > 0))
    throw wrongOptions(`consumeBatches: maxBatch: ${maxBatch} is not a number of events`);
  if (onFailure !== 'dead-letter') return;
  if (!TOPIC_LETTERS.test(group) || feeds.includes(group)) {
    const why = feeds.includes(group) ? 'is that of a feed' : 'cannot be the name of a topic';
    throw wrongOptions(
      `consume: group ${group}: ${group}.dead-letters, where failed events would go, ${why}`,
    );
  }
}

/** The schemas whose types a program sees: values are converted to them, whichever version wrote them. */
export function knownSchemas(feeds: readonly FeedDefinition[]): RecordSchema[] {
  const own = feeds.flatMap((feed) => {
    const { record, envelope, transitions } = feedSchemas(feed);
    return [record, envelope, ...transitions.values()];
  });
  return [...own, readSchema('source-offset.avsc'), readSchema('dead-letter.avsc')];
}
