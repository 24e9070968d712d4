import { ipos } from '../../src/feeds/ipos';
import type { CommitLog } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld } from '../support/kafka-world';
import { batch, deadline, readAll, record } from '../support/log-records';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const folder = tempFolder();
const kafka = kafkaWorld();
let tools: (lines: string) => Promise<string>;

beforeEach(async () => {
  tools = await kafkaTools({ folder: folder() });
});

async function limit(clientId: string, quota: string, bytesPerSecond: number): Promise<void> {
  const whose = `--entity-type clients --entity-name ${clientId}`;
  await tools(
    `kafka-configs.sh --bootstrap-server ${kafka.brokers()} --alter --add-config ${quota}=${bytesPerSecond} ${whose}`,
  );
}

/** The app id is the client id too, to which the quotas apply. */
function open(appId: string, logger = quietLogger(), onThrottled?: (ms: number) => void): CommitLog {
  return kafka.log({ appId, logger, ...(onThrottled !== undefined && { onThrottled }) });
}

/** One warning for each client, with the brokers' time. */
function expectToldOnce({ warnings }: ReturnType<typeof quietLogger>): void {
  const told = warnings.filter((one) => /^A quota of the brokers .* for \d+ s\.$/.test(one));
  expect(told).toHaveLength(1);
}

/** 60 of them are more than the fetch quota lets pass in its window of ten seconds. */
const value = 'x'.repeat(5_000);

it('a page is committed although a produce quota holds the next one back for longer than a transaction may be open', async () => {
  const appId = kafka.prefix().slice(0, -1);
  const topics = feedTopics(ipos, kafka.prefix());
  const logger = quietLogger();
  let throttledMs = 0;
  const counting = open(appId, logger, (ms) => {
    throttledMs += ms;
  });
  const session = await counting.acquire(topics, deadline());
  await limit(appId, 'producer_byte_rate', 1_000);
  const rows = Array.from({ length: 10 }, (_, i) => record(topics.changes.name, `${i}`, value));
  let committed = 0;
  // Brokers show a quota before they apply it.
  await until(async () => {
    await session.commit(batch(session, topics, rows));
    committed += rows.length;
    return throttledMs > 1_000;
  });
  expect(await readAll(open('reader'), [topics.changes.name])).toHaveLength(committed);
  expectToldOnce(logger);
});

it('a reader is shown everything although a fetch quota holds back most of it', async () => {
  const appId = kafka.prefix().slice(0, -1);
  const topics = feedTopics(ipos, kafka.prefix());
  const session = await open(appId).acquire(topics, deadline());
  const rows = Array.from({ length: 60 }, (_, i) => record(topics.changes.name, `${i}`, value));
  await session.commit(batch(session, topics, rows));
  const reader = `${appId}-reader`;
  await limit(reader, 'consumer_byte_rate', 25_000);
  let logger = quietLogger();
  await until(async () => {
    logger = quietLogger();
    const read = await readAll(open(reader, logger), [topics.changes.name], AbortSignal.timeout(150_000));
    expect(read).toHaveLength(60);
    return logger.warnings.length > 0;
  });
  expectToldOnce(logger);
});

it('a group under a fetch quota below a batch does not wait in silence', async () => {
  const appId = kafka.prefix().slice(0, -1);
  const topics = feedTopics(ipos, kafka.prefix());
  const session = await open(appId).acquire(topics, deadline());
  const rows = Array.from({ length: 60 }, (_, i) => record(topics.changes.name, 'one key', `${i} ${value}`));
  await session.commit(batch(session, topics, rows));
  const reader = `${appId}-reader`;
  await limit(reader, 'consumer_byte_rate', 2_000);
  const logger = quietLogger();
  const member = kafka.consumerLog({ appId: reader, logger }).joinGroup({
    groupId: `${kafka.prefix()}desk`,
    topics: [topics.changes.name],
    sessionTimeoutMs: 10_000,
    async work({ range, records, revoked }) {
      for await (const _ of records(range.first)) if (revoked.aborted) return;
    },
  });
  member.over.catch(() => undefined);
  try {
    await until(() => logger.warnings.length > 0);
  } finally {
    await member.leave();
  }
  expectToldOnce(logger);
});
