import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { feedNames } from '../../src/simulator/endpoints';
import { type CliProcess, cliStarter } from '../faults/cli-process';
import type { RestlessMarket } from '../faults/restless-market';
import { until } from '../support/until';
import { apiTruth, startMarket } from './market';
import { client, type Servers } from './servers';

export interface Scenario {
  /** The API's present and past rows, as JSON. */
  readonly truthFile: string;
  readonly writes: number;
}

/** From one point of the scenario to the next: requests of each feed, and writes of the API. */
const POLLS = 12;
const WRITES = 250;
const LIFE_MS = 60_000;

/** IPOs that the API stops showing. */
const REMOVED = 12;

/**
 * Has the real program publish a market that moves, in three lives: the first ends by SIGKILL, the second by SIGTERM, and the third
 * polls once when all is still. Then records are gone, which a reconcile proves. During the run other programs write to the same
 * topics, in transactions that are aborted.
 * @param folder empty
 */
export async function publish(
  { brokers, registryUrl }: Servers,
  prefix: string,
  folder: string,
): Promise<Scenario> {
  const cli = await cliStarter();
  const market = await startMarket();
  try {
    writeFileSync(path.join(folder, 'highwater.yaml'), 'feeds:\n  insights: { pageSize: 100 }\n');
    const env = {
      HIGHWATER_API_URL: market.sim.url,
      HIGHWATER_API_TOKEN: market.sim.token,
      KAFKA_BROKERS: brokers,
      SCHEMA_REGISTRY_URL: registryUrl,
      HIGHWATER_TOPIC_PREFIX: prefix,
      HIGHWATER_POLL_INTERVAL: '200ms',
      HIGHWATER_REQUESTS_PER_SECOND: '200',
      HIGHWATER_LOG_FORMAT: 'json',
    };
    const start = (...args: string[]) => cli.start(args, { env, cwd: folder });

    const first = start('run');
    await until(() => running(first) && snapshotsOf(first) === feedNames.length, LIFE_MS);
    await polled(first, market);
    first.signal('SIGKILL');
    await first.exited;

    const second = start('run');
    await polled(second, market);
    const stillAt = market.calm();
    await until(() => Date.now() > stillAt);
    second.signal('SIGTERM');
    await endedWell(second);
    // Not while what the killed publisher had begun is still open: kafkajs shows the records of an aborted transaction where
    // another one's, which was aborted before it, lies within. Publishers of a feed have one producer id, so theirs never overlap.
    await abortTransaction(brokers, prefix);

    await endedWell(start('run', '--once'));
    // Rows without an id are in the way of deletes until an operator allows them.
    const { ipos } = market.sim.stores;
    const ids = [...ipos.truth().keys()].filter((_, i) => i % 20 === 0).slice(0, REMOVED);
    for (const id of ids) ipos.remove(id);
    await endedWell(start('reconcile', 'ipos', '--allow-deletes', String(REMOVED), '--wait', '1s'));
    await abortTransaction(brokers, prefix);
    const truthFile = path.join(folder, 'truth.json');
    writeFileSync(truthFile, JSON.stringify(apiTruth(market)));
    return { truthFile, writes: market.writes() };
  } finally {
    await cli.killAll();
    await market.stop();
  }
}

function running(publisher: CliProcess): true {
  if (publisher.hasExited()) throw new Error(`the publisher has ended:\n${publisher.output()}`);
  return true;
}

function snapshotsOf(publisher: CliProcess): number {
  return publisher.output().split('snapshot complete').length - 1;
}

/** Each feed has been polled a few times, counted by its requests, and many records have moved. */
async function polled(publisher: CliProcess, { sim, writes }: RestlessMarket): Promise<void> {
  const before = { ...sim.counters.byFeed };
  const enough = writes() + WRITES;
  const isDone = () =>
    writes() >= enough && feedNames.every((feed) => sim.counters.byFeed[feed] >= before[feed] + POLLS);
  await until(() => running(publisher) && isDone(), LIFE_MS);
}

async function endedWell(publisher: CliProcess): Promise<void> {
  const timer = setTimeout(() => publisher.signal('SIGKILL'), LIFE_MS);
  const code = await publisher.exited.finally(() => clearTimeout(timer));
  if (code !== 0) throw new Error(`the publisher ended with ${code}:\n${publisher.output()}`);
}

/** Puts a record into every partition that no reader of committed records may see: it is in no format either. */
async function abortTransaction(brokers: string, prefix: string): Promise<void> {
  const kafka = client(brokers);
  const admin = kafka.admin();
  const producer = kafka.producer({
    transactionalId: `${prefix}stranger`,
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await Promise.all([admin.connect(), producer.connect()]);
  try {
    const { topics } = await admin.fetchTopicMetadata();
    const transaction = await producer.transaction();
    const topicMessages = topics
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name: topic, partitions }) => ({
        topic,
        messages: partitions.map(({ partitionId }) => ({
          partition: partitionId,
          key: 'aborted',
          value: 'aborted',
        })),
      }));
    await transaction.sendBatch({ topicMessages });
    await transaction.abort();
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  }
}
